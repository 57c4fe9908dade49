//! `cargo xtask hint`: one more hint with each call.

use std::path::Path;

use crate::cli::HintArguments;
use crate::commands::next;
use crate::course::{Course, Exercise};
use crate::exit::Exit;
use crate::state::Store;
use crate::text::{self, labelled, warn, wrapped};

/// Shows the next hint, and says how many are left.
///
/// # Errors
/// Where the exercise is not known, or the course cannot be read.
pub fn run(root: &Path, arguments: &HintArguments) -> anyhow::Result<Exit> {
    let course = Course::read(root)?;
    let exercise = match &arguments.name {
        Some(name) => course.find(name)?,
        None => match Store::of(root).read().value.next(&course) {
            Some(exercise) => exercise,
            None => return next::say(root, &course),
        },
    };
    let more = format!("`cargo xtask hint {}`", exercise.number);
    let (hint, remark) = reveal(root, exercise, &more);
    if let Some(remark) = remark {
        warn(&remark);
    }
    text::print(&hint)?;
    Ok(Exit::Success)
}

/// Reveals one more hint and remembers that; the second is what has to be said besides. `more` is how to
/// get another.
pub fn reveal(root: &Path, exercise: &Exercise, more: &str) -> (String, Option<String>) {
    let all = exercise.hints.len();
    let store = Store::of(root);
    let one_more = store.update(|state| {
        let record = state.of_mut(&exercise.name);
        let before = record.hints.min(all);
        record.hints = (before + 1).min(all);
        before
    });
    match one_more {
        Ok(told) => (render(exercise, told.value, more), told.remark),
        Err(error) => {
            let before = store.read().value.of(&exercise.name).hints.min(all);
            let remark = format!("that you have seen this hint is not remembered: {error:#}");
            (render(exercise, before, more), Some(remark))
        }
    }
}

/// The hint after the first `before`; all of them, once all have been shown.
fn render(exercise: &Exercise, before: usize, more: &str) -> String {
    let all = exercise.hints.len();
    let (label, number) = (exercise.label(), exercise.number);
    if all == 0 {
        return format!("{label} has no hints; its README.md has the idea.\n");
    }
    let line = |index: usize| {
        let hint = labelled(&format!("hint {} of {all}: ", index + 1), &exercise.hints[index]);
        format!("{hint}\n")
    };
    if before == all {
        let hints: String = (0..all).map(line).collect();
        return format!("{label}: these are all the hints.\n{hints}");
    }
    let left = match all - before - 1 {
        0 => format!(
            "That was the last one. `cargo xtask solution {number} --spoil` shows one way to do it."
        ),
        1 => format!("One is left: {more} shows it."),
        left => format!("{left} are left: {more} shows the next."),
    };
    format!("{label}\n{}{}\n", line(before), wrapped(&left, ""))
}
