//! Synchronizes the context instead of the streams.

use streamlings::tensor::{Device, Result, Stream, Tensor, with_stream};

pub fn sum_on_side_stream(side: &Stream, count: usize, value: f32) -> Result<(Tensor, Tensor)> {
    let x = Tensor::full([count], value)?.named("x");
    Device::get()?.synchronize()?;
    let sum = with_stream(side, || x.sum())?;
    Ok((x, sum))
}

pub fn consume_and_drop(side: &Stream, x: Tensor) -> Result<Tensor> {
    Device::get()?.synchronize()?;
    let sum = with_stream(side, || x.sum())?;
    Device::get()?.synchronize()?;
    drop(x);
    Ok(sum)
}

pub fn fan_out_fan_in(
    left: &Stream,
    right: &Stream,
    x: &Tensor,
    [first, second]: [f32; 2],
) -> Result<[Tensor; 2]> {
    x.fill_(first)?;
    Device::get()?.synchronize()?;
    let sum = with_stream(left, || x.sum())?;
    let squares = with_stream(right, || x.mul(x)?.sum())?;
    Device::get()?.synchronize()?;
    x.fill_(second)?;
    Ok([sum, squares])
}
