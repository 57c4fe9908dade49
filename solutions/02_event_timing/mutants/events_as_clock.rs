//! Reports a pair of events' time as what the host clock reads.

use std::time::Duration;

pub use event_timing_solution::{time_bare_clock, time_with_events, two_way};
use streamlings::{DriverError, Gpu, Product};

pub fn time_synchronized(gpu: &Gpu, product: &mut Product) -> Result<Duration, DriverError> {
    let ms = event_timing_solution::time_with_events(gpu, product)?;
    Ok(Duration::from_secs_f32(ms / 1e3))
}
