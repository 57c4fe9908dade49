//! The tensor: memory, shape, and its place in the autograd graph.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::allocator::Memory;
use crate::autograd::Grad;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::host::{Download, HostTensor, PinnedTensor};
use crate::marks;
use crate::raw::{self, Arg};
use crate::stream::{Stream, current_stream};

/// An f32 tensor in device memory, contiguous, row after row.
///
/// Clones share the memory, as a second name does in Python; [`Tensor::copy`] copies it. When the
/// last is dropped the memory goes back to the allocator.
///
/// Every operation runs on the *current* stream ([`current_stream`]) and allocates its result there.
/// None of them waits for another stream, nor tells the allocator that a tensor is used on one: see
/// [`Stream::wait_stream`] and [`Tensor::record_stream`]. An operation holds the host only where its
/// documentation says so.
#[derive(Clone)]
pub struct Tensor(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub storage: Arc<Storage>,
    pub shape: Vec<usize>,
    pub grad: Grad,
}

/// The memory of a tensor and those that share it.
pub(crate) struct Storage {
    memory: Memory,
    /// Counts the changes in place.
    version: AtomicU64,
    name: OnceLock<String>,
}

impl Storage {
    /// The first name that it got.
    pub fn name(&self) -> Option<&str> {
        self.name.get().map(String::as_str)
    }
}

/// The number of elements of a shape.
pub(crate) fn elements(shape: &[usize]) -> Result<usize> {
    // Kernels count in u32; a dimension of 0 makes an empty tensor, however long the others are.
    let too_large = || Error::TooLarge { shape: shape.to_vec() };
    let count = match shape.contains(&0) {
        true => Some(0),
        false => shape.iter().try_fold(1_usize, |count, dimension| count.checked_mul(*dimension)),
    };
    count.filter(|count| u32::try_from(*count).is_ok()).ok_or_else(too_large)
}

/// Memory for `count` 4-byte elements, on the current stream.
pub(crate) fn allocate(count: usize) -> Result<Memory> {
    Device::get()?.allocator().allocate(&current_stream()?, count as u64 * 4)
}

/// Launches a kernel on the current stream.
pub(crate) fn launch(kernel: &'static str, args: &[Arg]) -> Result<()> {
    Device::get()?.launch(&current_stream()?, kernel, args)
}

impl Tensor {
    pub(crate) fn of(memory: Memory, shape: Vec<usize>) -> Tensor {
        let storage = Storage { memory, version: AtomicU64::new(0), name: OnceLock::new() };
        Tensor::sharing(Arc::new(storage), shape, Grad::default())
    }

    pub(crate) fn sharing(storage: Arc<Storage>, shape: Vec<usize>, grad: Grad) -> Tensor {
        Tensor(Arc::new(Inner { storage, shape, grad }))
    }

    /// A tensor of unspecified values.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::OutOfMemory`], and the driver's own.
    pub fn empty(shape: impl AsRef<[usize]>) -> Result<Tensor> {
        let shape = shape.as_ref().to_vec();
        Ok(Tensor::of(allocate(elements(&shape)?)?, shape))
    }

    /// A tensor that holds `value` everywhere.
    ///
    /// # Errors
    /// Those of [`Tensor::empty`].
    pub fn full(shape: impl AsRef<[usize]>, value: f32) -> Result<Tensor> {
        let tensor = Tensor::empty(shape)?;
        launch("fill", &[tensor.arg(), Arg::F32(value), Arg::U32(tensor.n())])?;
        Ok(tensor)
    }

    /// A tensor of zeros.
    ///
    /// # Errors
    /// Those of [`Tensor::empty`].
    pub fn zeros(shape: impl AsRef<[usize]>) -> Result<Tensor> {
        Tensor::full(shape, 0.0)
    }

    /// A tensor of these values, row after row, copied from pageable memory. Holds the host until the
    /// copy is done.
    ///
    /// # Errors
    /// [`Error::Length`] where the shape holds another number of elements, and those of
    /// [`Tensor::empty`].
    pub fn from_slice(values: &[f32], shape: impl AsRef<[usize]>) -> Result<Tensor> {
        let (shape, given) = (shape.as_ref().to_vec(), values.len());
        let elements = elements(&shape)?;
        if elements != given {
            return Err(Error::Length { shape, elements, given });
        }
        Tensor::upload(values, &shape, false)
    }

    pub(crate) fn upload(values: &[f32], shape: &[usize], non_blocking: bool) -> Result<Tensor> {
        let tensor = Tensor::empty(shape)?;
        let stream = current_stream()?;
        if !values.is_empty() {
            raw::upload(stream.cuda(), tensor.memory(), values)?;
        }
        if !non_blocking {
            stream.synchronize()?;
        }
        Ok(tensor)
    }

    /// The length of each dimension; none for a scalar.
    pub fn shape(&self) -> &[usize] {
        &self.0.shape
    }

    /// How many elements it has.
    pub fn numel(&self) -> usize {
        self.shape().iter().product()
    }

    /// The same, as kernels take it.
    pub(crate) fn n(&self) -> u32 {
        // `elements` has seen to it that it fits.
        self.numel() as u32
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.0.storage.memory
    }

    pub(crate) fn arg(&self) -> Arg<'_> {
        Arg::Memory(self.memory())
    }

    /// The device address of its first element.
    pub fn device_ptr(&self) -> u64 {
        self.memory().start()
    }

    /// The stream that its memory belongs to: the one that was current when it was made.
    pub fn stream(&self) -> &Stream {
        self.memory().stream()
    }

    /// Tells the allocator that the tensor is used on `stream` too: its memory, once dropped, is not
    /// handed out again before what is on `stream` *then* is done. Makes no stream wait for another.
    pub fn record_stream(&self, stream: &Stream) {
        self.memory().record_stream(stream);
    }

    /// Names the memory in the record, so that reports speak of it by that name.
    #[must_use]
    pub fn named(self, name: &str) -> Tensor {
        self.name(name);
        self
    }

    /// Names the memory in the record, so that reports speak of it by that name. `Debug` shows the
    /// first name.
    pub fn name(&self, name: &str) {
        marks::name(self.device_ptr(), self.memory().bytes(), name);
        self.0.storage.name.get_or_init(|| name.to_owned());
    }

    /// A tensor that shares the memory and has no part in the autograd graph.
    #[must_use]
    pub fn detach(&self) -> Tensor {
        Tensor::sharing(self.0.storage.clone(), self.shape().to_vec(), Grad::default())
    }

    /// How often it was changed in place.
    pub(crate) fn version(&self) -> u64 {
        self.0.storage.version.load(Ordering::Relaxed)
    }

    pub(crate) fn changed(&self) {
        self.0.storage.version.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether nobody else has this tensor or its memory.
    pub(crate) fn is_only_owner(&self) -> bool {
        Arc::strong_count(&self.0) == 1 && Arc::strong_count(&self.0.storage) == 1
    }

    /// Its values, in pageable memory. Holds the host until they are there.
    ///
    /// # Errors
    /// The driver's own, and those of the work that makes the values.
    pub fn to_host(&self) -> Result<HostTensor> {
        let mut values = vec![0.0; self.numel()];
        if !values.is_empty() {
            raw::download(current_stream()?.cuda(), &mut values, self.memory())?;
        }
        HostTensor::new(values, self.shape())
    }

    /// Its values as a plain vector. Holds the host until they are there.
    ///
    /// # Errors
    /// The driver's own, and those of the work that makes the values.
    pub fn to_vec(&self) -> Result<Vec<f32>> {
        Ok(self.to_host()?.into_vec())
    }

    /// The value of a tensor of one element. Holds the host until it is there.
    ///
    /// # Errors
    /// [`Error::Shape`] where it has not exactly one element; the driver's own.
    pub fn item(&self) -> Result<f32> {
        if self.numel() != 1 {
            return Err(self.shape_error("item", "one element"));
        }
        let mut value = [0.0];
        raw::download(current_stream()?.cuda(), &mut value, self.memory())?;
        Ok(value[0])
    }

    /// Starts to copy its values to pinned memory, without holding the host.
    ///
    /// # Errors
    /// Those of [`PinnedTensor::empty`], and the driver's own.
    pub fn to_host_pinned(&self) -> Result<Download> {
        Download::start(self, PinnedTensor::empty(self.shape())?)
    }

    /// Starts to copy its values to a pinned tensor of the same shape, without holding the host.
    ///
    /// # Errors
    /// [`Error::ShapesDiffer`], and the driver's own.
    pub fn copy_to_pinned(&self, target: PinnedTensor) -> Result<Download> {
        self.same_shape("copy_to_pinned", target.shape())?;
        Download::start(self, target)
    }

    pub(crate) fn same_shape(&self, op: &'static str, other: &[usize]) -> Result<()> {
        if self.shape() == other {
            return Ok(());
        }
        Err(Error::ShapesDiffer { op, left: self.shape().to_vec(), right: other.to_vec() })
    }

    pub(crate) fn shape_error(&self, op: &'static str, expected: &'static str) -> Error {
        Error::Shape { op, expected, shape: self.shape().to_vec() }
    }

    /// Rows and columns of a matrix.
    pub(crate) fn matrix(&self, op: &'static str) -> Result<(usize, usize)> {
        match *self.shape() {
            [rows, cols] => Ok((rows, cols)),
            _ => Err(self.shape_error(op, "a matrix")),
        }
    }
}

/// Shape and name; unlike [`fmt::Display`], touches no device.
impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Tensor");
        if let Some(name) = self.0.storage.name() {
            debug.field("name", &name);
        }
        debug.field("shape", &self.shape()).field("stream", &self.stream().name()).finish()
    }
}
