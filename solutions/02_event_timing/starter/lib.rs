//! Exercise 02: time a matrix product both ways.
//!
//! README.md in the folder above explains the idea. Make the four functions below do what their
//! comments say, then run
//!
//! ```text
//! cargo xtask check 02
//! ```
//!
//! Keep the signatures; the bodies are yours.

use std::time::{Duration, Instant};

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

/// The time of one product on `gpu.stream` by the device's own clock, in milliseconds: a pair of
/// events made for timing around exactly the launch.
pub fn time_with_events(gpu: &Gpu, product: &mut Product) -> Result<f32, DriverError> {
    warm_up(gpu, product)?;

    let began = Instant::now();
    product.launch(&gpu.stream)?;
    let took = began.elapsed();

    Ok(took.as_secs_f32() * 1e3)
}

/// What a host clock around the launch alone reads: no call in between may hold the host.
pub fn time_bare_clock(gpu: &Gpu, product: &mut Product) -> Result<Duration, DriverError> {
    warm_up(gpu, product)?;

    let began = Instant::now();
    product.launch(&gpu.stream)?;
    gpu.stream.synchronize()?;
    Ok(began.elapsed())
}

/// The time of one product by a host clock that is read when the product is done.
pub fn time_synchronized(gpu: &Gpu, product: &mut Product) -> Result<Duration, DriverError> {
    warm_up(gpu, product)?;

    let began = Instant::now();
    product.launch(&gpu.stream)?;
    Ok(began.elapsed())
}

/// One product by events and one by the bare clock, side by side.
pub fn two_way(gpu: &Gpu, product: &mut Product) -> Result<TwoWay, DriverError> {
    let event_ms = time_with_events(gpu, product)?;
    let bare = time_bare_clock(gpu, product)?;
    Ok(TwoWay { event_ms, bare })
}
