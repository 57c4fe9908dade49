//! Never drops the tensor.

pub use side_stream_ordering_solution::{fan_out_fan_in, sum_on_side_stream};
use streamlings::tensor::{Result, Stream, Tensor, current_stream, with_stream};

pub fn consume_and_drop(side: &Stream, x: Tensor) -> Result<Tensor> {
    side.wait_stream(&current_stream()?)?;
    let sum = with_stream(side, || x.sum())?;
    std::mem::forget(x);
    Ok(sum)
}
