//! Reports a synchronized host clock as the event time.

pub use event_timing_solution::{time_bare_clock, time_synchronized, two_way};
use streamlings::{DriverError, Gpu, Product};

pub fn time_with_events(gpu: &Gpu, product: &mut Product) -> Result<f32, DriverError> {
    Ok(event_timing_solution::time_synchronized(gpu, product)?.as_secs_f32() * 1e3)
}
