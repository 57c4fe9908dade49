//! Works on the host before the device has anything to do.

pub use async_launch_solution::{enqueue_and_wait, which_launch_failed};
use streamlings::{DriverError, Gpu};

pub fn overlap_host_work<T>(
    gpu: &Gpu,
    nanos: u64,
    host_work: impl FnOnce() -> T,
) -> Result<T, DriverError> {
    let result = host_work();
    async_launch_solution::overlap_host_work(gpu, nanos, || ())?;
    Ok(result)
}
