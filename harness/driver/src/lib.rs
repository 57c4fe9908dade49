//! The CUDA driver API as this workspace links it into every exercise.
//!
//! Linking this crate defines every `cu…` symbol that cudarc and cust need. Where a GPU is present a
//! call goes on to the system's `libcuda.so.1`; where there is none the emulated device serves it.
//! Either way it is recorded: which call, on which stream, from which source line, how long it held
//! the host. [`recording`] is how the harness asks for that record.
//!
//! The crate calls nothing above it: what it learns, others fetch.

mod api;
mod backend;
mod emulated;
mod exports;
mod forward;
mod functions;
mod record;
mod sys;

use std::ffi::{c_char, c_int};
use std::fmt;

use streamlings_trace::{Device, DeviceKind, MarkKind, Trace};

pub use api::Function;

/// Why no device can be had, and what to do about it.
#[derive(Debug, Clone)]
pub struct NoDevice {
    /// What is wrong.
    pub why: String,
    /// What to do.
    pub remedy: String,
}

impl fmt::Display for NoDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.why, self.remedy)
    }
}

impl std::error::Error for NoDevice {}

/// The device that serves this process, as `STREAMLINGS_DEVICE` (auto, gpu or emulated) chose it.
///
/// # Errors
/// Where `gpu` was asked for and none can be used, or the variable holds something else.
pub fn device() -> Result<Device, NoDevice> {
    let kind = match backend::backend() {
        backend::Backend::Gpu(_) => DeviceKind::Gpu,
        backend::Backend::Emulated(_) => DeviceKind::Emulated,
        backend::Backend::None(no_device) => return Err(no_device.clone()),
    };
    let mut name = [0; 128];
    let mut device = 0;
    // SAFETY: both out-parameters outlive the calls; the name's length is given.
    let result = unsafe {
        match api::cuInit(0) {
            0 => match api::cuDeviceGet(&mut device, 0) {
                0 => api::cuDeviceGetName(name.as_mut_ptr(), name.len() as c_int, device),
                error => error,
            },
            error => error,
        }
    };
    if result != 0 {
        return Err(NoDevice {
            why: format!("the driver has no device 0 ({})", sys::name(result)),
            remedy: "check CUDA_VISIBLE_DEVICES and nvidia-smi".to_owned(),
        });
    }
    let bytes: Vec<u8> = name.iter().map(|c: &c_char| *c as u8).take_while(|c| *c != 0).collect();
    Ok(Device { kind, name: String::from_utf8_lossy(&bytes).into_owned() })
}

/// Recording the driver calls of this process.
///
/// Calls are always written down; a recording says from where to where they are of interest.
pub mod recording {
    use super::record::{self, log::MarkCode};
    use super::{MarkKind, Trace};
    use std::path::PathBuf;
    use std::time::Duration;
    use streamlings_trace::Range;

    /// What to record, and how.
    #[derive(Debug, Clone, Default)]
    pub struct Options {
        /// Source folders (or files) whose innermost frame is the learner's line, as the compiler
        /// writes them into debug information: absolute paths.
        pub learner_roots: Vec<PathBuf>,
        /// Holds operations back by legal delays drawn from this seed: on a GPU, those that an
        /// asynchronous call or a launch enqueues, by a kernel of ours before them.
        pub seed: Option<u64>,
        /// On a GPU: times every operation, by event records of our own around it. The emulated device
        /// always knows when an operation ran.
        pub timestamps: bool,
        /// Keeps the host for at least this long in each call that enqueues an operation or synchronizes:
        /// a clock that somebody claims to have read around the call has to show it.
        pub hold: Duration,
    }

    /// Starts a recording. What was recorded before is dropped, but for what is still alive (streams,
    /// events, memory): the calls that made those come first in the new trace, as of thread 0.
    ///
    /// The callers of a call are recorded outwards up to the function that this is called from.
    #[inline(always)] // so that it is the caller that calls
    pub fn begin(options: Options) {
        record::begin(options);
    }

    /// Adds a mark at this point.
    pub fn mark(kind: MarkKind) {
        record::mark(kind);
    }

    /// Whether a recording is in progress.
    pub fn is_on() -> bool {
        record::is_on()
    }

    /// Leaves the calls that `calls` makes on this thread out of the record: the harness's own, such
    /// as an allocator polling its events, which the program under test cannot rely on.
    pub fn unseen<R>(calls: impl FnOnce() -> R) -> R {
        record::unseen(calls)
    }

    /// A caching allocator hands a block out, for use on the stream of that handle. This mark and the
    /// five below cost about as much as a recorded call while a recording is in progress, and nothing
    /// otherwise.
    pub fn block_out(range: Range, stream: usize) {
        record::mark_range(MarkCode::BlockOut, range, stream);
    }

    /// It takes the block back.
    pub fn block_back(range: Range) {
        record::mark_range(MarkCode::BlockBack, range, 0);
    }

    /// record_stream: the block is also in use on the stream of that handle.
    pub fn block_use(range: Range, stream: usize) {
        record::mark_range(MarkCode::BlockUse, range, stream);
    }

    /// The host reads these bytes.
    pub fn host_read(range: Range) {
        record::mark_range(MarkCode::HostRead, range, 0);
    }

    /// The host writes these bytes.
    pub fn host_write(range: Range) {
        record::mark_range(MarkCode::HostWrite, range, 0);
    }

    /// The host gives these bytes back.
    pub fn host_drop(range: Range) {
        record::mark_range(MarkCode::HostDrop, range, 0);
    }

    /// Gives a stream, by its handle, the name that reports use for it; for good, whether or not a
    /// recording is in progress.
    pub fn name_stream(handle: usize, name: &str) {
        record::name_stream(handle, name);
    }

    /// Ends the recording and returns it, with source lines resolved. Work that is still pending has
    /// no span on the emulated device: synchronize first if spans are wanted.
    pub fn finish() -> Trace {
        record::finish()
    }
}
