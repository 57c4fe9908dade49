//! Never ends.

use std::time::Duration;

use streamlings::{DriverError, Gpu};

#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub launched: Duration,
    pub done: Duration,
}

use streamlings::{LaunchConfig, PushKernelArg};

pub fn enqueue_and_wait(_gpu: &Gpu, _nanos: u64) -> Result<Times, DriverError> {
    loop {
        std::hint::spin_loop();
    }
}

/// A kernel that runs for some hundred years.
pub fn overlap_host_work<T>(
    gpu: &Gpu,
    _nanos: u64,
    host_work: impl FnOnce() -> T,
) -> Result<T, DriverError> {
    let one = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: `spin` takes one unsigned 64-bit integer.
    unsafe { gpu.stream.launch_builder(&gpu.kernel("spin")?).arg(&(u64::MAX / 2)).launch(one)? };
    let result = host_work();
    gpu.stream.synchronize()?;
    Ok(result)
}

pub fn which_launch_failed(_gpu: &Gpu, _targets: &[u64]) -> Result<Option<usize>, DriverError> {
    todo!()
}
