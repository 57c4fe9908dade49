//! What the programs share: a device with its kernels on both crates, names for what they make, and
//! page-locked memory whose uses by the host are in the record.

use std::error::Error;
use std::ffi::c_void;
use std::sync::Arc;

use cust::memory::{DeviceBuffer, DeviceCopy, LockedBuffer};
use cust::stream::{Stream, StreamFlags};
use streamlings::cudarc::driver::{DevicePtr, result, sys};
use streamlings::driver::recording;
use streamlings::trace::{MarkKind, Range};
use streamlings::{CudaFunction, CudaSlice, CudaStream, Gpu, LaunchConfig, PushKernelArg};

use crate::Outcome;

/// Elements of a buffer.
pub const N: usize = 4096;

/// Blocks of 128 threads that have as many.
const BLOCKS: u32 = (N / 128) as u32;

/// The device as the programs get it.
pub struct Lab {
    pub gpu: Gpu,
    spin: CudaFunction,
    scale: CudaFunction,
    cust_module: cust::module::Module,
    _cust: cust::context::Context,
}

impl Lab {
    pub fn new() -> Result<Lab, Box<dyn Error>> {
        // First, because it sets flags of the context that both crates share.
        let context = cust::quick_init()?;
        let gpu = Gpu::new()?;
        Ok(Lab {
            spin: gpu.kernel("spin")?,
            scale: gpu.kernel("scale")?,
            cust_module: cust::module::Module::from_ptx(streamlings::kernels::PTX, &[])?,
            gpu,
            _cust: context,
        })
    }

    /// Keeps a stream busy.
    pub fn spin(&self, stream: &CudaStream, milliseconds: u64) -> Outcome {
        let nanos = milliseconds * 1_000_000;
        // SAFETY: `spin` takes one unsigned 64-bit integer.
        unsafe { stream.launch_builder(&self.spin).arg(&nanos).launch(one())? };
        Ok(())
    }

    /// `y` = 2 `x`.
    pub fn scale(
        &self,
        stream: &CudaStream,
        y: &mut CudaSlice<f32>,
        x: &CudaSlice<f32>,
    ) -> Outcome {
        let n = y.len().min(x.len()) as u32;
        let config = LaunchConfig::for_num_elems(n);
        let mut launch = stream.launch_builder(&self.scale);
        launch.arg(y).arg(x).arg(&2.0_f32).arg(&n);
        // SAFETY: `scale` reads and writes `n` floats, and both have as many.
        unsafe { launch.launch(config)? };
        Ok(())
    }

    /// Keeps a stream of cust's busy.
    pub fn cust_spin(&self, stream: &Stream, milliseconds: u64) -> Outcome {
        self.cust_launch(stream.as_inner().cast(), "spin", 1, &mut [milliseconds * 1_000_000])
    }

    /// `y` = 2 `x`, on cust.
    pub fn cust_scale(
        &self,
        stream: &Stream,
        y: &DeviceBuffer<f32>,
        x: &DeviceBuffer<f32>,
    ) -> Outcome {
        let [y, x] = [y, x].map(|buffer| buffer.as_device_ptr().as_raw());
        let args = &mut [y, x, u64::from(2.0_f32.to_bits()), N as u64];
        self.cust_launch(stream.as_inner().cast(), "scale", BLOCKS, args)
    }

    /// `out` = `x` + `y`, on cust's buffers.
    pub fn cust_add(
        &self,
        stream: sys::CUstream,
        out: &DeviceBuffer<f32>,
        [x, y]: [&DeviceBuffer<f32>; 2],
    ) -> Outcome {
        let [out, x, y] = [out, x, y].map(|buffer| buffer.as_device_ptr().as_raw());
        self.cust_launch(stream, "add", BLOCKS, &mut [out, x, y, N as u64])
    }

    fn cust_launch(
        &self,
        stream: sys::CUstream,
        kernel: &str,
        blocks: u32,
        args: &mut [u64],
    ) -> Outcome {
        let function = self.cust_module.get_function(kernel)?;
        let mut params: Vec<*mut c_void> =
            args.iter_mut().map(|arg| std::ptr::from_mut(arg).cast()).collect();
        // SAFETY: the kernel's arguments, buffers of `N` floats; a word each, which is at least what any
        // parameter takes.
        let launched = unsafe {
            sys::cuLaunchKernel(
                function.to_raw().cast(),
                blocks,
                1,
                1,
                128,
                1,
                1,
                0,
                stream,
                params.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        Ok(launched.result()?)
    }
}

fn one() -> LaunchConfig {
    LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 }
}

/// A stream of cust's, asked for as non-blocking.
pub fn cust_stream(name: &str) -> Result<Stream, Box<dyn Error>> {
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    recording::name_stream(stream.as_inner() as usize, name);
    Ok(stream)
}

/// A non-blocking stream by the bare API, which is the only way to have one beside cust.
pub struct RawStream(pub sys::CUstream);

impl RawStream {
    pub fn new(name: &str) -> Result<RawStream, Box<dyn Error>> {
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking)?;
        recording::name_stream(stream as usize, name);
        Ok(RawStream(stream))
    }
}

impl Drop for RawStream {
    fn drop(&mut self) {
        // SAFETY: made above, and not destroyed elsewhere.
        let _ = unsafe { result::stream::destroy(self.0) };
    }
}

/// Gives memory a name in the reports.
fn name(name: &str, start: u64, bytes: usize) {
    let range = Range::new(start, bytes as u64);
    recording::mark(MarkKind::NameBuffer { range, name: name.into() });
}

/// Gives a buffer of cudarc's a name.
pub fn name_slice(of: &str, slice: &CudaSlice<f32>) {
    name(of, address(slice), slice.num_bytes());
}

/// Gives a buffer of cust's a name.
pub fn name_device<T: DeviceCopy>(of: &str, buffer: &DeviceBuffer<T>) {
    name(of, buffer.as_device_ptr().as_raw(), buffer.len() * size_of::<T>());
}

/// Gives page-locked memory of cust's a name.
pub fn name_locked<T: DeviceCopy>(of: &str, buffer: &LockedBuffer<T>) {
    name(of, buffer.as_ptr() as u64, buffer.len() * size_of::<T>());
}

/// Where a slice is, without its counting as read.
pub fn address(slice: &CudaSlice<f32>) -> u64 {
    let stream: &Arc<CudaStream> = slice.stream();
    let (at, record) = slice.device_ptr(stream);
    std::mem::forget(record);
    at
}

/// Page-locked memory by the bare API. Its drop frees it, and waits for nothing by itself.
pub struct Pinned {
    at: *mut f32,
    len: usize,
}

impl Pinned {
    /// `len` floats of 1.
    pub fn new(of: &str, len: usize) -> Result<Pinned, Box<dyn Error>> {
        // SAFETY: no flags; the memory is written before it is read.
        let at = unsafe { result::malloc_host(len * size_of::<f32>(), 0)? };
        name(of, at as u64, len * size_of::<f32>());
        let mut pinned = Pinned { at: at.cast(), len };
        pinned.fill(1.0);
        Ok(pinned)
    }

    fn range(&self) -> Range {
        Range::new(self.at as u64, (self.len * size_of::<f32>()) as u64)
    }

    /// The host writes all of it, which only a mark can tell.
    pub fn fill(&mut self, value: f32) {
        recording::mark(MarkKind::HostWrite { range: self.range() });
        for index in 0..self.len {
            // SAFETY: within the allocation; volatile, because a device may be reading.
            unsafe { self.at.add(index).write_volatile(value) };
        }
    }

    /// The host reads the first float.
    pub fn first(&self) -> f32 {
        recording::mark(MarkKind::HostRead { range: self.range() });
        // SAFETY: within the allocation; volatile, because a device may be writing.
        unsafe { self.at.read_volatile() }
    }

    /// Copies it to the device, behind the stream's work.
    pub fn upload(&self, stream: &CudaStream, to: u64) -> Outcome {
        // SAFETY: as long as the call needs it; whether it lives until the copy is the program's point.
        let source = unsafe { std::slice::from_raw_parts(self.at, self.len) };
        // SAFETY: the caller's buffer has that many floats.
        unsafe { result::memcpy_htod_async(to, source, stream.cu_stream())? };
        Ok(())
    }

    /// Copies from the device, behind the stream's work.
    pub fn download(&mut self, stream: &CudaStream, from: u64) -> Outcome {
        // SAFETY: as in `upload`.
        let target = unsafe { std::slice::from_raw_parts_mut(self.at, self.len) };
        // SAFETY: the caller's buffer has that many floats.
        unsafe { result::memcpy_dtoh_async(target, from, stream.cu_stream())? };
        Ok(())
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: allocated in `new`, freed once.
        let _ = unsafe { result::free_host(self.at.cast()) };
    }
}

/// A stretch of a program in which the calls that hold the host are of interest.
pub fn watched<R>(region: &str, body: impl FnOnce() -> R) -> R {
    recording::mark(MarkKind::Begin { region: region.into() });
    let result = body();
    recording::mark(MarkKind::End { region: region.into() });
    result
}
