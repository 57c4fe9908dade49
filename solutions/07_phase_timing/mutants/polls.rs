//! Asks after each phase until that is over.

#[expect(clippy::duplicate_mod, reason = "each mutant has its own")]
#[path = "parts/profiling.rs"]
mod profiling;

pub use phase_timing_solution::{Profile, Timed, table, timeline};
use streamlings::tensor::Result;
use streamlings::{PinnedBatch, Training};

pub fn profile(training: &Training, batches: &[PinnedBatch]) -> Result<Profile> {
    profiling::profile(profiling::Wrong::Polls, training, batches)
}
