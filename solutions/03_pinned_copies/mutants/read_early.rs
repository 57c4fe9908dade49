//! Reads the last results without waiting for them.

#[expect(clippy::duplicate_mod, reason = "each mutant has its own")]
#[path = "parts/slot.rs"]
mod slot;

pub use pinned_copies_solution::{
    CustDownload, CustUpload, Download, Upload, download_async, download_async_cust, upload_async,
    upload_async_cust,
};
use streamlings::{DriverError, Gpu, Step};

use self::slot::Slot;

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
        slot.stream.memcpy_htod(&slot.input, &mut slot.batch)?;
        step.launch(&slot.stream, &slot.batch, &mut slot.result)?;
        slot.stream.memcpy_dtoh(&slot.result, &mut slot.output)?;
        slot.done.record(&slot.stream)?;
    }
    for index in results.len()..batches.len() {
        let slot = &slots[index % 2];
        results.push(slot.output.read());
    }
    Ok(results)
}
