//! Exercise __NN__, solved: GAP: the title

use streamlings::{DriverError, Gpu, LaunchConfig, PushKernelArg};

// GAP: the solution, and why it is right.
/// The stream is asked once, after the launch.
pub fn run_and_wait(gpu: &Gpu, nanos: u64) -> Result<(), DriverError> {
    let spin = gpu.kernel("spin")?;
    // SAFETY: `spin` takes one unsigned 64-bit integer.
    unsafe { gpu.stream.launch_builder(&spin).arg(&nanos).launch(LaunchConfig::for_num_elems(1))? };
    gpu.stream.synchronize()
}
