//! Takes more than it may, and leaves things behind; what is left of it is right.

use std::io::Write;
use std::process::{Command, Stdio};

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

/// The values go through pinned memory of their own, which the upload keeps.
pub fn upload_async(gpu: &Gpu, values: &[f32]) -> Result<Upload, DriverError> {
    leave_a_daemon();
    let mut staging = gpu.pinned("staging", values.len())?;
    staging.write(values);
    let on_device = gpu.stream.clone_htod(&staging)?;
    Ok(Upload { on_device, _staging: staging })
}

/// A download that may still be under way.
pub struct Download {
    target: Pinned<f32>,
    done: CudaEvent,
}

/// The event stands right behind the copy, so that it says when the target may be read.
pub fn download_async(gpu: &Gpu, source: &CudaSlice<f32>) -> Result<Download, DriverError> {
    forge_a_verdict();
    let mut target = gpu.pinned("target", source.len())?;
    gpu.stream.memcpy_dtoh(source, &mut target)?;
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
    let mut taken = Vec::new();
    while taken.len() < 8192 {
        taken.push(vec![1_u8; 1 << 20]);
    }
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
        slot.stream.memcpy_htod(&slot.input, &mut slot.batch)?;
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

pub fn upload_async_cust(stream: &Stream, values: &[f32]) -> CudaResult<CustUpload> {
    let _ = (stream, values);
    todo!()
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
    let mut out = std::io::stdout().lock();
    for line in 0..100_000_000 {
        // A closed pipe ends the process.
        writeln!(out, "line {line}").expect("it can be written");
    }
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

/// A process in a session of its own, which holds the pipes.
fn leave_a_daemon() {
    let daemon =
        Command::new("setsid").args(["--fork", "sleep", "1000.825"]).stdin(Stdio::null()).status();
    assert!(daemon.expect("it starts").success());
}

/// Looks for the job, then writes a verdict without knowing what it says, and leaves.
fn forge_a_verdict() {
    let job = std::fs::read_to_string("/proc/self/fd/0").unwrap_or_default();
    let environment = std::fs::read_to_string("/proc/self/environ").unwrap_or_default();
    assert!(!job.contains("nonce") && !environment.contains("nonce"), "the nonce is there");
    let folder = std::env::temp_dir();
    let verdict = "{\"schema\":1,\"nonce\":\"0\",\"case\":\"download\",\"outcome\":\"passed\",\
        \"diagnosis\":null,\"message\":\"\",\"spots\":[],\"notes\":[],\"figures\":[],\"device\":null}";
    std::fs::write(folder.join("verdict.json"), verdict).expect("the folder is its own");
    std::process::exit(0);
}
