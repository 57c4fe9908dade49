//! Waits, behind the work that should have.

pub use side_stream_ordering_solution::consume_and_drop;
use streamlings::tensor::{Result, Stream, Tensor, current_stream, with_stream};

pub fn sum_on_side_stream(side: &Stream, count: usize, value: f32) -> Result<(Tensor, Tensor)> {
    let x = Tensor::full([count], value)?.named("x");
    let sum = with_stream(side, || x.sum())?;
    side.wait_stream(&current_stream()?)?;
    Ok((x, sum))
}

pub fn fan_out_fan_in(
    left: &Stream,
    right: &Stream,
    x: &Tensor,
    [first, second]: [f32; 2],
) -> Result<[Tensor; 2]> {
    let producer = current_stream()?;
    x.fill_(first)?;
    left.wait_stream(&producer)?;
    let sum = with_stream(left, || x.sum())?;
    right.wait_stream(&producer)?;
    let squares = with_stream(right, || x.mul(x)?.sum())?;
    x.fill_(second)?;
    producer.wait_stream(left)?;
    producer.wait_stream(right)?;
    Ok([sum, squares])
}
