//! Synchronizes the whole device.

use streamlings::tensor::nn::{Mlp, sgd_step, zero_grad};
use streamlings::tensor::{Device, Result, Stream, Tensor, current_stream, with_stream};

pub fn train_step(
    side: &Stream,
    model: &Mlp,
    x: &Tensor,
    target: &Tensor,
    rate: f32,
) -> Result<Tensor> {
    let default = current_stream()?;
    side.wait_stream(&default)?;
    let loss = with_stream(side, || -> Result<Tensor> {
        let loss = model.forward(x)?.mse(target)?;
        loss.backward()?;
        Ok(loss)
    })?;
    Device::get()?.synchronize()?;
    sgd_step(&model.parameters(), rate)?;
    Ok(loss)
}

pub fn two_branches(
    left: &Stream,
    right: &Stream,
    weight: &Tensor,
    [a, b]: [&Tensor; 2],
) -> Result<Tensor> {
    let default = current_stream()?;
    left.wait_stream(&default)?;
    right.wait_stream(&default)?;
    let one = with_stream(left, || a.matmul(weight)?.relu()?.mean())?.named("one");
    let two = with_stream(right, || b.matmul(weight)?.relu()?.mean())?.named("two");
    Device::get()?.synchronize()?;
    let loss = one.add(&two)?;
    loss.backward()?;
    Ok(loss)
}

pub fn norms_then_zero(side: &Stream, parameters: &[Tensor]) -> Result<Vec<Tensor>> {
    let default = current_stream()?;
    side.wait_stream(&default)?;
    let norms = with_stream(side, || -> Result<Vec<Tensor>> {
        let grads = parameters.iter().filter_map(Tensor::grad);
        grads.map(|grad| grad.mul(&grad)?.sum()).collect()
    })?;
    Device::get()?.synchronize()?;
    zero_grad(parameters)?;
    Ok(norms)
}
