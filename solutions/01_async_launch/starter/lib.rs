//! Exercise 01: launches enqueue, they do not execute.
//!
//! README.md in the folder above explains the idea. Make the three functions below do what their
//! comments say, then run
//!
//! ```text
//! cargo xtask check 01
//! ```
//!
//! Keep the signatures; the bodies are yours.

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

/// Launches `spin`, which keeps the device busy for `nanos` nanoseconds, on `gpu.stream`, and reports
/// when the launch came back and when the work was done.
pub fn enqueue_and_wait(gpu: &Gpu, nanos: u64) -> Result<Times, DriverError> {
    let spin = gpu.kernel("spin")?;

    let began = Instant::now();
    // SAFETY: `spin` takes one unsigned 64-bit integer.
    unsafe { gpu.stream.launch_builder(&spin).arg(&nanos).launch(ONE_THREAD)? };
    gpu.stream.synchronize()?;
    let launched = began.elapsed();
    let done = began.elapsed();

    Ok(Times { launched, done })
}

/// Launches `spin` for `nanos` nanoseconds on `gpu.stream` and runs `host_work` once, side by side;
/// returns what `host_work` returned, after both are done.
pub fn overlap_host_work<T>(
    gpu: &Gpu,
    nanos: u64,
    host_work: impl FnOnce() -> T,
) -> Result<T, DriverError> {
    let spin = gpu.kernel("spin")?;

    // SAFETY: `spin` takes one unsigned 64-bit integer.
    unsafe { gpu.stream.launch_builder(&spin).arg(&nanos).launch(ONE_THREAD)? };
    gpu.stream.synchronize()?;
    let result = host_work();

    Ok(result)
}

/// Launches `poke` once for each of `targets`, in order, on `gpu.stream`; `poke` writes one float to the
/// device address it is given. At most one of the addresses is bad. Returns the index of the launch
/// whose kernel faulted, or `None` if all of them ran.
pub fn which_launch_failed(gpu: &Gpu, targets: &[u64]) -> Result<Option<usize>, DriverError> {
    let poke = gpu.kernel("poke")?;

    for (index, target) in targets.iter().enumerate() {
        // SAFETY: `poke` takes an address and a float; that an address may be bad is the point.
        let launch = unsafe {
            gpu.stream.launch_builder(&poke).arg(target).arg(&1.0_f32).launch(ONE_THREAD)
        };
        if launch.is_err() {
            return Ok(Some(index));
        }
    }
    Ok(None)
}
