//! Right: other host threads fill, wait, read and drop, and their caller knows of it.

#[expect(clippy::duplicate_mod, reason = "each mutant has its own")]
#[path = "parts/slot.rs"]
mod slot;

use std::sync::mpsc::channel;
use std::thread::{scope, spawn};

pub use pinned_copies_solution::{
    CustDownload, CustUpload, download_async_cust, upload_async_cust,
};
use streamlings::{CudaEvent, CudaSlice, DriverError, Gpu, Pinned, Step};

use self::slot::Slot;

pub struct Upload {
    pub on_device: CudaSlice<f32>,
}

/// Another thread fills the memory, and a third one drops it behind the copy.
pub fn upload_async(gpu: &Gpu, values: &[f32]) -> Result<Upload, DriverError> {
    let mut staging = gpu.pinned("staging", values.len())?;
    scope(|scope| {
        scope.spawn(|| staging.write(values));
    });
    let on_device = gpu.stream.clone_htod(&staging)?;
    let copied = gpu.stream.record_event(None)?;
    spawn(move || {
        if copied.synchronize().is_ok() {
            drop(staging);
        }
    });
    Ok(Upload { on_device })
}

pub struct Download {
    target: Pinned<f32>,
    done: CudaEvent,
}

pub fn download_async(gpu: &Gpu, source: &CudaSlice<f32>) -> Result<Download, DriverError> {
    let mut target = gpu.pinned("target", source.len())?;
    gpu.stream.memcpy_dtoh(source, &mut target)?;
    Ok(Download { target, done: gpu.stream.record_event(None)? })
}

impl Download {
    /// One thread waits, another one reads.
    pub fn wait(&self) -> Result<Vec<f32>, DriverError> {
        scope(|scope| scope.spawn(|| self.done.synchronize()).join().expect("it does not panic"))?;
        Ok(self.target.read())
    }
}

/// A reader on a thread of its own waits for each batch, and sends its slot back through a channel.
pub fn pipeline(
    gpu: &Gpu,
    step: &mut Step,
    batches: &[Vec<f32>],
) -> Result<Vec<Vec<f32>>, DriverError> {
    let len = batches.first().map_or(0, Vec::len);
    let (free, frees) = channel();
    for name in ["even", "odd"] {
        let _ = free.send(Slot::new(gpu, name, len)?);
    }
    let (full, fulls) = channel::<Slot>();
    scope(|scope| {
        let reader = scope.spawn(move || -> Result<Vec<Vec<f32>>, DriverError> {
            let mut results = Vec::new();
            for slot in fulls {
                slot.done.synchronize()?;
                results.push(slot.output.read());
                // Nobody takes it any more at the end.
                let _ = free.send(slot);
            }
            Ok(results)
        });
        for batch in batches {
            let Ok(mut slot) = frees.recv() else { break };
            slot.input.write(batch);
            slot.stream.memcpy_htod(&slot.input, &mut slot.batch)?;
            step.launch(&slot.stream, &slot.batch, &mut slot.result)?;
            slot.stream.memcpy_dtoh(&slot.result, &mut slot.output)?;
            slot.done.record(&slot.stream)?;
            let _ = full.send(slot);
        }
        drop(full);
        reader.join().expect("it does not panic")
    })
}
