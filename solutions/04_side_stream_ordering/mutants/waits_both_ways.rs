//! Has the current stream wait for the sum, too.

pub use side_stream_ordering_solution::fan_out_fan_in;
use streamlings::tensor::{Result, Stream, Tensor, current_stream, with_stream};

pub fn sum_on_side_stream(side: &Stream, count: usize, value: f32) -> Result<(Tensor, Tensor)> {
    let x = Tensor::full([count], value)?.named("x");
    side.wait_stream(&current_stream()?)?;
    let sum = with_stream(side, || x.sum())?;
    current_stream()?.wait_stream(side)?;
    Ok((x, sum))
}

pub fn consume_and_drop(side: &Stream, x: Tensor) -> Result<Tensor> {
    side.wait_stream(&current_stream()?)?;
    let sum = with_stream(side, || x.sum())?;
    current_stream()?.wait_stream(side)?;
    drop(x);
    Ok(sum)
}
