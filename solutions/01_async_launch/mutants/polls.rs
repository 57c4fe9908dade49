//! Asks the driver again and again whether the kernel is done.

use std::time::Instant;

pub use async_launch_solution::{Times, which_launch_failed};
use streamlings::{CudaEvent, DriverError, Gpu, LaunchConfig, PushKernelArg};

pub fn enqueue_and_wait(gpu: &Gpu, nanos: u64) -> Result<Times, DriverError> {
    let began = Instant::now();
    let done = launch(gpu, nanos)?;
    let launched = began.elapsed();
    while !done.is_complete() {}
    Ok(Times { launched, done: began.elapsed() })
}

pub fn overlap_host_work<T>(
    gpu: &Gpu,
    nanos: u64,
    host_work: impl FnOnce() -> T,
) -> Result<T, DriverError> {
    let done = launch(gpu, nanos)?;
    while !done.is_complete() {}
    Ok(host_work())
}

fn launch(gpu: &Gpu, nanos: u64) -> Result<CudaEvent, DriverError> {
    let spin = gpu.kernel("spin")?;
    // SAFETY: `spin` takes one unsigned 64-bit integer.
    unsafe { gpu.stream.launch_builder(&spin).arg(&nanos).launch(LaunchConfig::for_num_elems(1))? };
    gpu.stream.record_event(None)
}
