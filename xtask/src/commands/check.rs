//! `cargo xtask check`: grades exercises and reports.

use std::path::Path;

use crate::cli::{CheckArguments, Format};
use crate::course::{Course, Exercise};
use crate::exit::Exit;
use crate::grading::{Whose, grade, supervisor};
use crate::points::Points;
use crate::report::{self, Report, human};
use crate::sources;
use crate::state::{State, Store};
use crate::submission::class;
use crate::text::{self, warn};

/// Grades what was asked for, and writes the report to standard output.
///
/// # Errors
/// Where an exercise is not known, the course cannot be read, or cargo cannot be run.
pub fn run(root: &Path, arguments: &CheckArguments) -> anyhow::Result<Exit> {
    let course = Course::read(root)?;
    let exercises = course.select(&arguments.names)?;
    let points = arguments.points.as_ref().map(|file| Points::read(file, &course)).transpose()?;
    if arguments.submission.is_some() || arguments.submissions.is_some() {
        return class::run(&course, exercises, points.as_ref(), arguments);
    }
    let whose = if arguments.solutions { Whose::Solution } else { Whose::Learner };
    let digest = |exercise: &&Exercise| sources::read(&root.join(exercise.source())).ok();
    let digests = exercises.iter().map(|exercise| digest(exercise).as_ref().map(sources::digest));
    let digests: Vec<Option<String>> = digests.collect();
    let report = grade(&course, &exercises, whose, &supervisor(&arguments.run))?;
    if let Some(points) = &points {
        for exercise in report.exercises.iter().filter(|exercise| exercise.rustc.is_none()) {
            let cases: Vec<String> =
                exercise.cases.iter().map(|c| c.verdict.case.clone()).collect();
            points.check(&exercise.name, &cases)?;
        }
    }
    let points = points.as_ref();
    if whose == Whose::Learner {
        remember(root, &report, &digests);
    }
    text::print(&match arguments.format {
        Format::Human if arguments.findings_only => human::render_findings(root, &report),
        format => report::render(format, root, &report, points)?,
    })?;
    report::to_github(arguments.format, || report::markdown::render(&report, points))?;
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
