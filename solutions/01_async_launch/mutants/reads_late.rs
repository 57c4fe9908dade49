//! Lets time pass before the first reading, and the kernel run once more before the end.

use std::time::{Duration, Instant};

pub use async_launch_solution::{Times, which_launch_failed};
use streamlings::{DriverError, Gpu, LaunchConfig, PushKernelArg};

pub fn enqueue_and_wait(gpu: &Gpu, nanos: u64) -> Result<Times, DriverError> {
    let began = Instant::now();
    launch(gpu, nanos)?;
    std::thread::sleep(Duration::from_millis(4));
    let launched = began.elapsed();
    gpu.stream.synchronize()?;
    Ok(Times { launched, done: began.elapsed() })
}

pub fn overlap_host_work<T>(
    gpu: &Gpu,
    nanos: u64,
    host_work: impl FnOnce() -> T,
) -> Result<T, DriverError> {
    launch(gpu, nanos)?;
    launch(gpu, nanos)?;
    let result = host_work();
    gpu.stream.synchronize()?;
    Ok(result)
}

fn launch(gpu: &Gpu, nanos: u64) -> Result<(), DriverError> {
    let spin = gpu.kernel("spin")?;
    // SAFETY: `spin` takes one unsigned 64-bit integer.
    unsafe { gpu.stream.launch_builder(&spin).arg(&nanos).launch(LaunchConfig::for_num_elems(1))? };
    Ok(())
}
