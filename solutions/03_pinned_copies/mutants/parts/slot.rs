//! The solution's slot, for mutants that use it otherwise.

use std::sync::Arc;

use streamlings::{CudaEvent, CudaSlice, CudaStream, DriverError, Gpu, Pinned};

/// What one batch at a time needs.
pub struct Slot {
    pub stream: Arc<CudaStream>,
    pub input: Pinned<f32>,
    pub output: Pinned<f32>,
    pub batch: CudaSlice<f32>,
    pub result: CudaSlice<f32>,
    pub done: CudaEvent,
}

impl Slot {
    pub fn new(gpu: &Gpu, name: &str, len: usize) -> Result<Slot, DriverError> {
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
