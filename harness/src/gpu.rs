//! The device as exercises get it: a context, a stream, and the kernels of this workspace.

use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaModule, CudaStream, DriverError, LaunchConfig,
};
use cudarc::nvrtc::Ptx;
use streamlings_kernels::{Args, Kernel};

/// A device, ready to launch kernels on.
#[derive(Clone)]
pub struct Gpu {
    /// The primary context of device 0.
    pub context: Arc<CudaContext>,
    /// A non-blocking stream, for exercises that need just one.
    pub stream: Arc<CudaStream>,
    module: Arc<CudaModule>,
}

impl Gpu {
    /// Opens device 0 and loads the kernels.
    ///
    /// # Errors
    /// The driver's own, where there is no device or the kernels cannot be loaded.
    pub fn new() -> Result<Gpu, DriverError> {
        let context = CudaContext::new(0)?;
        let stream = context.new_stream()?;
        let module = context.load_module(Ptx::from_src(streamlings_kernels::PTX))?;
        Ok(Gpu { context, stream, module })
    }

    /// A kernel of `kernels/`, by its name.
    ///
    /// # Errors
    /// CUDA_ERROR_NOT_FOUND where there is none of that name.
    pub fn kernel(&self, name: &str) -> Result<CudaFunction, DriverError> {
        self.module.load_function(name)
    }

    /// Another non-blocking stream.
    ///
    /// # Errors
    /// The driver's own.
    pub fn new_stream(&self) -> Result<Arc<CudaStream>, DriverError> {
        self.context.new_stream()
    }
}

/// How to launch a kernel of `kernels/` with these arguments: a word per parameter, pointers as any
/// word. For element-wise kernels [`LaunchConfig::for_num_elems`] does as well.
pub fn launch_config(kernel: &Kernel, arguments: &[u64]) -> LaunchConfig {
    let geometry = (kernel.launch)(&Args(arguments));
    let [x, y, z] = geometry.grid;
    let [bx, by, bz] = geometry.block;
    LaunchConfig { grid_dim: (x, y, z), block_dim: (bx, by, bz), shared_mem_bytes: 0 }
}
