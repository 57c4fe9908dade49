//! Copies from and to pageable memory, in cust, whose async copies take it as well.

pub use pinned_copies_solution::{Download, Upload, download_async, pipeline, upload_async};
use streamlings::cust::error::CudaResult;
use streamlings::cust::memory::{AsyncCopyDestination, DeviceBuffer};
use streamlings::cust::stream::Stream;

pub struct CustUpload {
    pub on_device: DeviceBuffer<f32>,
    _staging: Vec<f32>,
}

pub fn upload_async_cust(stream: &Stream, values: &[f32]) -> CudaResult<CustUpload> {
    let staging = values.to_vec();
    // SAFETY: the upload keeps both sides of the copy.
    let on_device = unsafe {
        let mut on_device = DeviceBuffer::uninitialized_async(values.len(), stream)?;
        on_device.async_copy_from(&staging, stream)?;
        on_device
    };
    Ok(CustUpload { on_device, _staging: staging })
}

pub struct CustDownload {
    target: Vec<f32>,
}

pub fn download_async_cust(
    stream: &Stream,
    source: &DeviceBuffer<f32>,
) -> CudaResult<CustDownload> {
    let mut target = vec![0.0; source.len()];
    // SAFETY: the copy is over when the call returns: its target is pageable.
    unsafe { source.async_copy_to(&mut target, stream)? };
    Ok(CustDownload { target })
}

impl CustDownload {
    pub fn wait(&self) -> CudaResult<Vec<f32>> {
        Ok(self.target.clone())
    }
}
