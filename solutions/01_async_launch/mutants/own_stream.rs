//! Makes a stream of its own, and puts the kernel there.

use std::sync::Arc;
use std::time::Instant;

pub use async_launch_solution::{Times, which_launch_failed};
use streamlings::{CudaStream, DriverError, Gpu, LaunchConfig, PushKernelArg};

pub fn enqueue_and_wait(gpu: &Gpu, nanos: u64) -> Result<Times, DriverError> {
    let own = gpu.new_stream("own")?;
    let began = Instant::now();
    launch(gpu, &own, nanos)?;
    let launched = began.elapsed();
    own.synchronize()?;
    Ok(Times { launched, done: began.elapsed() })
}

pub fn overlap_host_work<T>(
    gpu: &Gpu,
    nanos: u64,
    host_work: impl FnOnce() -> T,
) -> Result<T, DriverError> {
    let own = gpu.new_stream("own")?;
    launch(gpu, &own, nanos)?;
    let result = host_work();
    own.synchronize()?;
    Ok(result)
}

fn launch(gpu: &Gpu, stream: &Arc<CudaStream>, nanos: u64) -> Result<(), DriverError> {
    let spin = gpu.kernel("spin")?;
    // SAFETY: `spin` takes one unsigned 64-bit integer.
    unsafe { stream.launch_builder(&spin).arg(&nanos).launch(LaunchConfig::for_num_elems(1))? };
    Ok(())
}
