//! Exercise 04: side streams get no automatic safety.
//!
//! README.md in the folder above explains the idea. Make the three functions below do what their
//! comments say, then run
//!
//! ```text
//! cargo xtask check 04
//! ```
//!
//! Keep the signatures; the bodies are yours. What each function has to enqueue, and on which stream,
//! is there already.

use streamlings::tensor::{Result, Stream, Tensor, current_stream, with_stream};

/// Fills a new tensor of `count` elements with `value` on the current stream, and sums it on `side`.
/// Returns the tensor and its sum, on their way. The current stream goes on without waiting for the
/// sum.
pub fn sum_on_side_stream(side: &Stream, count: usize, value: f32) -> Result<(Tensor, Tensor)> {
    let x = Tensor::full([count], value)?.named("x");
    let sum = with_stream(side, || x.sum())?;
    Ok((x, sum))
}

/// Sums `x`, which the current stream has just filled, on `side`, and drops it: when the function
/// returns, its memory has gone back to the allocator, to be handed out again once `side` has read
/// it. The current stream goes on without waiting for the sum.
pub fn consume_and_drop(side: &Stream, x: Tensor) -> Result<Tensor> {
    side.wait_stream(&current_stream()?)?;
    let sum = with_stream(side, || x.sum())?;
    drop(x);
    Ok(sum)
}

/// Fills `x` with the first value on the current stream; reads it on `left` (the sum) and on `right`
/// (the sum of the squares), side by side; then fills it with the second value on the current stream.
pub fn fan_out_fan_in(
    left: &Stream,
    right: &Stream,
    x: &Tensor,
    [first, second]: [f32; 2],
) -> Result<[Tensor; 2]> {
    let producer = current_stream()?;
    x.fill_(first)?;

    left.wait_stream(&producer)?;
    let sum = with_stream(left, || x.sum())?;
    right.wait_stream(&producer)?;
    let squares = with_stream(right, || x.mul(x)?.sum())?;

    producer.wait_stream(right)?;
    x.fill_(second)?;
    Ok([sum, squares])
}
