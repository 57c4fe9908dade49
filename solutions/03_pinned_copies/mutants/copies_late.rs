//! Copies when the values are asked for.

use std::sync::Arc;

pub use pinned_copies_solution::{
    CustDownload, CustUpload, Upload, download_async_cust, pipeline, upload_async,
    upload_async_cust,
};
use streamlings::{CudaSlice, CudaStream, DriverError, Gpu};

pub struct Download {
    copy: CudaSlice<f32>,
    stream: Arc<CudaStream>,
}

pub fn download_async(gpu: &Gpu, source: &CudaSlice<f32>) -> Result<Download, DriverError> {
    let copy = gpu.stream.clone_dtod(source)?;
    Ok(Download { copy, stream: gpu.stream.clone() })
}

impl Download {
    pub fn wait(&self) -> Result<Vec<f32>, DriverError> {
        self.stream.clone_dtoh(&self.copy)
    }
}
