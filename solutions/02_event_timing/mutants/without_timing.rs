//! Takes cudarc's default flags, which make events without timing.

pub use event_timing_solution::{time_bare_clock, time_synchronized, two_way};
use streamlings::{DriverError, Gpu, Product};

pub fn time_with_events(gpu: &Gpu, product: &mut Product) -> Result<f32, DriverError> {
    event_timing_solution::time_synchronized(gpu, product)?;
    let start = gpu.stream.record_event(None)?;
    product.launch(&gpu.stream)?;
    let end = gpu.stream.record_event(None)?;
    end.synchronize()?;
    start.elapsed_ms(&end)
}
