//! The solution's `profile` with one thing wrong, which is for the mutants to choose.

use phase_timing_solution::{Profile, Timed};
use streamlings::tensor::{Device, Event, Result, Stream, with_stream};
use streamlings::{Phase, PinnedBatch, Training};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// The host waits for each phase.
    WaitsForEach,
    /// The host asks after each phase until that is over.
    Polls,
    /// The host waits for each step.
    WaitsForSteps,
    /// Forward's first event comes before the wait for the upload.
    WaitInside,
    /// The upload's events are recorded on the stream of the others.
    EventsElsewhere,
    /// Forward's second event is recorded after backward, too.
    EndsLate,
    /// Events made without timing.
    Untimed,
    /// The times are read at once.
    ReadAtOnce,
    /// All is on one stream.
    OneStream,
    /// The upload waits for the step before.
    UploadWaits,
    /// Forward does not wait for the upload.
    NoWait,
    /// Times that nobody measured.
    Constant,
    /// One phase is left out.
    LeavesOneOut,
}

struct Boundaries {
    phase: Phase,
    step: usize,
    start: Event,
    end: Event,
}

fn event(wrong: Wrong, stream: &Stream) -> Result<Event> {
    if wrong == Wrong::Untimed { stream.record_event() } else { stream.record_timed_event() }
}

pub fn profile(wrong: Wrong, training: &Training, batches: &[PinnedBatch]) -> Result<Profile> {
    let compute = Stream::new("compute")?;
    let copy = if wrong == Wrong::OneStream { compute.clone() } else { Stream::new("copy")? };
    let mut all: Vec<Boundaries> = Vec::new();
    for (step, pinned) in batches.iter().enumerate() {
        if wrong == Wrong::UploadWaits {
            copy.wait_stream(&compute)?;
        }
        let mut batch = None;
        let mut loss = None;
        for phase in Phase::ALL {
            let stream = if phase == Phase::Upload { &copy } else { &compute };
            let timed_on = if wrong == Wrong::EventsElsewhere { &compute } else { stream };
            let wait = || match phase == Phase::Forward && wrong != Wrong::NoWait {
                true => compute.wait_stream(&copy),
                false => Ok(()),
            };
            if wrong != Wrong::WaitInside {
                wait()?;
            }
            let start = event(wrong, timed_on)?;
            if wrong == Wrong::WaitInside {
                wait()?;
            }
            with_stream(stream, || -> Result<()> {
                match (phase, &batch, &loss) {
                    (Phase::Upload, ..) => batch = Some(training.upload(pinned)?),
                    (Phase::Forward, Some(batch), _) => {
                        batch.record_stream(&compute);
                        loss = Some(training.forward(batch)?);
                    }
                    (Phase::Backward, _, Some(loss)) => training.backward(loss)?,
                    _ => training.step()?,
                }
                Ok(())
            })?;
            let end = event(wrong, timed_on)?;
            if wrong == Wrong::WaitsForEach {
                end.synchronize()?;
            }
            while wrong == Wrong::Polls && !end.query()? {
                std::thread::yield_now();
            }
            if wrong == Wrong::EndsLate
                && phase == Phase::Backward
                && let Some(forward) = all.last_mut()
            {
                forward.end = end.clone();
            }
            all.push(Boundaries { phase, step, start, end });
        }
        if wrong == Wrong::WaitsForSteps {
            compute.synchronize()?;
        }
    }
    if wrong == Wrong::LeavesOneOut {
        all.remove(1);
    }
    if wrong != Wrong::ReadAtOnce {
        Device::get()?.synchronize()?;
    }
    let whole_ms = all[0].start.elapsed_ms(&all[all.len() - 1].end)?;
    let mut phases = Vec::new();
    for (index, one) in all.iter().enumerate() {
        let Boundaries { phase, step, start, end } = one;
        let (start_ms, ms) = match wrong {
            Wrong::Constant => (index as f32, 1.0),
            _ => (all[0].start.elapsed_ms(start)?, start.elapsed_ms(end)?),
        };
        phases.push(Timed { phase: *phase, step: *step, start_ms, ms });
    }
    if wrong == Wrong::Constant {
        // They are asked for, and not used.
        for one in &all {
            one.start.elapsed_ms(&one.end)?;
        }
    }
    Ok(Profile { phases, whole_ms })
}
