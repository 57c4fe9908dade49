//! Sums on the right, and sums the squares on the left.

pub use side_stream_ordering_solution::{consume_and_drop, sum_on_side_stream};
use streamlings::tensor::{Result, Stream, Tensor, current_stream, with_stream};

pub fn fan_out_fan_in(
    left: &Stream,
    right: &Stream,
    x: &Tensor,
    [first, second]: [f32; 2],
) -> Result<[Tensor; 2]> {
    let producer = current_stream()?;
    x.fill_(first)?;
    right.wait_stream(&producer)?;
    let sum = with_stream(right, || x.sum())?;
    left.wait_stream(&producer)?;
    let squares = with_stream(left, || x.mul(x)?.sum())?;
    producer.wait_stream(left)?;
    producer.wait_stream(right)?;
    x.fill_(second)?;
    Ok([sum, squares])
}
