//! Exercise 05: backward follows forward's streams.
//!
//! README.md in the folder above explains the idea. Make the three functions below do what their
//! comments say, then run
//!
//! ```text
//! cargo xtask check 05
//! ```
//!
//! Keep the signatures; the bodies are yours. What each function has to enqueue, and on which stream,
//! is there already.

use streamlings::tensor::nn::{Mlp, sgd_step, zero_grad};
use streamlings::tensor::{Result, Stream, Tensor, current_stream, with_stream};

/// One step of training: forward, loss and backward run on `side`, and the optimizer, which uses the
/// gradients, on the current stream. `x` and `target` come from the current stream. Returns the loss.
pub fn train_step(
    side: &Stream,
    model: &Mlp,
    x: &Tensor,
    target: &Tensor,
    rate: f32,
) -> Result<Tensor> {
    side.wait_stream(&current_stream()?)?;
    let loss = with_stream(side, || -> Result<Tensor> {
        let loss = model.forward(x)?.mse(target)?;
        loss.backward()?;
        Ok(loss)
    })?;
    sgd_step(&model.parameters(), rate)?;
    Ok(loss)
}

/// The mean of `relu(a · weight)`, on `left`, plus the same of `b`, on `right`, side by side; the two
/// meet in one loss on the current stream. Returns the loss, and leaves its gradient in `weight`, for
/// use on the current stream.
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

    let loss = one.add(&two)?;
    loss.backward()?;
    Ok(loss)
}

/// Between two steps: works out the squared norm of each parameter's gradient on `side`, then zeroes
/// the gradients on the current stream, on which backward left them. Returns the norms.
pub fn norms_then_zero(side: &Stream, parameters: &[Tensor]) -> Result<Vec<Tensor>> {
    let default = current_stream()?;
    side.wait_stream(&default)?;
    let norms = with_stream(side, || -> Result<Vec<Tensor>> {
        let grads = parameters.iter().filter_map(Tensor::grad);
        grads.map(|grad| grad.mul(&grad)?.sum()).collect()
    })?;
    zero_grad(parameters)?;
    Ok(norms)
}
