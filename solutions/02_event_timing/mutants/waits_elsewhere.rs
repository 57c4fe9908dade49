//! Synchronizes a stream that the product is not on.

use std::time::{Duration, Instant};

pub use event_timing_solution::{time_bare_clock, time_with_events, two_way};
use streamlings::{DriverError, Gpu, Product};

pub fn time_synchronized(gpu: &Gpu, product: &mut Product) -> Result<Duration, DriverError> {
    let other = gpu.new_stream("other")?;
    product.launch(&gpu.stream)?;
    gpu.stream.synchronize()?;
    let began = Instant::now();
    product.launch(&gpu.stream)?;
    other.synchronize()?;
    Ok(began.elapsed())
}
