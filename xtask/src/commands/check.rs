//! `cargo xtask check`: grades exercises and reports.

use std::path::Path;

use crate::cli::{CheckArguments, Format};
use crate::course::{Course, Exercise};
use crate::exit::Exit;
use crate::grading::{Whose, grade, supervisor};
use crate::report::{Report, human, json};
use crate::state::{State, Store};
use crate::text::warn;
use crate::{sources, text};

/// Grades what was asked for, and writes the report to standard output.
///
/// # Errors
/// Where an exercise is not known, the course cannot be read, or cargo cannot be run.
pub fn run(root: &Path, arguments: &CheckArguments) -> anyhow::Result<Exit> {
    let course = Course::read(root)?;
    let exercises = course.select(&arguments.names)?;
    let whose = if arguments.solutions { Whose::Solution } else { Whose::Learner };
    let digest = |exercise: &&Exercise| sources::read(&root.join(exercise.source())).ok();
    let digests = exercises.iter().map(|exercise| digest(exercise).as_ref().map(sources::digest));
    let digests: Vec<Option<String>> = digests.collect();
    let report = grade(&course, &exercises, whose, &supervisor(&arguments.run))?;
    if whose == Whose::Learner {
        remember(root, &report, &digests);
    }
    text::print(&match arguments.format {
        Format::Human if arguments.findings_only => human::render_findings(root, &report),
        Format::Human => human::render(root, &report),
        Format::Json => format!("{:#}\n", json::document(&report)),
    })?;
    Ok(Exit::of_outcomes(report.outcomes()))
}

/// Remembers how the learner's exercises stand. What cannot be remembered changes no verdict.
fn remember(root: &Path, report: &Report, digests: &[Option<String>]) {
    let change = |state: &mut State| {
        for (exercise, digest) in report.exercises.iter().zip(digests) {
            let record = state.of_mut(&exercise.name);
            record.take_in(exercise.outcome, digest.clone(), report.device.clone());
        }
    };
    match Store::of(root).update(change) {
        Ok(told) => told.aloud(),
        Err(error) => warn(&format!("your progress is not remembered: {error:#}")),
    }
}
