//! `cargo xtask check`: grades exercises and reports.

use std::path::Path;

use crate::cli::{CheckArguments, Format, Written};
use crate::course::{Course, Exercise};
use crate::exit::Exit;
use crate::grading::{Whose, grade, supervisor};
use crate::points::Points;
use crate::progress;
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
    if let Some(columns) = arguments.columns {
        text::fit(columns);
    }
    let course = Course::read(root)?;
    let exercises = course.select(&arguments.names)?;
    report::check_files(&arguments.written.also)?;
    let points = arguments.points.as_ref().map(|file| Points::read(file, &course)).transpose()?;
    if arguments.submission.is_some() || arguments.submissions.is_some() {
        return class::run(&course, exercises, points.as_ref(), arguments);
    }
    let whose = if arguments.solutions { Whose::Solution } else { Whose::Learner };
    if arguments.findings_only {
        // `watch` says itself that it checks.
        progress::hush();
    }
    let blocking = launches_block();
    if blocking {
        warn(
            "CUDA_LAUNCH_BLOCKING is set, so every launch waits for its kernel: good for finding the \
             launch that fails, but the verdicts are those of another program, and not remembered.",
        );
    }
    let digest = |exercise: &&Exercise| sources::read(&root.join(exercise.source())).ok();
    let digests = exercises.iter().map(|exercise| digest(exercise).as_ref().map(sources::digest));
    let digests: Vec<Option<String>> = digests.collect();
    let mut report = grade(&course, &exercises, whose, &supervisor(&arguments.run))?;
    check_points(points.as_ref(), &report)?;
    if whose == Whose::Learner && !blocking {
        remember(root, &report, &digests);
        let checked: Vec<u32> = exercises.iter().map(|exercise| exercise.number).collect();
        report.next = Store::of(root).read().value.after(&course, &checked).cloned();
    }
    if arguments.written.format == Format::Human && arguments.findings_only {
        text::print(&human::render_findings(root, &report))?;
        return Ok(Exit::of_outcomes(report.outcomes()));
    }
    tell(root, &report, points.as_ref(), &arguments.written)
}

/// Whether the driver makes launches wait.
fn launches_block() -> bool {
    std::env::var("CUDA_LAUNCH_BLOCKING").is_ok_and(|value| value == "1")
}

/// Sees to it that points name cases that there are.
///
/// # Errors
/// [`WrongPoints`](crate::points::WrongPoints).
pub fn check_points(points: Option<&Points>, report: &Report) -> anyhow::Result<()> {
    // What did not compile could not list its cases.
    for exercise in report.exercises.iter().filter(|exercise| exercise.rustc.is_none()) {
        let cases: Vec<String> = exercise.cases.iter().map(|c| c.verdict.case.clone()).collect();
        points.map(|points| points.check(&exercise.name, &cases)).transpose()?;
    }
    Ok(())
}

/// Writes a report to standard output, to files, and to GitHub.
///
/// # Errors
/// Where it cannot be written.
pub fn tell(
    root: &Path,
    report: &Report,
    points: Option<&Points>,
    written: &Written,
) -> anyhow::Result<Exit> {
    text::print(&report::render(written.format, root, report, points)?)?;
    report::to_files(&written.also, |format| report::render(format, root, report, points))?;
    report::to_github(written.format, || report::markdown::render(report, points))?;
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
