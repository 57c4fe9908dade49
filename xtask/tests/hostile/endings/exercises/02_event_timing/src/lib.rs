//! Ends the process in worse ways.

use std::sync::Arc;
use std::time::Duration;

use streamlings::{DriverError, Gpu, Product};

#[derive(Clone, Copy, Debug)]
pub struct TwoWay {
    pub event_ms: f32,
    pub bare: Duration,
}

use streamlings::{CudaStream, LaunchConfig, PushKernelArg};

pub fn time_with_events(_gpu: &Gpu, _product: &mut Product) -> Result<f32, DriverError> {
    std::process::abort()
}

pub fn time_bare_clock(_gpu: &Gpu, _product: &mut Product) -> Result<Duration, DriverError> {
    let nothing = std::hint::black_box(std::ptr::null::<u64>());
    // SAFETY: it is not; that is the point.
    Ok(Duration::from_nanos(unsafe { std::ptr::read_volatile(nothing) }))
}

struct PanicsOnDrop(
    #[expect(dead_code, reason = "it is dropped behind the panic")] Arc<CudaStream>,
);

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        panic!("while dropping a stream");
    }
}

pub fn time_synchronized(gpu: &Gpu, product: &mut Product) -> Result<Duration, DriverError> {
    let stream = PanicsOnDrop(gpu.new_stream("side")?);
    product.launch(&gpu.stream)?;
    drop(stream);
    Ok(Duration::ZERO)
}

/// Leaves the context in an error that no later call gets rid of.
pub fn two_way(gpu: &Gpu, _product: &mut Product) -> Result<TwoWay, DriverError> {
    let one = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: it is not; that is the point.
    unsafe {
        gpu.stream.launch_builder(&gpu.kernel("poke")?).arg(&8_u64).arg(&1.0_f32).launch(one)?
    };
    let _ = gpu.stream.synchronize();
    Ok(TwoWay { event_ms: 1.0, bare: Duration::from_micros(10) })
}
