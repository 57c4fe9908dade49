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
        streamlings_driver::recording::name_stream(stream.cu_stream() as usize, "gpu.stream");
        let module = context.load_module(Ptx::from_src(streamlings_kernels::PTX))?;
        Ok(Gpu { context, stream, module })
    }

    /// A kernel of `kernels/`, by its name.
    ///
    /// # Errors
    /// CUDA_ERROR_NOT_FOUND where there is none of that name; one line on standard error then says which
    /// comes nearest.
    pub fn kernel(&self, name: &str) -> Result<CudaFunction, DriverError> {
        if streamlings_kernels::find(name).is_none() {
            eprintln!("streamlings: {}", no_such_kernel(name));
        }
        self.module.load_function(name)
    }

    /// Another non-blocking stream, under the name that the grader's reports give it.
    ///
    /// # Errors
    /// The driver's own.
    pub fn new_stream(&self, name: &str) -> Result<Arc<CudaStream>, DriverError> {
        let stream = self.context.new_stream()?;
        streamlings_driver::recording::name_stream(stream.cu_stream() as usize, name);
        Ok(stream)
    }

    /// The device's peak rate in single precision, in operations a second, from its clock and its
    /// multiprocessors; `None` for a generation whose width is not known here.
    ///
    /// # Errors
    /// The driver's own.
    pub fn peak_flops(&self) -> Result<Option<f64>, DriverError> {
        use cudarc::driver::sys::CUdevice_attribute as Attribute;
        let (major, minor) = self.context.compute_capability()?;
        // Single-precision lanes of a multiprocessor: CUDA C++ Programming Guide, table "Throughput of
        // native arithmetic instructions",
        // https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#arithmetic-instructions
        let lanes = match (major, minor) {
            (6, 0) | (7, _) | (8, 0) => 64.0,
            (5, _) | (6, _) | (8..=12, _) => 128.0,
            _ => return Ok(None),
        };
        let count = self.context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        let kilohertz = self.context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?;
        // A fused multiply-add counts as two.
        Ok(Some(2.0 * lanes * f64::from(count) * f64::from(kilohertz) * 1e3))
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

/// What there is instead of a kernel whose name was misspelt.
fn no_such_kernel(name: &str) -> String {
    let nearness = |kernel: &&Kernel| strsim::jaro_winkler(name, kernel.name);
    let nearest = streamlings_kernels::TABLE
        .iter()
        .max_by(|one, other| nearness(one).total_cmp(&nearness(other)));
    let nearest =
        nearest.map_or_else(String::new, |kernel| format!(", the nearest is `{}`", kernel.name));
    format!("no kernel is called `{name}`{nearest}")
}

#[cfg(test)]
mod tests {
    use super::no_such_kernel;

    #[test]
    fn a_misspelt_kernel_is_told_with_the_nearest_name() {
        assert_eq!(no_such_kernel("spinn"), "no kernel is called `spinn`, the nearest is `spin`");
        assert_eq!(
            no_such_kernel("matmull"),
            "no kernel is called `matmull`, the nearest is `matmul`"
        );
    }
}
