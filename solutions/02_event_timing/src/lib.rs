//! Exercise 02, solved: time a matrix product both ways.

use std::time::{Duration, Instant};

use streamlings::cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use streamlings::{DriverError, Gpu, Product};

/// The same kind of work, timed both ways.
#[derive(Clone, Copy, Debug)]
pub struct TwoWay {
    /// What a pair of events around the product reads, in milliseconds.
    pub event_ms: f32,
    /// What a bare host clock around the launch reads.
    pub bare: Duration,
}

/// Does once, outside of any timing, what is slow only the first time.
fn warm_up(gpu: &Gpu, product: &mut Product) -> Result<(), DriverError> {
    product.launch(&gpu.stream)?;
    gpu.stream.synchronize()
}

/// cudarc makes events without timing unless asked for it.
pub fn time_with_events(gpu: &Gpu, product: &mut Product) -> Result<f32, DriverError> {
    warm_up(gpu, product)?;

    let start = gpu.stream.record_event(Some(CU_EVENT_DEFAULT))?;
    product.launch(&gpu.stream)?;
    let end = gpu.stream.record_event(Some(CU_EVENT_DEFAULT))?;

    end.synchronize()?;
    start.elapsed_ms(&end)
}

/// The wait comes after the reading, so that the next function finds an idle stream.
pub fn time_bare_clock(gpu: &Gpu, product: &mut Product) -> Result<Duration, DriverError> {
    warm_up(gpu, product)?;

    let began = Instant::now();
    product.launch(&gpu.stream)?;
    let bare = began.elapsed();

    gpu.stream.synchronize()?;
    Ok(bare)
}

/// A host clock times a kernel if it is read when the kernel is done.
pub fn time_synchronized(gpu: &Gpu, product: &mut Product) -> Result<Duration, DriverError> {
    warm_up(gpu, product)?;

    let began = Instant::now();
    product.launch(&gpu.stream)?;
    gpu.stream.synchronize()?;
    Ok(began.elapsed())
}

/// One product by events and one by the bare clock, side by side.
pub fn two_way(gpu: &Gpu, product: &mut Product) -> Result<TwoWay, DriverError> {
    let event_ms = time_with_events(gpu, product)?;
    let bare = time_bare_clock(gpu, product)?;
    Ok(TwoWay { event_ms, bare })
}
