//! Hands back what it never wrote, or writes it too late.

use std::time::Duration;

use std::sync::Arc;

use streamlings::cust::error::CudaResult;
use streamlings::cust::event::{Event, EventFlags};
use streamlings::cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use streamlings::cust::stream::Stream;
use streamlings::{CudaEvent, CudaSlice, CudaStream, DriverError, Gpu, Pinned, Step};

/// An upload that may still be under way.
pub struct Upload {
    /// Where the values are once `gpu.stream` has come past the copy.
    pub on_device: CudaSlice<f32>,
    /// Lives as long as the copy may read it.
    _staging: Pinned<f32>,
}

/// A thread starts the copy when this has returned.
pub fn upload_async(gpu: &Gpu, values: &[f32]) -> Result<Upload, DriverError> {
    let on_device = gpu.stream.alloc_zeros(values.len())?;
    let mut late = gpu.stream.alloc_zeros(values.len())?;
    let mut staging = gpu.pinned("staging", values.len())?;
    staging.write(values);
    let stream = Arc::clone(&gpu.stream);
    let values = values.to_vec();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(5));
        let _ = stream.memcpy_htod(&values, &mut late);
    });
    Ok(Upload { on_device, _staging: staging })
}

/// A download that may still be under way.
pub struct Download {
    target: Pinned<f32>,
    done: CudaEvent,
}

/// No copy at all: what the target holds is somebody's old answer, at best.
pub fn download_async(gpu: &Gpu, source: &CudaSlice<f32>) -> Result<Download, DriverError> {
    let target = gpu.pinned("target", source.len())?;
    let done = gpu.stream.record_event(None)?;
    Ok(Download { target, done })
}

impl Download {
    /// Waits for the copy and for nothing after it.
    pub fn wait(&self) -> Result<Vec<f32>, DriverError> {
        self.done.synchronize()?;
        Ok(self.target.read())
    }
}

/// What one batch at a time needs; the pipeline has two.
struct Slot {
    stream: Arc<CudaStream>,
    input: Pinned<f32>,
    output: Pinned<f32>,
    batch: CudaSlice<f32>,
    result: CudaSlice<f32>,
    /// Behind the last download.
    done: CudaEvent,
}

impl Slot {
    fn new(gpu: &Gpu, name: &str, len: usize) -> Result<Slot, DriverError> {
        let stream = gpu.new_stream(name)?;
        Ok(Slot {
            input: gpu.pinned(&format!("{name}.input"), len)?,
            output: gpu.pinned(&format!("{name}.output"), len)?,
            batch: stream.alloc_zeros(len)?,
            result: stream.alloc_zeros(len)?,
            done: gpu.context.new_event(None)?,
            stream,
        })
    }
}

/// Two slots take turns. A slot is used again once its own last download is done, while the other
/// slot's batch keeps the device busy.
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
        if index >= 2 {
            slot.done.synchronize()?;
            results.push(slot.output.read());
        }
        slot.input.write(batch);
        if index < 2 {
            slot.stream.memcpy_htod(&slot.input, &mut slot.batch)?;
        }
        step.launch(&slot.stream, &slot.batch, &mut slot.result)?;
        slot.stream.memcpy_dtoh(&slot.result, &mut slot.output)?;
        slot.done.record(&slot.stream)?;
    }
    for index in results.len()..batches.len() {
        let slot = &slots[index % 2];
        slot.done.synchronize()?;
        results.push(slot.output.read());
    }
    Ok(results)
}

/// An upload through cust that may still be under way.
pub struct CustUpload {
    /// Where the values are once the stream has come past the copy.
    pub on_device: DeviceBuffer<f32>,
    /// Lives as long as the copy may read it.
    _staging: LockedBuffer<f32>,
}

/// As [`upload_async`].
pub fn upload_async_cust(stream: &Stream, values: &[f32]) -> CudaResult<CustUpload> {
    let staging = LockedBuffer::from_slice(values)?;
    // SAFETY: nothing reads the memory before the copy on `stream` has written all of it, and the
    // upload keeps both sides of the copy.
    let on_device = unsafe {
        let on_device = DeviceBuffer::uninitialized_async(values.len(), stream)?;
        on_device
    };
    Ok(CustUpload { on_device, _staging: staging })
}

/// A download through cust that may still be under way.
pub struct CustDownload {
    target: LockedBuffer<f32>,
    done: Event,
}

/// As [`download_async`].
pub fn download_async_cust(
    stream: &Stream,
    source: &DeviceBuffer<f32>,
) -> CudaResult<CustDownload> {
    let mut target = LockedBuffer::new(&0.0, source.len())?;
    // SAFETY: the download keeps the target, and reads it once the copy is done.
    unsafe { source.async_copy_to(&mut target, stream)? };
    let done = Event::new(EventFlags::DISABLE_TIMING)?;
    done.record(stream)?;
    Ok(CustDownload { target, done })
}

impl CustDownload {
    /// Waits for the copy and for nothing after it.
    pub fn wait(&self) -> CudaResult<Vec<f32>> {
        self.done.synchronize()?;
        Ok(self.target.to_vec())
    }
}
