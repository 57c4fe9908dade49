//! Waits for the stream, and then for the whole context once more.

pub use async_launch_solution::{Times, overlap_host_work, which_launch_failed};
use streamlings::{DriverError, Gpu};

pub fn enqueue_and_wait(gpu: &Gpu, nanos: u64) -> Result<Times, DriverError> {
    let times = async_launch_solution::enqueue_and_wait(gpu, nanos)?;
    gpu.context.synchronize()?;
    Ok(times)
}
