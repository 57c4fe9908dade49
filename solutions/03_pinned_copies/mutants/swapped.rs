//! Returns the last two results in the wrong order.

pub use pinned_copies_solution::{
    CustDownload, CustUpload, Download, Upload, download_async, download_async_cust, upload_async,
    upload_async_cust,
};
use streamlings::{DriverError, Gpu, Step};

pub fn pipeline(
    gpu: &Gpu,
    step: &mut Step,
    batches: &[Vec<f32>],
) -> Result<Vec<Vec<f32>>, DriverError> {
    let mut results = pinned_copies_solution::pipeline(gpu, step, batches)?;
    let last = results.len() - 1;
    results.swap(last - 1, last);
    Ok(results)
}
