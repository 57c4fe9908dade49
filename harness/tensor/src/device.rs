//! The one device that tensors live on.

use std::sync::{Arc, OnceLock};

use cudarc::driver::{CudaContext, CudaFunction};
use cudarc::nvrtc::Ptx;
use streamlings_kernels::{Kernel, PTX, TABLE};

use crate::allocator::Allocator;
use crate::error::{Error, Result};
use crate::host_cache::HostCache;
use crate::raw::{self, Arg};
use crate::stream::Stream;

/// Device 0 with a default stream, the kernels and the allocator: one for the process, which lives as
/// long as that does.
#[derive(Debug)]
pub struct Device {
    context: Arc<CudaContext>,
    default_stream: Stream,
    /// In the order of [`TABLE`].
    functions: Vec<CudaFunction>,
    allocator: Allocator,
    host_cache: HostCache,
}

impl Device {
    /// The process's device; the first call opens it and loads the kernels, which holds the host.
    ///
    /// # Errors
    /// [`Error::NoDevice`] where there is none, and the driver's own. It is tried once: the same
    /// error comes back each time.
    pub fn get() -> Result<&'static Device> {
        static DEVICE: OnceLock<Result<Device>> = OnceLock::new();
        DEVICE.get_or_init(Device::open).as_ref().map_err(Clone::clone)
    }

    fn open() -> Result<Device> {
        streamlings_driver::device().map_err(|error| Error::NoDevice(error.to_string()))?;
        let context = raw::untracked_context()?;
        let default_stream = Stream::from_cuda(context.new_stream()?, "default");
        let module = context.load_module(Ptx::from_src(PTX))?;
        let functions = TABLE
            .iter()
            .map(|kernel| module.load_function(kernel.name))
            .collect::<Result<Vec<_>, _>>()?;
        let allocator = Allocator::new(&context);
        let host_cache = HostCache::new(&context);
        Ok(Device { context, default_stream, functions, allocator, host_cache })
    }

    /// The primary context, with cudarc's event tracking off.
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// The stream on which operations run outside of any `with_stream`: a non-blocking one, called
    /// `default` in reports.
    pub fn default_stream(&self) -> &Stream {
        &self.default_stream
    }

    /// The allocator of every tensor's memory.
    pub fn allocator(&self) -> &Allocator {
        &self.allocator
    }

    pub(crate) fn host_cache(&self) -> &HostCache {
        &self.host_cache
    }

    /// Holds the host until the work of every stream is done.
    ///
    /// # Errors
    /// The driver's own, and those of the work.
    pub fn synchronize(&self) -> Result<()> {
        Ok(self.context.synchronize()?)
    }

    /// A kernel of `kernels/`, by its name, to be launched by other means than a tensor's.
    pub fn kernel(&self, name: &str) -> Option<(&'static Kernel, &CudaFunction)> {
        let index = TABLE.iter().position(|kernel| kernel.name == name)?;
        Some((&TABLE[index], &self.functions[index]))
    }

    /// Launches a kernel of the table.
    pub(crate) fn launch(&self, stream: &Stream, name: &'static str, args: &[Arg]) -> Result<()> {
        let (kernel, function) =
            self.kernel(name).ok_or(Error::Argument { kernel: name, argument: 0 })?;
        raw::launch(stream.cuda(), function, kernel, args)
    }
}

/// Keeps the current stream busy for some nanoseconds, as a long kernel does.
///
/// # Errors
/// The driver's own.
pub fn spin(nanoseconds: u64) -> Result<()> {
    let stream = crate::current_stream()?;
    Device::get()?.launch(&stream, "spin", &[Arg::U64(nanoseconds)])
}
