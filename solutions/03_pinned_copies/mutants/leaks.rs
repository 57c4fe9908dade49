//! Leaks the pinned memory, so that it outlives the copy.

use std::mem::forget;

pub use pinned_copies_solution::{Download, CustDownload, download_async, download_async_cust};
use streamlings::cust::error::CudaResult;
use streamlings::cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use streamlings::cust::stream::Stream;
use streamlings::{CudaSlice, DriverError, Gpu, Step};

pub struct Upload {
    pub on_device: CudaSlice<f32>,
}

pub fn upload_async(gpu: &Gpu, values: &[f32]) -> Result<Upload, DriverError> {
    let mut staging = gpu.pinned("staging", values.len())?;
    staging.write(values);
    let on_device = gpu.stream.clone_htod(&staging)?;
    forget(staging);
    Ok(Upload { on_device })
}

pub struct CustUpload {
    pub on_device: DeviceBuffer<f32>,
}

pub fn upload_async_cust(stream: &Stream, values: &[f32]) -> CudaResult<CustUpload> {
    let staging = LockedBuffer::from_slice(values)?;
    // SAFETY: nothing reads the memory before the copy has written all of it, and the staging memory
    // lives for ever.
    let on_device = unsafe {
        let mut on_device = DeviceBuffer::uninitialized_async(values.len(), stream)?;
        on_device.async_copy_from(&staging, stream)?;
        on_device
    };
    forget(staging);
    Ok(CustUpload { on_device })
}

pub fn pipeline(
    gpu: &Gpu,
    step: &mut Step,
    batches: &[Vec<f32>],
) -> Result<Vec<Vec<f32>>, DriverError> {
    forget(gpu.pinned::<f32>("spare", batches[0].len())?);
    pinned_copies_solution::pipeline(gpu, step, batches)
}
