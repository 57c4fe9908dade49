//! Has one pinned buffer for the uploads of both slots, and refills it at once.

use std::sync::Arc;

pub use pinned_copies_solution::{
    CustDownload, CustUpload, Download, Upload, download_async, download_async_cust, upload_async,
    upload_async_cust,
};
use streamlings::{CudaEvent, CudaSlice, CudaStream, DriverError, Gpu, Pinned, Step};

struct Slot {
    stream: Arc<CudaStream>,
    output: Pinned<f32>,
    batch: CudaSlice<f32>,
    result: CudaSlice<f32>,
    done: CudaEvent,
}

impl Slot {
    fn new(gpu: &Gpu, name: &str, len: usize) -> Result<Slot, DriverError> {
        let stream = gpu.new_stream(name)?;
        Ok(Slot {
            output: gpu.pinned(&format!("{name}.output"), len)?,
            batch: stream.alloc_zeros(len)?,
            result: stream.alloc_zeros(len)?,
            done: gpu.context.new_event(None)?,
            stream,
        })
    }
}

pub fn pipeline(
    gpu: &Gpu,
    step: &mut Step,
    batches: &[Vec<f32>],
) -> Result<Vec<Vec<f32>>, DriverError> {
    let len = batches.first().map_or(0, Vec::len);
    let mut slots = [Slot::new(gpu, "even", len)?, Slot::new(gpu, "odd", len)?];
    let mut input = gpu.pinned("input", len)?;
    let mut results = Vec::new();

    for (index, batch) in batches.iter().enumerate() {
        let slot = &mut slots[index % 2];
        if index >= 2 {
            slot.done.synchronize()?;
            results.push(slot.output.read());
        }
        input.write(batch);
        slot.stream.memcpy_htod(&input, &mut slot.batch)?;
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
