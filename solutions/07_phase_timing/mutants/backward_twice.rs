//! Goes backward twice from the same loss.

pub use phase_timing_solution::{Profile, Timed, table, timeline};
use streamlings::tensor::{Result, Stream, with_stream};
use streamlings::{PinnedBatch, Training};

pub fn profile(training: &Training, batches: &[PinnedBatch]) -> Result<Profile> {
    let compute = Stream::new("compute")?;
    for pinned in batches {
        with_stream(&compute, || -> Result<()> {
            let loss = training.forward(&training.upload(pinned)?)?;
            training.backward(&loss)?;
            training.backward(&loss)
        })?;
    }
    Ok(Profile::default())
}
