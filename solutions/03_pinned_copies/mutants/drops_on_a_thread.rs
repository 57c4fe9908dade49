//! Has another thread drop the pinned memory after a while, which waits for nothing.

use std::time::Duration;

pub use pinned_copies_solution::{
    CustDownload, CustUpload, Download, download_async, download_async_cust, pipeline,
    upload_async_cust,
};
use streamlings::{CudaSlice, DriverError, Gpu};

pub struct Upload {
    pub on_device: CudaSlice<f32>,
}

pub fn upload_async(gpu: &Gpu, values: &[f32]) -> Result<Upload, DriverError> {
    let mut staging = gpu.pinned("staging", values.len())?;
    staging.write(values);
    let on_device = gpu.stream.clone_htod(&staging)?;
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        drop(staging);
    });
    Ok(Upload { on_device })
}
