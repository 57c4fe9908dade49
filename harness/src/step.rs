//! What the device does with a batch.

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, DevicePtrMut, DriverError, LaunchConfig, PushKernelArg,
};

use crate::Gpu;

/// A computation on one batch: `result[i] = batch[i] · factor`, and as long a time as it was made for.
///
/// Steps run one after another, whatever streams they are launched on, as if each needed the whole
/// device; copies run beside them.
pub struct Step {
    factor: f32,
    nanos: u64,
    scale: CudaFunction,
    spin: CudaFunction,
    /// Stands for the model: each step waits for the one before to be done with it.
    model: CudaSlice<f32>,
}

impl Step {
    /// A step that takes about as long as `takes`.
    ///
    /// # Errors
    /// The driver's own.
    pub fn new(gpu: &Gpu, factor: f32, takes: Duration) -> Result<Step, DriverError> {
        let nanos = u64::try_from(takes.as_nanos()).unwrap_or(u64::MAX);
        let (scale, spin) = (gpu.kernel("scale")?, gpu.kernel("spin")?);
        let mut step = Step { factor, nanos: 0, scale, spin, model: gpu.stream.alloc_zeros(1)? };
        // A kernel's first launch takes longer than the others.
        let (batch, mut result) = (gpu.stream.alloc_zeros(1)?, gpu.stream.alloc_zeros(1)?);
        step.launch(&gpu.stream, &batch, &mut result)?;
        gpu.stream.synchronize()?;
        step.nanos = nanos;
        Ok(step)
    }

    /// Launches the step on a stream; returns as soon as its launches do.
    ///
    /// # Errors
    /// The driver's own.
    pub fn launch(
        &mut self,
        stream: &Arc<CudaStream>,
        batch: &CudaSlice<f32>,
        result: &mut CudaSlice<f32>,
    ) -> Result<(), DriverError> {
        let elements = batch.len().min(result.len()) as u32;
        // Waits for the step before, and until it is dropped the next one waits for this.
        let (_, _in_use) = self.model.device_ptr_mut(stream);
        #[expect(unsafe_code, reason = "a launch is unsafe in cudarc")]
        // SAFETY: the arguments are those of `scale`, whose two arrays have that many elements, and of
        // `spin`.
        unsafe {
            let mut scale = stream.launch_builder(&self.scale);
            scale.arg(result).arg(batch).arg(&self.factor).arg(&elements);
            scale.launch(LaunchConfig::for_num_elems(elements))?;
            let mut spin = stream.launch_builder(&self.spin);
            spin.arg(&self.nanos).launch(LaunchConfig::for_num_elems(1))?;
        }
        Ok(())
    }
}
