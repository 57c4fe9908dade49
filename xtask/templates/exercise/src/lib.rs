//! Exercise __NN__: GAP: the title
//!
//! README.md in the folder above explains the idea. Make the function below do what its comment
//! says, then run
//!
//! ```text
//! cargo xtask check __NN__
//! ```
//!
//! Keep the signature; the body is yours.

use streamlings::{DriverError, Gpu, LaunchConfig, PushKernelArg};

// GAP: the trap, as plausible code that compiles and runs.
/// Launches `spin`, which keeps the device busy for `nanos` nanoseconds, on `gpu.stream`, and returns
/// when it has ended.
pub fn run_and_wait(gpu: &Gpu, nanos: u64) -> Result<(), DriverError> {
    let spin = gpu.kernel("spin")?;
    // SAFETY: `spin` takes one unsigned 64-bit integer.
    unsafe { gpu.stream.launch_builder(&spin).arg(&nanos).launch(LaunchConfig::for_num_elems(1))? };
    Ok(())
}
