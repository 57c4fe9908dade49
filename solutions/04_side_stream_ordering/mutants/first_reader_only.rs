//! The second fill waits for the first reader only.

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
    left.wait_stream(&producer)?;
    let sum = with_stream(left, || x.sum())?;
    right.wait_stream(&producer)?;
    let squares = with_stream(right, || x.mul(x)?.sum())?;
    producer.wait_stream(left)?;
    x.fill_(second)?;
    Ok([sum, squares])
}
