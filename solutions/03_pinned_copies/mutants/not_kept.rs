//! Drops the pinned memory while its upload waits in the stream.

pub use pinned_copies_solution::{
    CustDownload, Download, download_async, download_async_cust, pipeline,
};
use streamlings::cust::error::CudaResult;
use streamlings::cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use streamlings::cust::stream::Stream;
use streamlings::{CudaSlice, DriverError, Gpu};

pub struct Upload {
    pub on_device: CudaSlice<f32>,
}

pub fn upload_async(gpu: &Gpu, values: &[f32]) -> Result<Upload, DriverError> {
    let mut staging = gpu.pinned("staging", values.len())?;
    staging.write(values);
    let on_device = gpu.stream.clone_htod(&staging)?;
    Ok(Upload { on_device })
}

pub struct CustUpload {
    pub on_device: DeviceBuffer<f32>,
}

pub fn upload_async_cust(stream: &Stream, values: &[f32]) -> CudaResult<CustUpload> {
    let staging = LockedBuffer::from_slice(values)?;
    // SAFETY: none; this is the mistake.
    let on_device = unsafe {
        let mut on_device = DeviceBuffer::uninitialized_async(values.len(), stream)?;
        on_device.async_copy_from(&staging, stream)?;
        on_device
    };
    Ok(CustUpload { on_device })
}
