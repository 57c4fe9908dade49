//! The second branch does not wait for its batch.

pub use backward_stream_solution::{norms_then_zero, train_step};
use streamlings::tensor::{Result, Stream, Tensor, current_stream, with_stream};

pub fn two_branches(
    left: &Stream,
    right: &Stream,
    weight: &Tensor,
    [a, b]: [&Tensor; 2],
) -> Result<Tensor> {
    let default = current_stream()?;
    left.wait_stream(&default)?;
    let one = with_stream(left, || a.matmul(weight)?.relu()?.mean())?.named("one");
    let two = with_stream(right, || b.matmul(weight)?.relu()?.mean())?.named("two");
    default.wait_stream(left)?;
    default.wait_stream(right)?;
    let loss = one.add(&two)?;
    loss.backward()?;
    Ok(loss)
}
