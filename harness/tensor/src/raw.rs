//! The calls that cudarc leaves unsafe, each behind a function that checks what it needs: the one
//! module of this crate with `unsafe`.
//!
//! What none of these can check is *order*: work on a stream may touch device memory that another
//! stream writes. That makes wrong numbers, which is what the exercises are about, but never touches
//! host memory.

#![expect(unsafe_code, reason = "cudarc's launches, copies and allocations are unsafe")]

use std::ptr::NonNull;
use std::sync::Arc;

use cudarc::driver::sys::{CUevent_flags, CUresult};
use cudarc::driver::{
    CudaContext, CudaEvent, CudaFunction, CudaStream, DriverError, LaunchConfig, PushKernelArg,
    result,
};
use streamlings_kernels::{Args, Kernel, ParamKind};

use crate::allocator::Memory;
use crate::error::{Error, Result};

/// The primary context of device 0, in which cudarc orders nothing by itself.
pub fn untracked_context() -> Result<Arc<CudaContext>> {
    let context = CudaContext::new(0)?;
    // SAFETY: this crate makes no `CudaSlice`, the only thing whose safety rests on tracking. The
    // setting is of this `CudaContext` object alone, not of the driver's context behind it.
    unsafe { context.disable_event_tracking() };
    Ok(context)
}

/// Device memory from cuMemAlloc; dropping it calls cuMemFree, which waits for the device.
#[derive(Debug)]
pub struct Segment {
    context: Arc<CudaContext>,
    start: u64,
    size: u64,
}

impl Segment {
    /// Allocates `size` bytes.
    pub fn new(context: &Arc<CudaContext>, size: u64) -> Result<Segment, DriverError> {
        let bytes =
            usize::try_from(size).map_err(|_| DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY))?;
        context.bind_to_thread()?;
        // SAFETY: what the memory holds at first is of no matter: any bits are a valid f32 or u32.
        let start = unsafe { result::malloc_sync(bytes) }?;
        Ok(Segment { context: context.clone(), start, size })
    }

    /// Its first address.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        self.context.record_err(self.context.bind_to_thread());
        // SAFETY: the address came from cuMemAlloc and is freed only here.
        self.context.record_err(unsafe { result::free_sync(self.start) });
    }
}

/// An argument of a launch.
#[derive(Clone, Copy)]
pub enum Arg<'a> {
    /// Device memory, at least as long as the kernel's table entry says.
    Memory(&'a Memory),
    /// `unsigned int`.
    U32(u32),
    /// `unsigned long long`.
    U64(u64),
    /// `float`.
    F32(f32),
}

/// Most parameters that a kernel of the table has.
const MOST: usize = 8;

/// Launches a kernel of the table on a stream. `function` has to be the one of that name.
pub fn launch(
    stream: &CudaStream,
    function: &CudaFunction,
    kernel: &'static Kernel,
    args: &[Arg],
) -> Result<()> {
    let wrong = |argument| Error::Argument { kernel: kernel.name, argument };
    let count = kernel.params.len();
    if args.len() != count || count > MOST {
        return Err(wrong(args.len()));
    }
    let mut words = [0_u64; MOST];
    for (word, arg) in words.iter_mut().zip(args) {
        *word = match arg {
            Arg::Memory(memory) => memory.start(),
            Arg::U32(value) => u64::from(*value),
            Arg::U64(value) => *value,
            Arg::F32(value) => u64::from(value.to_bits()),
        };
    }
    let words = &words[..count];
    for (index, (param, arg)) in kernel.params.iter().zip(args).enumerate() {
        let fits = match (param.kind, arg) {
            (ParamKind::Pointer { elements, .. }, Arg::Memory(memory)) => {
                elements(&Args(words)).saturating_mul(4) <= memory.bytes()
            }
            (ParamKind::U32, Arg::U32(_)) => true,
            (ParamKind::U64, Arg::U64(_)) => true,
            (ParamKind::F32, Arg::F32(_)) => true,
            _ => false,
        };
        if !fits {
            return Err(wrong(index));
        }
    }
    let geometry = (kernel.launch)(&Args(words));
    let [x, y, z] = geometry.grid;
    let [bx, by, bz] = geometry.block;
    let config = LaunchConfig { grid_dim: (x, y, z), block_dim: (bx, by, bz), shared_mem_bytes: 0 };
    let mut launch = stream.launch_builder(function);
    for word in words {
        // The low half of a word is where a 4-byte parameter is read: the targets are little-endian.
        launch.arg(word);
    }
    // SAFETY: the arguments are of the number and the types that the kernel takes, every pointer is
    // of a live block at least as long as what the kernel touches behind it, and the geometry is the
    // kernel's own. The block stays the tensor's until its allocator takes it back in stream order.
    unsafe { launch.launch(config)? };
    Ok(())
}

/// Copies from any host memory to the start of `to`. From pageable memory the driver has read
/// `from` when this returns.
pub fn upload<T: Word>(stream: &CudaStream, to: &Memory, from: &[T]) -> Result<()> {
    check_length(to, from.len())?;
    stream.context().bind_to_thread()?;
    // SAFETY: `to` is a live block of at least that many words, and `from`, which only this call
    // borrows, is pageable: the driver has staged it, or copied it, when the call returns.
    unsafe { result::memcpy_htod_async(to.start(), from, stream.cu_stream())? };
    Ok(())
}

/// Copies the start of `from` to pageable host memory; waits until it is there.
pub fn download<T: Word>(stream: &CudaStream, to: &mut [T], from: &Memory) -> Result<()> {
    check_length(from, to.len())?;
    stream.context().bind_to_thread()?;
    // SAFETY: `from` is a live block of at least that many words. `to` is pageable, so CUDA
    // promises that the copy is complete when the call returns. Any bits are a valid word.
    unsafe { result::memcpy_dtoh_async(to, from.start(), stream.cu_stream())? };
    Ok(())
}

/// Copies the start of one block to the start of another, `words` words.
pub fn copy(stream: &CudaStream, to: &Memory, from: &Memory, words: usize) -> Result<()> {
    check_length(to, words)?;
    check_length(from, words)?;
    if words == 0 {
        return Ok(());
    }
    stream.context().bind_to_thread()?;
    // SAFETY: both blocks are live and at least that long.
    unsafe {
        result::memcpy_dtod_async(to.start(), from.start(), words * 4, stream.cu_stream())?;
    }
    Ok(())
}

fn check_length(memory: &Memory, words: usize) -> Result<()> {
    let given = words as u64 * 4;
    if given > memory.bytes() {
        let elements = (memory.bytes() / 4) as usize;
        return Err(Error::Length { shape: vec![elements], elements, given: words });
    }
    Ok(())
}

mod word {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for u32 {}
}

/// The 4-byte types that kernels work on; every bit pattern is one of their values.
pub trait Word: word::Sealed + Copy {}
impl Word for f32 {}
impl Word for u32 {}

/// How long the device took between two timed events, in milliseconds; does not wait.
pub fn elapsed_ms(start: &CudaEvent, end: &CudaEvent) -> Result<f32, DriverError> {
    start.context().bind_to_thread()?;
    // SAFETY: both events are alive.
    unsafe { result::event::elapsed(start.cu_event(), end.cu_event()) }
}

/// The flags of an event that times.
pub const TIMED: Option<CUevent_flags> = Some(CUevent_flags::CU_EVENT_DEFAULT);

/// Whether all of a stream's work is done.
pub fn query(stream: &CudaStream) -> Result<bool, DriverError> {
    stream.context().bind_to_thread()?;
    // SAFETY: the stream is alive.
    match unsafe { cudarc::driver::sys::cuStreamQuery(stream.cu_stream()) } {
        CUresult::CUDA_ERROR_NOT_READY => Ok(false),
        other => other.result().map(|()| true),
    }
}

/// Page-locked host memory, `len` floats; dropping it calls cuMemFreeHost, which waits for the
/// device.
#[derive(Debug)]
pub struct PinnedBuffer {
    context: Arc<CudaContext>,
    at: NonNull<f32>,
    len: usize,
}

// SAFETY: the memory is owned by the buffer alone, and belongs to no thread.
unsafe impl Send for PinnedBuffer {}
// SAFETY: shared access only reads.
unsafe impl Sync for PinnedBuffer {}

impl PinnedBuffer {
    /// Allocates memory for `len` floats, all zero at first.
    pub fn new(context: &Arc<CudaContext>, len: usize) -> Result<PinnedBuffer, DriverError> {
        const OUT_OF_MEMORY: DriverError = DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        let bytes = len.checked_mul(4).filter(|bytes| *bytes <= isize::MAX as usize);
        let bytes = bytes.ok_or(OUT_OF_MEMORY)?;
        context.bind_to_thread()?;
        // SAFETY: initialised below, before anyone reads it.
        let at = unsafe { result::malloc_host(bytes, 0) }?;
        let at = NonNull::new(at.cast::<f32>()).ok_or(OUT_OF_MEMORY)?;
        // SAFETY: the memory is that long, page-aligned and nobody else's.
        unsafe { at.write_bytes(0, len) };
        Ok(PinnedBuffer { context: context.clone(), at, len })
    }

    /// How many floats it holds.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Its first address.
    pub fn address(&self) -> u64 {
        self.at.as_ptr() as u64
    }

    /// What it holds. A device that writes here does so only while a [`Receiving`] owns the buffer.
    pub fn as_slice(&self) -> &[f32] {
        // SAFETY: initialised, that long, and borrowed as the buffer is.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.len) }
    }

    /// The same, to be written. A device that reads here meanwhile gets the old values or the new.
    pub fn as_mut_slice(&mut self) -> &mut [f32] {
        // SAFETY: as above, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), self.len) }
    }

    /// Copies `words` floats to the start of `to`. The buffer has to stay until the copy is done:
    /// whoever drops it waits for the stream first.
    pub fn upload(&self, stream: &CudaStream, to: &Memory, words: usize) -> Result<()> {
        check_length(to, words)?;
        let from = self.as_slice().get(..words).ok_or_else(|| self.too_short(words))?;
        stream.context().bind_to_thread()?;
        // SAFETY: both sides are live and that long; `HostCache` keeps the buffer until the stream
        // is done with it.
        unsafe { result::memcpy_htod_async(to.start(), from, stream.cu_stream())? };
        Ok(())
    }

    /// Starts a copy of `words` floats from the start of `from`. Until it is done nobody can read
    /// the buffer, which the result owns.
    pub fn receive(
        mut self,
        stream: &CudaStream,
        from: &Memory,
        words: usize,
    ) -> Result<Receiving, (PinnedBuffer, Error)> {
        let started = check_length(from, words)
            .and_then(|()| if words <= self.len { Ok(()) } else { Err(self.too_short(words)) })
            .and_then(|()| {
                stream.context().bind_to_thread()?;
                let address = from.start();
                let to = &mut self.as_mut_slice()[..words];
                // SAFETY: both sides are live and that long. The buffer is moved into `Receiving`,
                // which lets nobody at its bytes before the event that is recorded below.
                unsafe { result::memcpy_dtoh_async(to, address, stream.cu_stream())? };
                Ok(())
            });
        match started.and_then(|()| Ok(stream.record_event(None)?)) {
            Ok(done) => Ok(Receiving { buffer: Some(self), done }),
            Err(error) => {
                // The copy may be under way.
                self.context.record_err(stream.synchronize());
                Err((self, error))
            }
        }
    }

    fn too_short(&self, given: usize) -> Error {
        Error::Length { shape: vec![self.len], elements: self.len, given }
    }
}

impl Drop for PinnedBuffer {
    fn drop(&mut self) {
        self.context.record_err(self.context.bind_to_thread());
        // SAFETY: the address came from cuMemHostAlloc and is freed only here.
        self.context.record_err(unsafe { result::free_host(self.at.as_ptr().cast()) });
    }
}

/// A pinned buffer that the device writes to, and the event behind that.
#[derive(Debug)]
pub struct Receiving {
    /// `None` only while dropping.
    buffer: Option<PinnedBuffer>,
    done: CudaEvent,
}

impl Receiving {
    /// How many floats the buffer holds.
    pub fn len(&self) -> usize {
        self.buffer.as_ref().map_or(0, PinnedBuffer::len)
    }

    /// Whether the copy is done; does not wait.
    pub fn is_done(&self) -> Result<bool> {
        self.done.context().bind_to_thread()?;
        Ok(self.done.try_is_complete()?)
    }

    /// Waits, and gives the buffer back.
    pub fn wait(mut self) -> Result<PinnedBuffer> {
        self.done.synchronize()?;
        Ok(self.buffer.take().expect("taken only here and on drop"))
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        // Never freed, nor let at, under a copy: where the driver does not say when it is over, the
        // memory stays.
        if let Some(buffer) = self.buffer.take()
            && self.done.synchronize().is_err()
        {
            std::mem::forget(buffer);
        }
    }
}
