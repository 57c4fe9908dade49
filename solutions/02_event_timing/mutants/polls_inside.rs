//! Asks for the end of the product between the two readings of the bare clock.

use std::time::{Duration, Instant};

pub use event_timing_solution::{time_synchronized, time_with_events, two_way};
use streamlings::{DriverError, Gpu, Product};

pub fn time_bare_clock(gpu: &Gpu, product: &mut Product) -> Result<Duration, DriverError> {
    time_synchronized(gpu, product)?;
    let began = Instant::now();
    product.launch(&gpu.stream)?;
    let done = gpu.stream.record_event(None)?;
    while !done.is_complete() {}
    Ok(began.elapsed())
}
