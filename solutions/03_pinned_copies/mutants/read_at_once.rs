//! Reads the target of a download without waiting for anything.

pub use pinned_copies_solution::{CustUpload, Upload, pipeline, upload_async, upload_async_cust};
use streamlings::cust::error::CudaResult;
use streamlings::cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use streamlings::cust::stream::Stream;
use streamlings::{CudaSlice, DriverError, Gpu, Pinned};

pub struct Download {
    target: Pinned<f32>,
}

pub fn download_async(gpu: &Gpu, source: &CudaSlice<f32>) -> Result<Download, DriverError> {
    let mut target = gpu.pinned("target", source.len())?;
    gpu.stream.memcpy_dtoh(source, &mut target)?;
    Ok(Download { target })
}

impl Download {
    pub fn wait(&self) -> Result<Vec<f32>, DriverError> {
        Ok(self.target.read())
    }
}

pub struct CustDownload {
    target: LockedBuffer<f32>,
}

pub fn download_async_cust(
    stream: &Stream,
    source: &DeviceBuffer<f32>,
) -> CudaResult<CustDownload> {
    let mut target = LockedBuffer::new(&0.0, source.len())?;
    // SAFETY: none; this is the mistake.
    unsafe { source.async_copy_to(&mut target, stream)? };
    Ok(CustDownload { target })
}

impl CustDownload {
    pub fn wait(&self) -> CudaResult<Vec<f32>> {
        Ok(self.target.to_vec())
    }
}
