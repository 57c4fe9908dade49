//! Asks for the time while the product is running. cudarc's `elapsed_ms` would wait by itself; the
//! driver's own call does not.

pub use event_timing_solution::{TwoWay, time_bare_clock, time_synchronized};
use streamlings::cudarc::driver::result;
use streamlings::cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use streamlings::{DriverError, Gpu, Product};

pub fn time_with_events(gpu: &Gpu, product: &mut Product) -> Result<f32, DriverError> {
    event_timing_solution::time_synchronized(gpu, product)?;
    let start = gpu.stream.record_event(Some(CU_EVENT_DEFAULT))?;
    product.launch(&gpu.stream)?;
    let end = gpu.stream.record_event(Some(CU_EVENT_DEFAULT))?;
    // SAFETY: both events are alive.
    unsafe { result::event::elapsed(start.cu_event(), end.cu_event()) }
}

pub fn two_way(gpu: &Gpu, product: &mut Product) -> Result<TwoWay, DriverError> {
    let event_ms = time_with_events(gpu, product)?;
    Ok(TwoWay { event_ms, bare: time_bare_clock(gpu, product)? })
}
