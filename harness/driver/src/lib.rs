//! Our implementation of the CUDA driver API.

use std::fmt;

use streamlings_trace::{Device, MarkKind, Trace};

/// Why no device can be had, and what to do about it.
#[derive(Debug, Clone)]
pub struct NoDevice {
    /// One sentence: what is wrong.
    pub why: String,
    /// One sentence: what to do.
    pub remedy: String,
}

impl fmt::Display for NoDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.why, self.remedy)
    }
}

impl std::error::Error for NoDevice {}

/// The device that this process uses, as `STREAMLINGS_DEVICE` (auto, gpu or emulated) chose it.
pub fn device() -> Result<Device, NoDevice> {
    todo!()
}

/// Recording the driver calls of this process.
pub mod recording {
    use super::*;

    /// What to record, and how.
    #[derive(Debug, Clone, Default)]
    pub struct Options {
        /// Source folders whose innermost frame is the learner's line (absolute, or as the compiler
        /// writes them into debug information).
        pub learner_roots: Vec<std::path::PathBuf>,
        /// Holds streams back by legal delays drawn from this seed.
        pub seed: Option<u64>,
    }

    /// Starts a recording; what was recorded before is dropped, but for what is still alive
    /// (streams, events, allocations): those come first in the new trace.
    pub fn begin(_options: Options) {
        todo!()
    }

    /// Adds a mark at this point.
    pub fn mark(_kind: MarkKind) {
        todo!()
    }

    /// Ends the recording and returns it, with source lines resolved.
    pub fn finish() -> Trace {
        todo!()
    }
}
