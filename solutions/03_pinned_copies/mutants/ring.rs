//! Right: a ring of buffers that calls use again, each when its last copy is over.

use std::sync::Mutex;

pub use pinned_copies_solution::{
    CustDownload, CustUpload, Download, download_async, download_async_cust, pipeline,
    upload_async_cust,
};
use streamlings::{CudaEvent, CudaSlice, DriverError, Gpu, Pinned};

/// So many buffers there are in the end.
const BUFFERS: usize = 3;

struct Slot {
    buffer: Pinned<f32>,
    len: usize,
    copied: CudaEvent,
}

static RING: Mutex<Vec<Slot>> = Mutex::new(Vec::new());

pub struct Upload {
    pub on_device: CudaSlice<f32>,
}

pub fn upload_async(gpu: &Gpu, values: &[f32]) -> Result<Upload, DriverError> {
    let mut ring = RING.lock().expect("nobody panics");
    let len = values.len();
    let mut slot = match ring.first() {
        Some(oldest) if ring.len() == BUFFERS && oldest.len >= len => {
            let slot = ring.remove(0);
            slot.copied.synchronize()?;
            slot
        }
        _ => {
            let buffer = gpu.pinned("slot", len)?;
            Slot { buffer, len, copied: gpu.context.new_event(None)? }
        }
    };
    slot.buffer.write(values);
    let mut on_device = gpu.stream.alloc_zeros(slot.len)?;
    gpu.stream.memcpy_htod(&slot.buffer, &mut on_device)?;
    slot.copied.record(&gpu.stream)?;
    ring.push(slot);
    Ok(Upload { on_device })
}
