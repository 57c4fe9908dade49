//! Starts the clocks before the warm-up.

use std::time::{Duration, Instant};

pub use event_timing_solution::{time_with_events, two_way};
use streamlings::{DriverError, Gpu, Product};

pub fn time_bare_clock(gpu: &Gpu, product: &mut Product) -> Result<Duration, DriverError> {
    let began = Instant::now();
    product.launch(&gpu.stream)?;
    gpu.stream.synchronize()?;
    product.launch(&gpu.stream)?;
    let bare = began.elapsed();
    gpu.stream.synchronize()?;
    Ok(bare)
}

pub fn time_synchronized(gpu: &Gpu, product: &mut Product) -> Result<Duration, DriverError> {
    let began = Instant::now();
    product.launch(&gpu.stream)?;
    gpu.stream.synchronize()?;
    product.launch(&gpu.stream)?;
    gpu.stream.synchronize()?;
    Ok(began.elapsed())
}
