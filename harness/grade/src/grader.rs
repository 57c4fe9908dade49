//! What a grading case works with: the device, a seed, and recorded runs of the learner's code.

use std::fmt;
use std::fs::File;
use std::io::BufWriter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use streamlings_driver::recording::{self, Options};
use streamlings_trace::format::{WriteError, Writer};
use streamlings_trace::threads::order_by_time;
use streamlings_trace::{Call, Device, DeviceKind, Frame, Item, MarkKind, Trace};

use crate::aftermath::{Aftermath, Context};
use crate::diagnosis;
use crate::panics::{self, Sources};
use crate::supervise;
use crate::verdict::{At, Figure, Finding};

/// The region of a trace in which the learner's code ran.
pub const RUN: &str = "run";

/// One case at work.
#[derive(Debug)]
pub struct Grader {
    device: Device,
    seed: u64,
    rng: fastrand::Rng,
    sources: Sources,
    /// The folder that they go to.
    traces: Option<PathBuf>,
    /// How many runs there were.
    runs: usize,
    aftermath: Aftermath,
    figures: Vec<Figure>,
    notes: Vec<String>,
}

/// What a run of the learner's code returned, and what the driver recorded meanwhile.
#[derive(Debug)]
pub struct Run<T> {
    /// What it returned.
    pub value: T,
    /// The record. The region [`Grader::RUN`] is the learner's. After it the grader waited for the
    /// device, so that every operation has its time where the device tells it (a GPU does so in
    /// [`Grader::run_timed`] alone); that wait is not in the record.
    pub trace: Trace,
}

impl<T, E: fmt::Display> Run<Result<T, E>> {
    /// The run of a function that must not fail.
    ///
    /// # Errors
    /// [`diagnosis::RETURNED_ERROR`] where it returned an error.
    pub fn ok(self) -> Result<Run<T>, Finding> {
        match self.value {
            Ok(value) => Ok(Run { value, trace: self.trace }),
            Err(error) => Err(Finding::new(
                diagnosis::RETURNED_ERROR,
                format!("the function returned an error: {error}"),
            )),
        }
    }
}

impl Grader {
    /// The name of the region in which the learner's code runs.
    pub const RUN: &str = RUN;

    pub(crate) fn new(
        device: Device,
        seed: u64,
        sources: Sources,
        traces: Option<PathBuf>,
    ) -> Grader {
        let rng = fastrand::Rng::with_seed(seed);
        Grader {
            device,
            seed,
            rng,
            sources,
            traces,
            runs: 0,
            aftermath: Aftermath::default(),
            figures: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The device that this runs on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Whether this runs on a GPU.
    pub fn on_gpu(&self) -> bool {
        self.device.kind == DeviceKind::Gpu
    }

    /// The seed of this run.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Random numbers drawn from the seed: sizes and data come from here, so that a constant cannot
    /// pass and a failure can be repeated.
    pub fn rng(&mut self) -> &mut fastrand::Rng {
        &mut self.rng
    }

    /// Runs the learner's code and records it.
    ///
    /// # Errors
    /// Where it panics: [`diagnosis::NOT_DONE`] for a `todo!()`, else [`diagnosis::PANICKED`].
    pub fn run<T>(&mut self, learner: impl FnOnce() -> T) -> Result<Run<T>, Finding> {
        self.record(Options::default(), learner)
    }

    /// The same, with the device's operations held back by legal delays drawn from `seed`.
    ///
    /// # Errors
    /// As [`Grader::run`].
    pub fn run_perturbed<T>(
        &mut self,
        seed: u64,
        learner: impl FnOnce() -> T,
    ) -> Result<Run<T>, Finding> {
        self.record(Options { seed: Some(seed), ..Options::default() }, learner)
    }

    /// The same, with the time of every operation on the device known on a GPU, too: the driver records
    /// events of its own around each, which costs some microseconds an operation.
    ///
    /// # Errors
    /// As [`Grader::run`].
    pub fn run_timed<T>(&mut self, learner: impl FnOnce() -> T) -> Result<Run<T>, Finding> {
        self.record(Options { timestamps: true, ..Options::default() }, learner)
    }

    /// The same, with the host kept for at least `hold` in each call that enqueues an operation or
    /// synchronizes: an honest clock around such a call shows it.
    ///
    /// # Errors
    /// As [`Grader::run`].
    pub fn run_held<T>(
        &mut self,
        hold: Duration,
        learner: impl FnOnce() -> T,
    ) -> Result<Run<T>, Finding> {
        self.record(Options { hold, ..Options::default() }, learner)
    }

    fn record<T>(
        &mut self,
        mut options: Options,
        learner: impl FnOnce() -> T,
    ) -> Result<Run<T>, Finding> {
        panics::take();
        options.learner_roots = self.sources.learner.clone();
        // Whoever looks at the trace wants to see when operations ran.
        options.timestamps |= self.traces.is_some();
        let context = Context::current();
        recording::begin(options);
        recording::mark(MarkKind::Begin { region: RUN.to_owned() });
        let result = catch_unwind(AssertUnwindSafe(learner));
        recording::mark(MarkKind::End { region: RUN.to_owned() });
        // Operations get their times when they have run. An error here is one that the learner's code
        // left behind; whether it matters shows in what the case looks at.
        let synchronized = cudarc::driver::result::ctx::synchronize();
        let mut trace = recording::finish();
        drop_own_calls(&mut trace);
        order_by_time(&mut trace);
        self.keep(&trace)?;
        let mut aftermath = std::mem::take(&mut self.aftermath);
        aftermath.take_in(&trace, context, synchronized, |call| self.at(&trace, call));
        self.aftermath = aftermath;
        match result {
            Ok(value) => Ok(Run { value, trace }),
            Err(_) => Err(panics::take().map_or_else(
                || Finding::new(diagnosis::PANICKED, "it panicked without a message"),
                panics::Panic::finding,
            )),
        }
    }

    /// Shows a number in the report, whether the case passes or not; one that is infinite or none at all
    /// as a note.
    pub fn figure(&mut self, what: &str, value: f64, unit: &str) {
        if !value.is_finite() {
            return self.note(format!("{what}: {value} {unit}"));
        }
        self.figures.push(Figure { what: what.to_owned(), value, unit: unit.to_owned() });
    }

    /// Shows a sentence in the report, whether the case passes or not.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// The learner's line that made a call.
    pub fn at(&self, trace: &Trace, call: &Call) -> Option<At> {
        self.frame_at(trace.at(call)?)
    }

    /// The line of a stack frame.
    pub fn frame_at(&self, frame: &Frame) -> Option<At> {
        let file = frame.file.as_ref().filter(|_| frame.line > 0)?;
        Some(self.sources.at(Path::new(file), frame.line))
    }

    /// What a case found, with what the runs tell of how it came.
    pub(crate) fn explain(&self, finding: Finding) -> Finding {
        self.aftermath.explain(finding)
    }

    /// Whether a case that found nothing may say so: see [`Aftermath::check_context`].
    pub(crate) fn check_context(&self) -> Result<(), Finding> {
        self.aftermath.check_context()
    }

    pub(crate) fn into_report(self) -> (Device, Vec<Figure>, Vec<String>) {
        (self.device, self.figures, self.notes)
    }

    /// Writes the trace where the supervisor wants it.
    fn keep(&mut self, trace: &Trace) -> Result<(), Finding> {
        self.runs += 1;
        let Some(folder) = &self.traces else { return Ok(()) };
        write_trace(&supervise::trace_file(folder, self.runs), trace)?;
        Ok(())
    }
}

/// Takes out the grader's own wait: whatever the thread of the run did after the run.
fn drop_own_calls(trace: &mut Trace) {
    let end = trace.marks().filter(|mark| is_end_of_run(&mark.kind)).last();
    let Some((thread, end)) = end.map(|mark| (mark.thread, mark.seq)) else { return };
    trace.items.retain(|item| match item {
        Item::Call(call) => call.thread != thread || call.seq < end,
        _ => true,
    });
}

fn is_end_of_run(kind: &MarkKind) -> bool {
    matches!(kind, MarkKind::End { region } if region == RUN)
}

/// Writes a trace file.
fn write_trace(path: &Path, trace: &Trace) -> Result<(), WriteError> {
    let mut writer = Writer::new(BufWriter::new(File::create(path)?), &trace.header)?;
    for item in &trace.items {
        writer.write(item)?;
    }
    writer.finish()?;
    Ok(())
}
