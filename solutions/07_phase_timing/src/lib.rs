//! Exercise 07, solved: events at the boundaries of each phase, read when all is over.

use std::fmt::Write;

use streamlings::tensor::{Event, Result, Stream, with_stream};
use streamlings::{Phase, PinnedBatch, Training};

/// One phase of one step.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    /// Which phase.
    pub phase: Phase,
    /// Of which step, from 0.
    pub step: usize,
    /// When it began, in milliseconds from the beginning of the first upload.
    pub start_ms: f32,
    /// How long it ran, in milliseconds.
    pub ms: f32,
}

/// When each phase of a training ran on the device.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Every phase of every step, in any order.
    pub phases: Vec<Timed>,
    /// From the beginning of the first upload to the end of the last step, in milliseconds.
    pub whole_ms: f32,
}

/// The events on both sides of a phase, which nobody has read yet.
struct Boundaries {
    phase: Phase,
    step: usize,
    start: Event,
    end: Event,
}

/// Runs a phase on a stream, between two events of that stream.
fn between<T>(
    boundaries: &mut Vec<Boundaries>,
    (phase, step): (Phase, usize),
    stream: &Stream,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let start = stream.record_timed_event()?;
    let result = with_stream(stream, work)?;
    let end = stream.record_timed_event()?;
    boundaries.push(Boundaries { phase, step, start, end });
    Ok(result)
}

/// The wait for the upload stands before forward's first event, so that it is no part of forward.
pub fn profile(training: &Training, batches: &[PinnedBatch]) -> Result<Profile> {
    let copy = Stream::new("copy")?;
    let compute = Stream::new("compute")?;
    let mut all = Vec::new();

    for (step, pinned) in batches.iter().enumerate() {
        let upload = || training.upload(pinned);
        let batch = between(&mut all, (Phase::Upload, step), &copy, upload)?;
        compute.wait_stream(&copy)?;
        batch.record_stream(&compute);
        let forward = || training.forward(&batch);
        let loss = between(&mut all, (Phase::Forward, step), &compute, forward)?;
        between(&mut all, (Phase::Backward, step), &compute, || training.backward(&loss))?;
        between(&mut all, (Phase::Step, step), &compute, || training.step())?;
    }

    let (Some(first), Some(last)) = (all.first(), all.last()) else {
        return Ok(Profile::default());
    };
    // It comes after all the others: the last step waited for the last upload.
    last.end.synchronize()?;
    let timed = |one: &Boundaries| -> Result<Timed> {
        let (start_ms, ms) = (first.start.elapsed_ms(&one.start)?, one.start.elapsed_ms(&one.end)?);
        Ok(Timed { phase: one.phase, step: one.step, start_ms, ms })
    };
    let phases = all.iter().map(timed).collect::<Result<_>>()?;
    Ok(Profile { phases, whole_ms: first.start.elapsed_ms(&last.end)? })
}

/// A line for each phase with its mean time over all steps, in milliseconds, and one for the whole.
pub fn table(profile: &Profile) -> String {
    let mut table = String::new();
    for phase in Phase::ALL {
        let times = profile.phases.iter().filter(|timed| timed.phase == phase);
        let times: Vec<f32> = times.map(|timed| timed.ms).collect();
        let mean = times.iter().sum::<f32>() / times.len().max(1) as f32;
        let _ = writeln!(table, "{:<10}{mean:>10.3} ms a step", phase.name());
    }
    let _ = writeln!(table, "{:<10}{:>10.3} ms", "whole", profile.whole_ms);
    table
}

/// The profile in Chrome's trace format, which Perfetto (<https://ui.perfetto.dev>) shows: a JSON array
/// with an object for each phase, a row (`tid`) for each stream, times in microseconds.
pub fn timeline(profile: &Profile) -> String {
    let mut events = Vec::new();
    for Timed { phase, step, start_ms, ms } in &profile.phases {
        let (name, ts, dur) = (phase.name(), start_ms * 1e3, ms * 1e3);
        let row = u32::from(*phase != Phase::Upload);
        events.push(format!(
            r#"{{"name": "{name} {step}", "ph": "X", "pid": 0, "tid": {row}, "ts": {ts}, "dur": {dur}}}"#
        ));
    }
    format!("[\n{}\n]\n", events.join(",\n"))
}
