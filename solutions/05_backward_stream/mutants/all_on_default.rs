//! Runs everything on the current stream.

use streamlings::tensor::nn::{Mlp, sgd_step, zero_grad};
use streamlings::tensor::{Result, Stream, Tensor};

pub fn train_step(
    _side: &Stream,
    model: &Mlp,
    x: &Tensor,
    target: &Tensor,
    rate: f32,
) -> Result<Tensor> {
    let loss = model.forward(x)?.mse(target)?;
    loss.backward()?;
    sgd_step(&model.parameters(), rate)?;
    Ok(loss)
}

pub fn two_branches(
    _left: &Stream,
    _right: &Stream,
    weight: &Tensor,
    [a, b]: [&Tensor; 2],
) -> Result<Tensor> {
    let one = a.matmul(weight)?.relu()?.mean()?;
    let two = b.matmul(weight)?.relu()?.mean()?;
    let loss = one.add(&two)?;
    loss.backward()?;
    Ok(loss)
}

pub fn norms_then_zero(_side: &Stream, parameters: &[Tensor]) -> Result<Vec<Tensor>> {
    let grads = parameters.iter().filter_map(Tensor::grad);
    let norms = grads.map(|grad| grad.mul(&grad)?.sum()).collect::<Result<Vec<_>>>()?;
    zero_grad(parameters)?;
    Ok(norms)
}
