//! Sums on the side stream, throws that away, and returns what it worked out on the host.

use streamlings::tensor::{Result, Stream, Tensor, current_stream, with_stream};

pub fn sum_on_side_stream(side: &Stream, count: usize, value: f32) -> Result<(Tensor, Tensor)> {
    let x = Tensor::full([count], value)?.named("x");
    side.wait_stream(&current_stream()?)?;
    with_stream(side, || x.sum())?;
    let sum = with_stream(side, || Tensor::full([], value * count as f32))?;
    Ok((x, sum))
}

pub fn consume_and_drop(side: &Stream, x: Tensor) -> Result<Tensor> {
    side.wait_stream(&current_stream()?)?;
    with_stream(side, || x.sum())?;
    let zero = with_stream(side, || Tensor::full([], 0.0))?;
    x.record_stream(side);
    Ok(zero)
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
    with_stream(left, || x.sum())?;
    right.wait_stream(&producer)?;
    let squares = with_stream(right, || x.mul(x)?.sum())?;
    let sum = with_stream(left, || Tensor::full([], first * x.numel() as f32))?;
    producer.wait_stream(left)?;
    producer.wait_stream(right)?;
    x.fill_(second)?;
    Ok([sum, squares])
}
