//! Exercise 01, solved: launches enqueue, they do not execute.

use std::time::{Duration, Instant};

use streamlings::{DriverError, Gpu, LaunchConfig, PushKernelArg};

/// One block of one thread: enough for the kernels of this exercise.
const ONE_THREAD: LaunchConfig =
    LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };

/// Two readings of one host clock that was started right before a launch.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// When the launch had come back.
    pub launched: Duration,
    /// When the kernel's work was done.
    pub done: Duration,
}

/// The first reading comes before anything that waits, the second right after the wait.
pub fn enqueue_and_wait(gpu: &Gpu, nanos: u64) -> Result<Times, DriverError> {
    let spin = gpu.kernel("spin")?;

    let began = Instant::now();
    // SAFETY: `spin` takes one unsigned 64-bit integer.
    unsafe { gpu.stream.launch_builder(&spin).arg(&nanos).launch(ONE_THREAD)? };
    let launched = began.elapsed();
    gpu.stream.synchronize()?;
    let done = began.elapsed();

    Ok(Times { launched, done })
}

/// The host works between the launch and the wait.
pub fn overlap_host_work<T>(
    gpu: &Gpu,
    nanos: u64,
    host_work: impl FnOnce() -> T,
) -> Result<T, DriverError> {
    let spin = gpu.kernel("spin")?;

    // SAFETY: `spin` takes one unsigned 64-bit integer.
    unsafe { gpu.stream.launch_builder(&spin).arg(&nanos).launch(ONE_THREAD)? };
    let result = host_work();
    gpu.stream.synchronize()?;

    Ok(result)
}

/// A wait after each launch ties an error to the launch before it.
pub fn which_launch_failed(gpu: &Gpu, targets: &[u64]) -> Result<Option<usize>, DriverError> {
    let poke = gpu.kernel("poke")?;

    for (index, target) in targets.iter().enumerate() {
        // SAFETY: `poke` takes an address and a float; that an address may be bad is the point.
        unsafe { gpu.stream.launch_builder(&poke).arg(target).arg(&1.0_f32).launch(ONE_THREAD)? };
        if gpu.stream.synchronize().is_err() {
            return Ok(Some(index));
        }
    }
    Ok(None)
}
