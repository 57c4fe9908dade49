//! Waits for the product before it records the end.

pub use event_timing_solution::{time_bare_clock, time_synchronized, two_way};
use streamlings::cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use streamlings::{DriverError, Gpu, Product};

pub fn time_with_events(gpu: &Gpu, product: &mut Product) -> Result<f32, DriverError> {
    event_timing_solution::time_synchronized(gpu, product)?;
    let start = gpu.stream.record_event(Some(CU_EVENT_DEFAULT))?;
    product.launch(&gpu.stream)?;
    gpu.stream.synchronize()?;
    let end = gpu.stream.record_event(Some(CU_EVENT_DEFAULT))?;
    end.synchronize()?;
    start.elapsed_ms(&end)
}
