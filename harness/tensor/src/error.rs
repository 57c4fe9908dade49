//! What can go wrong, in words that name the operation and the shapes.

use cudarc::driver::DriverError;

/// Why an operation was refused or failed.
///
/// Work on a device fails late: a [`Error::Driver`] may be the doing of an earlier operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "fields are named after what they hold")]
pub enum Error {
    /// The CUDA driver returned an error, perhaps one that earlier work has caused.
    #[error("the CUDA driver returned {:?}", .0.0)]
    Driver(DriverError),
    /// There is no device to work on.
    #[error("no device: {0}")]
    NoDevice(String),
    /// The device has no room for a tensor, not even after all cached memory was given back.
    #[error(
        "out of device memory: {requested} bytes were asked for; tensors hold {allocated} bytes, \
         the allocator holds {reserved} of the device's {total}, of which {free} are free"
    )]
    OutOfMemory { requested: u64, allocated: u64, reserved: u64, free: u64, total: u64 },
    /// An operation on two tensors whose shapes have to be the same.
    #[error("{op}: the shapes {left:?} and {right:?} differ")]
    ShapesDiffer { op: &'static str, left: Vec<usize>, right: Vec<usize> },
    /// A tensor of another shape than the operation takes.
    #[error("{op}: expected {expected}, got the shape {shape:?}")]
    Shape { op: &'static str, expected: &'static str, shape: Vec<usize> },
    /// Matrices, or a matrix and a bias, whose sizes do not fit together.
    #[error("{op}: the shapes {left:?} and {right:?} do not fit: {inner} against {other}")]
    DoNotFit { op: &'static str, left: Vec<usize>, right: Vec<usize>, inner: usize, other: usize },
    /// As many values as the shape holds are needed.
    #[error("the shape {shape:?} holds {elements} elements, but {given} were given")]
    Length { shape: Vec<usize>, elements: usize, given: usize },
    /// More elements than the kernels can count: 2^32 and more.
    #[error("the shape {shape:?} holds more than 2^32 - 1 elements")]
    TooLarge { shape: Vec<usize> },
    /// `backward` on a tensor that no recorded operation on a tensor with `requires_grad` made.
    #[error("backward: the tensor does not require grad and no operation on it was recorded")]
    NoGraph,
    /// `backward` a second time: the first frees what the forward operations saved.
    #[error("backward: what `{op}` saved was freed by an earlier backward; run forward again")]
    GraphFreed { op: &'static str },
    /// A tensor that backward needs was changed in place after the forward operation.
    #[error("backward of `{op}`: a tensor that it needs was changed in place since forward")]
    Modified { op: &'static str },
    /// A change in place of a tensor that requires grad, outside of `no_grad`.
    #[error("{op}: the tensor requires grad; change it in place inside of no_grad")]
    InPlace { op: &'static str },
    /// An operation that has no derivative here, on a tensor that requires grad.
    #[error("{op}: has no derivative here; use detach, or no_grad")]
    NotDifferentiable { op: &'static str },
    /// `requires_grad` asked of a tensor that an operation made.
    #[error("{op}: only a leaf, a tensor that no recorded operation made, can do this")]
    NotLeaf { op: &'static str },
    /// A kernel of this workspace that was given other arguments than it takes.
    #[error("kernel `{kernel}`: argument {argument} is not what it takes")]
    Argument { kernel: &'static str, argument: usize },
}

impl From<DriverError> for Error {
    fn from(error: DriverError) -> Error {
        Error::Driver(error)
    }
}

/// The result of an operation on tensors.
pub type Result<T, E = Error> = std::result::Result<T, E>;
