//! Records the event before the fill.

pub use side_stream_ordering_solution::consume_and_drop;
use streamlings::tensor::{Result, Stream, Tensor, current_stream, with_stream};

pub fn sum_on_side_stream(side: &Stream, count: usize, value: f32) -> Result<(Tensor, Tensor)> {
    let filled = current_stream()?.record_event()?;
    let x = Tensor::full([count], value)?.named("x");
    side.wait_event(&filled)?;
    let sum = with_stream(side, || x.sum())?;
    Ok((x, sum))
}

pub fn fan_out_fan_in(
    left: &Stream,
    right: &Stream,
    x: &Tensor,
    [first, second]: [f32; 2],
) -> Result<[Tensor; 2]> {
    let producer = current_stream()?;
    left.wait_stream(&producer)?;
    right.wait_stream(&producer)?;
    x.fill_(first)?;
    let sum = with_stream(left, || x.sum())?;
    let squares = with_stream(right, || x.mul(x)?.sum())?;
    producer.wait_stream(left)?;
    producer.wait_stream(right)?;
    x.fill_(second)?;
    Ok([sum, squares])
}
