//! `cargo xtask next`: which exercise is next, and how to begin.

use std::path::Path;

use crate::cli::NextArguments;
use crate::course::{Course, Exercise};
use crate::exit::{Exit, UsageError};
use crate::state::Store;
use crate::text::{self, labelled, wrapped};

/// Says so.
///
/// # Errors
/// Where the course cannot be read, or somebody names an exercise.
pub fn run(root: &Path, arguments: &NextArguments) -> anyhow::Result<Exit> {
    let course = Course::read(root)?;
    if let Some(name) = arguments.names.first() {
        let Exercise { number, .. } = course.find(name)?;
        anyhow::bail!(UsageError(format!(
            "`next` takes no name; for that one, use `cargo xtask watch {number}` or `check {number}`"
        )));
    }
    say(root, &course)
}

/// Says it of a course.
///
/// # Errors
/// Where standard output cannot be written to.
pub fn say(root: &Path, course: &Course) -> anyhow::Result<Exit> {
    let state = Store::of(root).read().aloud();
    let text = match state.next(course) {
        Some(exercise) => begin(exercise, false),
        None => wrapped(
            "All exercises have passed. `cargo xtask check` says how far you are from the \
             completion criterion; `cargo xtask solution NAME` shows another way to each.\n",
            "",
        ),
    };
    text::print(&text)?;
    Ok(Exit::Success)
}

/// How to begin with an exercise; a watch grades it without being asked.
pub fn begin(exercise: &Exercise, watched: bool) -> String {
    let folder = format!("exercises/{}", exercise.folder);
    let number = exercise.number;
    let rest = match watched {
        true => vec![
            labelled("  grade  ", "it is graded on every save"),
            labelled("  stuck  ", "press h"),
        ],
        false => vec![
            labelled("  grade  ", &format!("cargo xtask watch {number}   on every save, or")),
            labelled("         ", &format!("cargo xtask check {number}   once")),
            labelled("  stuck  ", &format!("cargo xtask hint {number}")),
        ],
    };
    let first = [
        wrapped(&format!("{}: {}", exercise.label(), exercise.title), ""),
        labelled("  read   ", &format!("{folder}/README.md")),
        labelled("  edit   ", &format!("{folder}/src/lib.rs")),
    ];
    [&first[..], &rest, &[String::new()]].concat().join("\n")
}
