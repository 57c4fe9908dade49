//! Knows that something failed, and guesses.

pub use async_launch_solution::{enqueue_and_wait, overlap_host_work};
use streamlings::{DriverError, Gpu};

pub fn which_launch_failed(gpu: &Gpu, targets: &[u64]) -> Result<Option<usize>, DriverError> {
    async_launch_solution::which_launch_failed(gpu, targets)?;
    Ok(Some(0))
}
