//! Exercise 04, solved: side streams that wait for what they need, and for no more.

use streamlings::tensor::{Result, Stream, Tensor, current_stream, with_stream};

/// The side stream waits for the fill; the current stream for nothing.
pub fn sum_on_side_stream(side: &Stream, count: usize, value: f32) -> Result<(Tensor, Tensor)> {
    let x = Tensor::full([count], value)?.named("x");
    side.wait_stream(&current_stream()?)?;
    let sum = with_stream(side, || x.sum())?;
    Ok((x, sum))
}

/// The allocator is told of the side stream before the tensor is dropped.
pub fn consume_and_drop(side: &Stream, x: Tensor) -> Result<Tensor> {
    side.wait_stream(&current_stream()?)?;
    let sum = with_stream(side, || x.sum())?;
    x.record_stream(side);
    Ok(sum)
}

/// Both readers wait for the first fill, and the second fill waits for both of them.
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
    producer.wait_stream(right)?;
    x.fill_(second)?;
    Ok([sum, squares])
}
