//! What a PyTorch user expects of a GPU, small: a current stream, a caching allocator, tensors, and an
//! autograd tape, on cudarc.
//!
//! ```no_run
//! use streamlings_tensor::{Stream, Tensor, current_stream, with_stream};
//!
//! # fn main() -> streamlings_tensor::Result<()> {
//! let side = Stream::new("side")?;
//! let x = Tensor::full([1000], 2.0)?; // on the default stream
//! side.wait_stream(&current_stream()?)?; // the side stream reads what the default one writes
//! let sum = with_stream(&side, || x.sum())?;
//! x.record_stream(&side); // so that its memory is not handed out again too early
//! drop(x);
//! current_stream()?.wait_stream(&side)?;
//! sum.record_stream(&current_stream()?);
//! println!("{sum}"); // holds the host: it needs the value
//! # Ok(())
//! # }
//! ```
//!
//! Nothing is ordered for the user, as nothing is in PyTorch: cudarc's event tracking is off. Order
//! between streams is made by waits, and memory that crosses them is kept by
//! [`Tensor::record_stream`].
//!
//! | module | what it holds |
//! |---|---|
//! | [`allocator`] | device memory, cached per stream |
//! | [`autograd`] | the tape |
//! | [`nn`] | a small model and its training step |

#![deny(unsafe_code)]

pub mod allocator;
pub mod autograd;
mod device;
mod display;
mod error;
mod host;
mod host_cache;
mod marks;
pub mod nn;
mod ops;
mod raw;
mod select;
mod stream;
mod tensor;

pub use autograd::no_grad;
pub use device::{Device, spin};
pub use error::{Error, Result};
pub use host::{Download, HostTensor, PinnedTensor};
pub use marks::{marks, set_marks};
pub use select::Index;
pub use stream::{Event, Stream, current_stream, with_stream};
pub use tensor::Tensor;
