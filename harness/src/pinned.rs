//! Page-locked host memory whose reads and writes by the host are in the record.

use std::ptr::NonNull;
use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaStream, DeviceRepr, DriverError, HostSlice, SyncOnDrop, ValidAsZeroBits,
    result,
};
use streamlings_driver::recording;
use streamlings_trace::{MarkKind, Range};

use crate::Gpu;

/// Page-locked ("pinned") host memory, as cudarc's copies take it.
///
/// It is what the driver gives and no more. cudarc's own `PinnedHostSlice` keeps an event of its last
/// copy, and waits for it whenever it is read, written or dropped; this one waits for nothing, as in C
/// and in cust. Whether a copy is still using the memory is for its owner to know.
///
/// ```no_run
/// # fn main() -> Result<(), streamlings::DriverError> {
/// let gpu = streamlings::Gpu::new()?;
/// let mut pinned = gpu.pinned::<f32>("staging", 4)?;
/// pinned.write(&[1.0, 2.0, 3.0, 4.0]);
/// let on_device = gpu.stream.clone_htod(&pinned)?;
/// gpu.stream.memcpy_dtoh(&on_device, &mut pinned)?;
/// gpu.stream.synchronize()?;
/// assert_eq!(pinned.read(), [1.0, 2.0, 3.0, 4.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Pinned<T> {
    context: Arc<CudaContext>,
    values: NonNull<T>,
    len: usize,
}

#[expect(unsafe_code, reason = "the memory is owned through a pointer")]
// SAFETY: it owns its memory, as a `Vec` does.
unsafe impl<T: Send> Send for Pinned<T> {}
#[expect(unsafe_code, reason = "the memory is owned through a pointer")]
// SAFETY: whoever shares it can only read.
unsafe impl<T: Sync> Sync for Pinned<T> {}

impl Gpu {
    /// Page-locked host memory for `len` elements, all zero, under the name that the grader's reports
    /// give it. Allocating takes long (milliseconds for megabytes); giving it back, which its drop
    /// does, waits for all the work of the device.
    ///
    /// # Errors
    /// The driver's own.
    pub fn pinned<T>(&self, name: &str, len: usize) -> Result<Pinned<T>, DriverError>
    where
        T: DeviceRepr + ValidAsZeroBits + Copy,
    {
        self.context.bind_to_thread()?;
        // The driver refuses to allocate nothing.
        let bytes = (len * size_of::<T>()).max(1);
        #[expect(unsafe_code, reason = "raw memory comes from the driver")]
        // SAFETY: the memory is `bytes` long, aligned to a page, and zero is a value of `T`.
        let values = unsafe {
            let memory = result::malloc_host(bytes, 0)?;
            memory.cast::<u8>().write_bytes(0, bytes);
            NonNull::new(memory.cast::<T>())
        };
        let Some(values) = values else {
            return Err(DriverError(cudarc::driver::sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY));
        };
        let pinned = Pinned { context: Arc::clone(&self.context), values, len };
        let range = pinned.range(len);
        recording::mark(MarkKind::NameBuffer { range, name: name.to_owned() });
        Ok(pinned)
    }
}

impl<T: Copy> Pinned<T> {
    /// Overwrites the memory, from its beginning, at once: a copy that is still reading it gets some
    /// of the old and some of the new.
    ///
    /// # Panics
    /// If there are more values than it has room for.
    // Inlined: a caller that ends with this would be left for it by a jump, and not be in the record.
    #[inline(always)]
    pub fn write(&mut self, values: &[T]) {
        assert!(values.len() <= self.len, "{} values into {}", values.len(), self.len);
        recording::mark(MarkKind::HostWrite { range: self.range(values.len()) });
        #[expect(unsafe_code, reason = "the memory is owned through a pointer")]
        // SAFETY: there is room, and no reference to the memory is ever handed out but to copies.
        unsafe {
            self.values.as_ptr().copy_from_nonoverlapping(values.as_ptr(), values.len());
        }
    }

    /// What is in the memory now: a copy that is still writing it has put some of its values there, or
    /// none.
    // Inlined for the same reason as `write`.
    #[inline(always)]
    pub fn read(&self) -> Vec<T> {
        recording::mark(MarkKind::HostRead { range: self.range(self.len) });
        let mut values: Vec<T> = Vec::with_capacity(self.len);
        #[expect(unsafe_code, reason = "the memory is owned through a pointer")]
        // SAFETY: all of it was initialised when it was allocated, and the vector has room for it.
        unsafe {
            values.as_mut_ptr().copy_from_nonoverlapping(self.values.as_ptr(), self.len);
            values.set_len(self.len);
        }
        values
    }
}

impl<T> Pinned<T> {
    fn range(&self, len: usize) -> Range {
        Range::new(self.values.as_ptr() as u64, (len * size_of::<T>()) as u64)
    }
}

impl<T> Drop for Pinned<T> {
    fn drop(&mut self) {
        self.context.record_err(self.context.bind_to_thread());
        #[expect(unsafe_code, reason = "raw memory goes back to the driver")]
        // SAFETY: it came from `malloc_host`, and goes back once.
        let freed = unsafe { result::free_host(self.values.as_ptr().cast()) };
        self.context.record_err(freed);
    }
}

#[expect(unsafe_code, reason = "cudarc's trait is")]
impl<T> HostSlice<T> for Pinned<T> {
    fn len(&self) -> usize {
        self.len
    }

    unsafe fn stream_synced_slice<'a>(
        &'a self,
        _stream: &'a CudaStream,
    ) -> (&'a [T], SyncOnDrop<'a>) {
        // SAFETY: all of it was initialised when it was allocated.
        let values = unsafe { std::slice::from_raw_parts(self.values.as_ptr(), self.len) };
        (values, SyncOnDrop::Sync(None))
    }

    unsafe fn stream_synced_mut_slice<'a>(
        &'a mut self,
        _stream: &'a CudaStream,
    ) -> (&'a mut [T], SyncOnDrop<'a>) {
        // SAFETY: as above.
        let values = unsafe { std::slice::from_raw_parts_mut(self.values.as_ptr(), self.len) };
        (values, SyncOnDrop::Sync(None))
    }
}
