//! Waits for the whole stream where the copy would do.

use std::sync::Arc;

pub use pinned_copies_solution::{
    CustDownload, CustUpload, Upload, download_async_cust, pipeline, upload_async,
    upload_async_cust,
};
use streamlings::{CudaSlice, CudaStream, DriverError, Gpu, Pinned};

pub struct Download {
    target: Pinned<f32>,
    stream: Arc<CudaStream>,
}

pub fn download_async(gpu: &Gpu, source: &CudaSlice<f32>) -> Result<Download, DriverError> {
    let mut target = gpu.pinned("target", source.len())?;
    gpu.stream.memcpy_dtoh(source, &mut target)?;
    Ok(Download { target, stream: gpu.stream.clone() })
}

impl Download {
    pub fn wait(&self) -> Result<Vec<f32>, DriverError> {
        self.stream.synchronize()?;
        Ok(self.target.read())
    }
}
