//! Has another thread wait for the copy before the function returns.

use pinned_copies_solution as solution;
pub use pinned_copies_solution::{
    CustDownload, CustUpload, Download, Upload, download_async_cust, pipeline, upload_async_cust,
};
use streamlings::{CudaSlice, DriverError, Gpu};

fn wait(gpu: &Gpu) -> Result<(), DriverError> {
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| gpu.stream.synchronize());
        waits.join().expect("it does not panic")
    })
}

pub fn upload_async(gpu: &Gpu, values: &[f32]) -> Result<Upload, DriverError> {
    let upload = solution::upload_async(gpu, values)?;
    wait(gpu)?;
    Ok(upload)
}

pub fn download_async(gpu: &Gpu, source: &CudaSlice<f32>) -> Result<Download, DriverError> {
    let download = solution::download_async(gpu, source)?;
    wait(gpu)?;
    Ok(download)
}
