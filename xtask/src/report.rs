//! What a check found, before it is written in one format or another.

pub mod human;
pub mod json;
mod snippet;

use std::path::PathBuf;

use streamlings_grade::supervise::{Captured, CaseRun};
use streamlings_grade::{Outcome, Verdict};
use streamlings_trace::Device;

use crate::criterion::Criterion;
use crate::grading::Whose;

/// One check.
#[derive(Clone, Debug)]
pub struct Report {
    /// What the cases ran on; `None` if nothing ran or there is no device.
    pub device: Option<Device>,
    /// What the driver had to say about the choice of the device.
    pub remarks: Vec<String>,
    /// What was asked for, in the course's order.
    pub exercises: Vec<ExerciseReport>,
    /// The completion criterion.
    pub criterion: Criterion,
    /// Whose code it was.
    pub whose: Whose,
    /// How many exercises the course has.
    pub total: usize,
}

impl Report {
    /// The outcomes of the exercises.
    pub fn outcomes(&self) -> impl Iterator<Item = Outcome> {
        self.exercises.iter().map(|exercise| exercise.outcome)
    }
}

/// One exercise.
#[derive(Clone, Debug)]
pub struct ExerciseReport {
    /// Its number.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// What it teaches.
    pub title: String,
    /// The graded package's folder, within the workspace.
    pub folder: PathBuf,
    /// That of its cases.
    pub outcome: Outcome,
    /// Its cases, in order.
    pub cases: Vec<CaseReport>,
    /// What rustc said, if there is no grade binary.
    pub rustc: Option<String>,
}

impl ExerciseReport {
    /// `01 async_launch`.
    pub fn label(&self) -> String {
        format!("{:02} {}", self.number, self.name)
    }
}

/// One case.
#[derive(Clone, Debug)]
pub struct CaseReport {
    /// How it ended.
    pub verdict: Verdict,
    /// What it wrote.
    pub output: Captured,
    /// How long it ran, in seconds, and with which seed, if it did.
    pub ran: Option<(f64, u64)>,
    /// Whether the exercise passes without it.
    pub optional: bool,
}

impl CaseReport {
    /// A case that could not be run.
    pub fn not_run(verdict: Verdict) -> CaseReport {
        CaseReport { verdict, output: Captured::default(), ran: None, optional: false }
    }

    /// A case that was.
    pub fn of_run(run: CaseRun) -> CaseReport {
        let ran = Some((run.elapsed.as_secs_f64(), run.seed));
        CaseReport { verdict: run.verdict, output: run.output, ran, optional: false }
    }

    /// The outcomes that decide about the exercise.
    pub fn required(cases: &[CaseReport]) -> impl Iterator<Item = Outcome> {
        cases.iter().filter(|case| !case.optional).map(|case| case.verdict.outcome)
    }
}
