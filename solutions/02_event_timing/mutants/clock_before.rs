//! Reads the bare clock twice before the launch.

use std::time::{Duration, Instant};

pub use event_timing_solution::{time_synchronized, time_with_events, two_way};
use streamlings::{DriverError, Gpu, Product};

pub fn time_bare_clock(gpu: &Gpu, product: &mut Product) -> Result<Duration, DriverError> {
    time_synchronized(gpu, product)?;
    let began = Instant::now();
    let bare = began.elapsed();
    product.launch(&gpu.stream)?;
    gpu.stream.synchronize()?;
    Ok(bare)
}
