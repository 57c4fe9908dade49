//! Warms up, and does not wait for that.

use std::time::{Duration, Instant};

pub use event_timing_solution::{time_bare_clock, time_with_events, two_way};
use streamlings::{DriverError, Gpu, Product};

pub fn time_synchronized(gpu: &Gpu, product: &mut Product) -> Result<Duration, DriverError> {
    product.launch(&gpu.stream)?;
    let began = Instant::now();
    product.launch(&gpu.stream)?;
    gpu.stream.synchronize()?;
    Ok(began.elapsed())
}
