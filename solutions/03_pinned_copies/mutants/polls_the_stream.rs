//! Asks for the end of all that is on the stream, and not of the copy.

pub use pinned_copies_solution::{
    CustDownload, CustUpload, Upload, download_async_cust, pipeline, upload_async, upload_async_cust,
};
use streamlings::cudarc::driver::sys::{CUresult, cuStreamQuery};
use streamlings::{CudaSlice, DriverError, Gpu, Pinned};

pub struct Download {
    target: Pinned<f32>,
    gpu: Gpu,
}

pub fn download_async(gpu: &Gpu, source: &CudaSlice<f32>) -> Result<Download, DriverError> {
    let mut target = gpu.pinned("target", source.len())?;
    gpu.stream.memcpy_dtoh(source, &mut target)?;
    Ok(Download { target, gpu: gpu.clone() })
}

impl Download {
    pub fn wait(&self) -> Result<Vec<f32>, DriverError> {
        // SAFETY: the stream is alive.
        while unsafe { cuStreamQuery(self.gpu.stream.cu_stream()) } != CUresult::CUDA_SUCCESS {}
        Ok(self.target.read())
    }
}
