//! Records the event before the copy, so that it says nothing of it.

pub use pinned_copies_solution::{
    CustDownload, CustUpload, Upload, download_async_cust, pipeline, upload_async,
    upload_async_cust,
};
use streamlings::{CudaEvent, CudaSlice, DriverError, Gpu, Pinned};

pub struct Download {
    target: Pinned<f32>,
    done: CudaEvent,
}

pub fn download_async(gpu: &Gpu, source: &CudaSlice<f32>) -> Result<Download, DriverError> {
    let mut target = gpu.pinned("target", source.len())?;
    let done = gpu.stream.record_event(None)?;
    gpu.stream.memcpy_dtoh(source, &mut target)?;
    Ok(Download { target, done })
}

impl Download {
    pub fn wait(&self) -> Result<Vec<f32>, DriverError> {
        self.done.synchronize()?;
        Ok(self.target.read())
    }
}
