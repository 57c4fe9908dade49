//! `cargo xtask check`: grades exercises and reports.

use std::path::Path;

use crate::cli::{CheckArguments, Format};
use crate::course::Course;
use crate::exit::Exit;
use crate::grading::{Whose, grade, supervisor};
use crate::report::{human, json};

/// Grades what was asked for, and writes the report to standard output.
///
/// # Errors
/// Where an exercise is not known, the course cannot be read, or cargo cannot be run.
pub fn run(root: &Path, arguments: &CheckArguments) -> anyhow::Result<Exit> {
    let course = Course::read(root)?;
    let exercises = course.select(&arguments.names)?;
    let whose = if arguments.solutions { Whose::Solution } else { Whose::Learner };
    let report = grade(&course, &exercises, whose, &supervisor(&arguments.run))?;
    match arguments.format {
        Format::Human => anstream::print!("{}", human::render(root, &report)),
        Format::Json => println!("{:#}", json::document(&report)),
    }
    Ok(Exit::of_outcomes(report.outcomes()))
}
