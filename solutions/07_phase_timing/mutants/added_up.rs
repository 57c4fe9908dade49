//! Adds up phases that run side by side.

pub use phase_timing_solution::{Profile, Timed, table, timeline};
use streamlings::tensor::Result;
use streamlings::{PinnedBatch, Training};

pub fn profile(training: &Training, batches: &[PinnedBatch]) -> Result<Profile> {
    let mut profile = phase_timing_solution::profile(training, batches)?;
    profile.whole_ms = profile.phases.iter().map(|timed| timed.ms).sum();
    Ok(profile)
}
