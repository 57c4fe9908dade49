//! Times the very first launch, three times over.

use std::time::{Duration, Instant};

pub use event_timing_solution::{two_way};
use streamlings::cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use streamlings::{DriverError, Gpu, Product};

pub fn time_with_events(gpu: &Gpu, product: &mut Product) -> Result<f32, DriverError> {
    let start = gpu.stream.record_event(Some(CU_EVENT_DEFAULT))?;
    product.launch(&gpu.stream)?;
    let end = gpu.stream.record_event(Some(CU_EVENT_DEFAULT))?;
    end.synchronize()?;
    start.elapsed_ms(&end)
}

pub fn time_bare_clock(gpu: &Gpu, product: &mut Product) -> Result<Duration, DriverError> {
    let began = Instant::now();
    product.launch(&gpu.stream)?;
    let bare = began.elapsed();
    gpu.stream.synchronize()?;
    Ok(bare)
}

pub fn time_synchronized(gpu: &Gpu, product: &mut Product) -> Result<Duration, DriverError> {
    let began = Instant::now();
    product.launch(&gpu.stream)?;
    gpu.stream.synchronize()?;
    Ok(began.elapsed())
}
