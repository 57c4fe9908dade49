//! Shows the phases one after another.

pub use phase_timing_solution::{Profile, Timed, table, timeline};
use streamlings::tensor::Result;
use streamlings::{PinnedBatch, Training};

pub fn profile(training: &Training, batches: &[PinnedBatch]) -> Result<Profile> {
    let mut profile = phase_timing_solution::profile(training, batches)?;
    let mut start_ms = 0.0;
    for timed in &mut profile.phases {
        timed.start_ms = start_ms;
        start_ms += timed.ms;
    }
    Ok(profile)
}
