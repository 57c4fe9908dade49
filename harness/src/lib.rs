//! What an exercise depends on: a device with its kernels, and the crates to program it with.
//!
//! ```no_run
//! use streamlings::{Gpu, LaunchConfig, PushKernelArg};
//!
//! # fn main() -> Result<(), streamlings::DriverError> {
//! let gpu = Gpu::new()?;
//! let mut x = gpu.stream.alloc_zeros::<f32>(1000)?;
//! // SAFETY: `fill` writes as many floats as `x` has.
//! unsafe {
//!     gpu.stream
//!         .launch_builder(&gpu.kernel("fill")?)
//!         .arg(&mut x)
//!         .arg(&2.5_f32)
//!         .arg(&1000_u32)
//!         .launch(LaunchConfig::for_num_elems(1000))?;
//! }
//! assert_eq!(gpu.stream.clone_dtoh(&x)?, [2.5; 1000]);
//! # Ok(())
//! # }
//! ```
//!
//! The types are cudarc's own; what runs below them is this workspace's driver
//! (`harness/driver`), which records every call and, without a GPU, emulates one.

#![deny(unsafe_code)]

mod clock;
mod gpu;
mod pinned;
mod product;
pub mod stage;
mod step;
mod training;

pub use clock::Clock;
pub use cudarc;
pub use cudarc::driver::{
    CudaContext, CudaEvent, CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig,
    PushKernelArg,
};
pub use cust;
pub use gpu::{Gpu, launch_config};
pub use pinned::Pinned;
pub use product::Product;
pub use step::Step;
pub use streamlings_driver as driver;
pub use streamlings_grade as grade;
pub use streamlings_kernels as kernels;
pub use streamlings_tensor as tensor;
pub use streamlings_trace as trace;
pub use training::{DeviceBatch, Phase, PinnedBatch, Training};
