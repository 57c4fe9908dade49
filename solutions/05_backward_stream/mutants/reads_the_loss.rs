//! Waits by reading the loss.

pub use backward_stream_solution::{norms_then_zero, two_branches};
use streamlings::tensor::nn::{Mlp, sgd_step};
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
    with_stream(side, || loss.item())?;
    sgd_step(&model.parameters(), rate)?;
    Ok(loss)
}
