//! Returns times that no clock has seen.

use std::time::{Duration, Instant};

pub use event_timing_solution::{TwoWay, time_with_events};
use streamlings::{DriverError, Gpu, Product};

pub fn time_bare_clock(gpu: &Gpu, product: &mut Product) -> Result<Duration, DriverError> {
    let real = event_timing_solution::time_bare_clock(gpu, product)?;
    Ok(Duration::from_nanos(7_000 + u64::from(real.subsec_nanos()) % 1_000))
}

/// Sleeps for longer than the product takes, and waits when the clock was read.
pub fn time_synchronized(gpu: &Gpu, product: &mut Product) -> Result<Duration, DriverError> {
    event_timing_solution::time_synchronized(gpu, product)?;
    let began = Instant::now();
    product.launch(&gpu.stream)?;
    std::thread::sleep(Duration::from_millis(100));
    let took = began.elapsed();
    gpu.stream.synchronize()?;
    Ok(took)
}

pub fn two_way(gpu: &Gpu, product: &mut Product) -> Result<TwoWay, DriverError> {
    let event_ms = time_with_events(gpu, product)?;
    Ok(TwoWay { event_ms, bare: Duration::from_micros(7) })
}
