//! Event pairs that do not stand around the work.

use std::time::Duration;

use streamlings::cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use streamlings::{DriverError, Gpu, Product};

#[derive(Clone, Copy, Debug)]
pub struct TwoWay {
    pub event_ms: f32,
    pub bare: Duration,
}

fn warm_up(gpu: &Gpu, product: &mut Product) -> Result<(), DriverError> {
    product.launch(&gpu.stream)?;
    gpu.stream.synchronize()
}

/// The work goes to a stream that nobody joins.
pub fn time_with_events(gpu: &Gpu, product: &mut Product) -> Result<f32, DriverError> {
    warm_up(gpu, product)?;
    let side = gpu.new_stream("side")?;
    let start = gpu.stream.record_event(Some(CU_EVENT_DEFAULT))?;
    product.launch(&side)?;
    let end = gpu.stream.record_event(Some(CU_EVENT_DEFAULT))?;
    end.synchronize()?;
    start.elapsed_ms(&end)
}

/// Waits inside, and says that it did not.
pub fn time_bare_clock(gpu: &Gpu, product: &mut Product) -> Result<Duration, DriverError> {
    warm_up(gpu, product)?;
    let began = std::time::Instant::now();
    product.launch(&gpu.stream)?;
    gpu.stream.synchronize()?;
    Ok(began.elapsed())
}

/// Sleeps where it has to wait.
pub fn time_synchronized(gpu: &Gpu, product: &mut Product) -> Result<Duration, DriverError> {
    warm_up(gpu, product)?;
    let began = std::time::Instant::now();
    product.launch(&gpu.stream)?;
    std::thread::sleep(Duration::from_millis(300));
    Ok(began.elapsed())
}

/// Waits and sleeps within the pair.
pub fn two_way(gpu: &Gpu, product: &mut Product) -> Result<TwoWay, DriverError> {
    warm_up(gpu, product)?;
    let start = gpu.stream.record_event(Some(CU_EVENT_DEFAULT))?;
    let began = std::time::Instant::now();
    product.launch(&gpu.stream)?;
    let bare = began.elapsed();
    gpu.stream.synchronize()?;
    std::thread::sleep(Duration::from_millis(100));
    let end = gpu.stream.record_event(Some(CU_EVENT_DEFAULT))?;
    end.synchronize()?;
    Ok(TwoWay { event_ms: start.elapsed_ms(&end)?, bare })
}
