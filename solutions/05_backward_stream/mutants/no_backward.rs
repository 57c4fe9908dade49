//! Leaves backward out.

pub use backward_stream_solution::norms_then_zero;
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
        Ok(loss)
    })?;
    default.wait_stream(side)?;
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
    default.wait_stream(left)?;
    default.wait_stream(right)?;
    let loss = one.add(&two)?;
    Ok(loss)
}
