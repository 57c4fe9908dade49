//! Adds the gradient instead of subtracting it.

pub use backward_stream_solution::{norms_then_zero, two_branches};
use streamlings::tensor::nn::Mlp;
use streamlings::tensor::{Result, Stream, Tensor};

pub fn train_step(
    side: &Stream,
    model: &Mlp,
    x: &Tensor,
    target: &Tensor,
    rate: f32,
) -> Result<Tensor> {
    backward_stream_solution::train_step(side, model, x, target, -rate)
}
