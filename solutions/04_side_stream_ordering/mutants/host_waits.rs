//! Has the host wait for what a stream could wait for.

use streamlings::tensor::{Result, Stream, Tensor, current_stream, with_stream};

pub fn sum_on_side_stream(side: &Stream, count: usize, value: f32) -> Result<(Tensor, Tensor)> {
    let x = Tensor::full([count], value)?.named("x");
    current_stream()?.record_event()?.synchronize()?;
    let sum = with_stream(side, || x.sum())?;
    Ok((x, sum))
}

pub fn consume_and_drop(side: &Stream, x: Tensor) -> Result<Tensor> {
    side.wait_stream(&current_stream()?)?;
    let sum = with_stream(side, || x.sum())?;
    side.synchronize()?;
    drop(x);
    Ok(sum)
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
    sum.to_vec()?;
    left.synchronize()?;
    right.synchronize()?;
    x.fill_(second)?;
    Ok([sum, squares])
}
