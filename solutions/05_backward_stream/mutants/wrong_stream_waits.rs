//! Has the wrong one of the two streams wait.

pub use backward_stream_solution::two_branches;
use streamlings::tensor::nn::{Mlp, sgd_step, zero_grad};
use streamlings::tensor::{Result, Stream, Tensor, current_stream, with_stream};

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
    side.wait_stream(&default)?;
    sgd_step(&model.parameters(), rate)?;
    Ok(loss)
}

pub fn norms_then_zero(side: &Stream, parameters: &[Tensor]) -> Result<Vec<Tensor>> {
    let default = current_stream()?;
    side.wait_stream(&default)?;
    let norms = with_stream(side, || -> Result<Vec<Tensor>> {
        let grads = parameters.iter().filter_map(Tensor::grad);
        grads.map(|grad| grad.mul(&grad)?.sum()).collect()
    })?;
    side.wait_stream(&default)?;
    zero_grad(parameters)?;
    Ok(norms)
}
