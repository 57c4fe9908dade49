//! Fills on the side stream, too.

pub use side_stream_ordering_solution::{consume_and_drop, fan_out_fan_in};
use streamlings::tensor::{Result, Stream, Tensor, with_stream};

pub fn sum_on_side_stream(side: &Stream, count: usize, value: f32) -> Result<(Tensor, Tensor)> {
    with_stream(side, || {
        let x = Tensor::full([count], value)?.named("x");
        let sum = x.sum()?;
        Ok((x, sum))
    })
}
