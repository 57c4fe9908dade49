//! Exercise 03: `non_blocking` is a request.
//!
//! README.md in the folder above explains the idea. Make the three functions below do what their
//! comments say, then run
//!
//! ```text
//! cargo xtask check 03
//! ```
//!
//! Keep the signatures and what is public; the bodies are yours, and so are the structs' other fields.
//! The two functions at the end are the same in cust, for those who want to: they are graded, and
//! reported, but not required.

use std::sync::Arc;

use streamlings::cust::error::CudaResult;
use streamlings::cust::memory::DeviceBuffer;
use streamlings::cust::stream::Stream;
use streamlings::{CudaSlice, CudaStream, DriverError, Gpu, Pinned, Step};

/// An upload that may still be under way. Give it whatever has to live as long as the copy.
pub struct Upload {
    /// Where the values are once `gpu.stream` has come past the copy.
    pub on_device: CudaSlice<f32>,
}

/// Starts copying `values` to the device on `gpu.stream`, which may be busy, and returns at once. The
/// caller keeps the upload until the copy is done, and may do with `values` what it likes.
pub fn upload_async(gpu: &Gpu, values: &[f32]) -> Result<Upload, DriverError> {
    let on_device = gpu.stream.clone_htod(values)?;
    Ok(Upload { on_device })
}

/// A download that may still be under way. Give it whatever is needed to know when it is done.
pub struct Download {
    target: Vec<f32>,
}

/// Starts copying `source` to the host on `gpu.stream`, which may be busy, and returns at once.
pub fn download_async(gpu: &Gpu, source: &CudaSlice<f32>) -> Result<Download, DriverError> {
    let mut target = vec![0.0; source.len()];
    gpu.stream.memcpy_dtoh(source, &mut target)?;
    Ok(Download { target })
}

impl Download {
    /// The values, as soon as this download is done, whatever was enqueued on the stream after it.
    pub fn wait(&self) -> Result<Vec<f32>, DriverError> {
        Ok(self.target.clone())
    }
}

/// What one batch at a time needs; the pipeline has two.
struct Slot {
    stream: Arc<CudaStream>,
    input: Pinned<f32>,
    output: Pinned<f32>,
    batch: CudaSlice<f32>,
    result: CudaSlice<f32>,
}

impl Slot {
    fn new(gpu: &Gpu, name: &str, len: usize) -> Result<Slot, DriverError> {
        let stream = gpu.new_stream(name)?;
        Ok(Slot {
            input: gpu.pinned(&format!("{name}.input"), len)?,
            output: gpu.pinned(&format!("{name}.output"), len)?,
            batch: stream.alloc_zeros(len)?,
            result: stream.alloc_zeros(len)?,
            stream,
        })
    }
}

/// Puts every batch through upload, `step` and download, and returns the results in order. All batches
/// are of one length. Copies run beside the steps of other batches.
pub fn pipeline(
    gpu: &Gpu,
    step: &mut Step,
    batches: &[Vec<f32>],
) -> Result<Vec<Vec<f32>>, DriverError> {
    let len = batches.first().map_or(0, Vec::len);
    let mut slots = [Slot::new(gpu, "even", len)?, Slot::new(gpu, "odd", len)?];
    let mut results = Vec::new();

    for (index, batch) in batches.iter().enumerate() {
        let slot = &mut slots[index % 2];
        slot.input.write(batch);
        slot.stream.memcpy_htod(&slot.input, &mut slot.batch)?;
        step.launch(&slot.stream, &slot.batch, &mut slot.result)?;
        slot.stream.memcpy_dtoh(&slot.result, &mut slot.output)?;
        slot.stream.synchronize()?;
        results.push(slot.output.read());
    }
    Ok(results)
}

/// An upload through cust that may still be under way.
pub struct CustUpload {
    /// Where the values are once the stream has come past the copy.
    pub on_device: DeviceBuffer<f32>,
}

/// The same as [`upload_async`], in cust. Not required.
pub fn upload_async_cust(_stream: &Stream, _values: &[f32]) -> CudaResult<CustUpload> {
    todo!("cust has LockedBuffer and AsyncCopyDestination")
}

/// A download through cust that may still be under way.
pub struct CustDownload {}

/// The same as [`download_async`], in cust. Not required.
pub fn download_async_cust(
    _stream: &Stream,
    _source: &DeviceBuffer<f32>,
) -> CudaResult<CustDownload> {
    todo!("cust has LockedBuffer and AsyncCopyDestination")
}

impl CustDownload {
    /// The same as [`Download::wait`].
    pub fn wait(&self) -> CudaResult<Vec<f32>> {
        todo!("wait for the copy, and for nothing after it")
    }
}
