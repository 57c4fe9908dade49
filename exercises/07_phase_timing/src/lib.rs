//! Exercise 07: where does a training step's time go?
//!
//! README.md in the folder above explains the idea. Mend [`profile`] and [`timeline`] below, then run
//!
//! ```text
//! cargo xtask check 07
//! ```
//!
//! Keep the signatures and what is public; the bodies are yours, and so is whatever you add.

use std::fmt::Write;

use streamlings::tensor::{Result, Stream, with_stream};
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

impl Profile {
    /// Runs a phase on a stream and adds it to the profile.
    fn time<T>(
        &mut self,
        phase: Phase,
        step: usize,
        stream: &Stream,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let start = stream.record_timed_event()?;
        let result = with_stream(stream, work)?;
        let end = stream.record_timed_event()?;
        end.synchronize()?;
        let ms = start.elapsed_ms(&end)?;
        self.phases.push(Timed { phase, step, start_ms: self.whole_ms, ms });
        self.whole_ms += ms;
        Ok(result)
    }
}

/// Trains for one step on each batch and says when each phase ran: uploads on a stream of their own,
/// beside the other phases of the steps before. From the first event to the last no call holds the host.
pub fn profile(training: &Training, batches: &[PinnedBatch]) -> Result<Profile> {
    let copy = Stream::new("copy")?;
    let compute = Stream::new("compute")?;
    let mut profile = Profile::default();

    for (step, pinned) in batches.iter().enumerate() {
        let batch = profile.time(Phase::Upload, step, &copy, || training.upload(pinned))?;
        let loss = profile.time(Phase::Forward, step, &compute, || {
            compute.wait_stream(&copy)?;
            batch.record_stream(&compute);
            training.forward(&batch)
        })?;
        profile.time(Phase::Backward, step, &compute, || training.backward(&loss))?;
        profile.time(Phase::Step, step, &compute, || training.step())?;
    }
    Ok(profile)
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
        events.push(format!(
            r#"{{"name": "{name} {step}", "ph": "X", "pid": 0, "tid": 0, "ts": {ts}, "dur": {dur}}}"#
        ));
    }
    format!("[\n{}\n]\n", events.join(",\n"))
}
