//! Reports what a host clock around each phase reads, and makes no events.

use std::time::Instant;

pub use phase_timing_solution::{Profile, Timed, table, timeline};
use streamlings::tensor::{Device, Result, Stream, with_stream};
use streamlings::{Phase, PinnedBatch, Training};

pub fn profile(training: &Training, batches: &[PinnedBatch]) -> Result<Profile> {
    let (copy, compute) = (Stream::new("copy")?, Stream::new("compute")?);
    let began = Instant::now();
    let now = || began.elapsed().as_secs_f32() * 1e3;
    let mut phases = Vec::new();
    for (step, pinned) in batches.iter().enumerate() {
        let mut readings = vec![now()];
        let batch = with_stream(&copy, || training.upload(pinned))?;
        readings.push(now());
        compute.wait_stream(&copy)?;
        batch.record_stream(&compute);
        with_stream(&compute, || -> Result<()> {
            let loss = training.forward(&batch)?;
            readings.push(now());
            training.backward(&loss)?;
            readings.push(now());
            training.step()?;
            readings.push(now());
            Ok(())
        })?;
        for (phase, pair) in Phase::ALL.into_iter().zip(readings.windows(2)) {
            phases.push(Timed { phase, step, start_ms: pair[0], ms: pair[1] - pair[0] });
        }
    }
    Device::get()?.synchronize()?;
    Ok(Profile { phases, whole_ms: now() })
}
