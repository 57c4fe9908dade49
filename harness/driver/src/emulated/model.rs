//! How long things take on the emulated device.
//!
//! A modest card, slow enough that the host twins keep up on two cores, with the proportions of a
//! real one: a launch, a copy and a large product are orders of magnitude apart, and page-locked
//! memory is several times as fast as pageable. Figures in brackets were measured on an H200, and so
//! were the sizes of staging memory and queue.

use streamlings_kernels::Cost;
use streamlings_trace::Nanos;

/// The name that the device reports.
pub const NAME: &str = "emulated device (no GPU)";
/// The most device memory, in bytes; less where the host has little.
pub const MEMORY: u64 = 6 << 30;
/// Multiprocessors: a grid of at least this many blocks fills the device.
pub const MULTIPROCESSORS: u64 = 16;
/// The clock rate in kHz: with 128 lanes a multiprocessor, a peak of 100 GFLOP/s.
pub const KILOHERTZ: i32 = 24_414;
/// Single-precision operations a second: a 2048³ product takes 0.2 s.
const FLOPS: f64 = 86e9;
/// Device memory, bytes a second.
const DEVICE_BYTES: f64 = 24e9;
/// Copies from and to page-locked memory, bytes a second (55 GB/s).
const PINNED_BYTES: f64 = 3e9;
/// Copies from and to pageable memory, bytes a second (8.1 GB/s).
const PAGEABLE_BYTES: f64 = 0.5e9;
/// What any kernel takes, in nanoseconds, beside its own work.
const KERNEL: Nanos = 3_000;
/// What any copy takes, in nanoseconds, beside its bytes.
const COPY: Nanos = 2_500;
/// Two event records with nothing between them are this far apart (1.3 µs).
pub const EVENT: Nanos = 1_300;
/// A pageable upload up to this size, in bytes, is copied to a staging buffer at the call.
pub const STAGED_COPY: usize = 2 << 20;
/// What the staging buffers of a context hold, in bytes.
pub const STAGING: usize = 2 << 20;
/// A stream takes this many operations before the next one holds the host.
pub const QUEUE: usize = 1_022;
/// The last part of a synchronous pageable upload, in bytes, that may still be on its way when the call
/// returns.
pub const UNFINISHED_UPLOAD: usize = 64 << 10;

/// How a copy's bytes travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Between page-locked memory and the device.
    Pinned,
    /// Between pageable memory and the device.
    Pageable,
    /// Within the device.
    Device,
    /// Within the host.
    Host,
}

fn nanos(seconds: f64) -> Nanos {
    (seconds * 1e9) as Nanos
}

/// A kernel's duration.
pub fn kernel(cost: Cost) -> Nanos {
    let compute = nanos(cost.flops / FLOPS);
    let memory = nanos(cost.bytes / DEVICE_BYTES);
    KERNEL + compute.max(memory) + cost.fixed_ns
}

/// A copy's duration.
pub fn copy(bytes: usize, route: Route) -> Nanos {
    let bytes = bytes as f64;
    COPY + nanos(match route {
        Route::Pinned => bytes / PINNED_BYTES,
        Route::Pageable => bytes / PAGEABLE_BYTES,
        Route::Device => 2.0 * bytes / DEVICE_BYTES,
        Route::Host => bytes / PINNED_BYTES,
    })
}

/// A memset's duration.
pub fn memset(bytes: usize) -> Nanos {
    COPY + nanos(bytes as f64 / DEVICE_BYTES)
}
