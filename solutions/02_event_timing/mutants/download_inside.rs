//! Brings the result to the host between the two readings.

use std::time::{Duration, Instant};

pub use event_timing_solution::{TwoWay, time_synchronized};
use streamlings::cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use streamlings::{DriverError, Gpu, Product};

pub fn time_with_events(gpu: &Gpu, product: &mut Product) -> Result<f32, DriverError> {
    event_timing_solution::time_synchronized(gpu, product)?;
    let start = gpu.stream.record_event(Some(CU_EVENT_DEFAULT))?;
    product.launch(&gpu.stream)?;
    product.download(&gpu.stream)?;
    let end = gpu.stream.record_event(Some(CU_EVENT_DEFAULT))?;
    end.synchronize()?;
    start.elapsed_ms(&end)
}

pub fn time_bare_clock(gpu: &Gpu, product: &mut Product) -> Result<Duration, DriverError> {
    event_timing_solution::time_synchronized(gpu, product)?;
    let began = Instant::now();
    product.launch(&gpu.stream)?;
    product.download(&gpu.stream)?;
    Ok(began.elapsed())
}

pub fn two_way(gpu: &Gpu, product: &mut Product) -> Result<TwoWay, DriverError> {
    let event_ms = event_timing_solution::time_with_events(gpu, product)?;
    Ok(TwoWay { event_ms, bare: time_bare_clock(gpu, product)? })
}
