//! `cargo xtask check`: grades exercises and reports.

use std::path::Path;

use crate::cli::CheckArguments;
use crate::course::Course;
use crate::exit::Exit;
use crate::grading::{Whose, grade, supervisor};
use crate::points::Points;
use crate::report::{self, write_out};
use crate::submission::class;

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
    let report = grade(&course, &exercises, whose, &supervisor(&arguments.run))?;
    if let Some(points) = &points {
        for exercise in report.exercises.iter().filter(|exercise| exercise.rustc.is_none()) {
            let cases: Vec<String> =
                exercise.cases.iter().map(|c| c.verdict.case.clone()).collect();
            points.check(&exercise.name, &cases)?;
        }
    }
    let points = points.as_ref();
    write_out(&report::render(arguments.format, root, &report, points)?)?;
    report::to_github(arguments.format, || report::markdown::render(&report, points))?;
    Ok(Exit::of_outcomes(report.outcomes()))
}
