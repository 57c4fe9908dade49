//! Takes the first reading before the launch.

use std::time::Instant;

pub use async_launch_solution::{Times, overlap_host_work, which_launch_failed};
use streamlings::{DriverError, Gpu, LaunchConfig, PushKernelArg};

pub fn enqueue_and_wait(gpu: &Gpu, nanos: u64) -> Result<Times, DriverError> {
    let spin = gpu.kernel("spin")?;
    let began = Instant::now();
    let launched = began.elapsed();
    // SAFETY: `spin` takes one unsigned 64-bit integer.
    unsafe { gpu.stream.launch_builder(&spin).arg(&nanos).launch(LaunchConfig::for_num_elems(1))? };
    gpu.stream.synchronize()?;
    Ok(Times { launched, done: began.elapsed() })
}
