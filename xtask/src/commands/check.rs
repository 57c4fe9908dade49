//! `cargo xtask check`: grades exercises and reports.

use std::io::{ErrorKind, Write};
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
    write_out(&match arguments.format {
        Format::Human => human::render(root, &report),
        Format::Json => format!("{:#}\n", json::document(&report)),
    })?;
    Ok(Exit::of_outcomes(report.outcomes()))
}

/// Writes to standard output. Whoever reads only the first lines (`| head`) closes it early, which
/// changes no verdict.
fn write_out(text: &str) -> std::io::Result<()> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
