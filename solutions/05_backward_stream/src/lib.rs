//! Exercise 05, solved: gradients are used where backward was called, or after a wait for it.

use streamlings::tensor::nn::{Mlp, sgd_step, zero_grad};
use streamlings::tensor::{Result, Stream, Tensor, current_stream, with_stream};

/// The current stream waits for the side stream, on which backward was called, before it uses the
/// gradients.
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
    default.wait_stream(side)?;
    sgd_step(&model.parameters(), rate)?;
    Ok(loss)
}

/// The current stream waits for both branches before it adds them up. From there on the tape makes
/// every wait that is needed; `left` and `right` wait for the sum, too, so the memory of its two parts
/// is not handed out again too early.
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

    default.wait_stream(left)?;
    default.wait_stream(right)?;
    let loss = one.add(&two)?;
    loss.backward()?;
    Ok(loss)
}

/// The gradients are zeroed once the side stream has read them.
pub fn norms_then_zero(side: &Stream, parameters: &[Tensor]) -> Result<Vec<Tensor>> {
    let default = current_stream()?;
    side.wait_stream(&default)?;
    let norms = with_stream(side, || -> Result<Vec<Tensor>> {
        let grads = parameters.iter().filter_map(Tensor::grad);
        grads.map(|grad| grad.mul(&grad)?.sum()).collect()
    })?;
    default.wait_stream(side)?;
    zero_grad(parameters)?;
    Ok(norms)
}
