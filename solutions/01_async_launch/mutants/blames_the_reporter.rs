//! Waits once, at the end, and blames the launch before the call that reported the error.

pub use async_launch_solution::{enqueue_and_wait, overlap_host_work};
use streamlings::{DriverError, Gpu, LaunchConfig, PushKernelArg};

pub fn which_launch_failed(gpu: &Gpu, targets: &[u64]) -> Result<Option<usize>, DriverError> {
    let poke = gpu.kernel("poke")?;
    let mut last = None;
    for (index, target) in targets.iter().enumerate() {
        last = Some(index);
        // SAFETY: `poke` takes an address and a float; that an address may be bad is the point.
        let launch = unsafe {
            let mut launch = gpu.stream.launch_builder(&poke);
            launch.arg(target).arg(&1.0_f32).launch(LaunchConfig::for_num_elems(1))
        };
        if launch.is_err() {
            return Ok(last);
        }
    }
    Ok(if gpu.stream.synchronize().is_err() { last } else { None })
}
