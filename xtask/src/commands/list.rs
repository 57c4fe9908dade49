//! `cargo xtask list`: how the exercises stand.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::cli::{Answer, ListArguments};
use crate::course::{Course, Exercise};
use crate::exit::Exit;
use crate::report::human::device_name;
use crate::sources;
use crate::state::{Record, State, Store};
use crate::text::{self, counted, width, wrapped};

/// The version of the JSON document; see [`crate::report::json`] for when it is raised.
const SCHEMA: u32 = 1;

/// Lists them.
///
/// # Errors
/// Where the course cannot be read.
pub fn run(root: &Path, arguments: &ListArguments) -> anyhow::Result<Exit> {
    let course = Course::read(root)?;
    let state = Store::of(root).read().aloud();
    text::print(&match arguments.format {
        Answer::Human => render(&course, &state),
        Answer::Json => format!("{:#}\n", document(&course, &state)),
    })?;
    Ok(Exit::Success)
}

/// Whether the code is another than the one that the last outcome is about.
fn changed(root: &Path, exercise: &Exercise, record: &Record) -> bool {
    let now = sources::read(&root.join(exercise.source())).ok();
    record.source.is_some() && record.source != now.as_ref().map(sources::digest)
}

/// The list as a person reads it.
pub fn render(course: &Course, state: &State) -> String {
    let rows: Vec<[String; 4]> = course
        .exercises
        .iter()
        .map(|exercise| {
            let record = state.of(&exercise.name);
            let word = record.outcome.map_or("not checked", |outcome| outcome.word());
            let since =
                if changed(&course.root, exercise, &record) { ", changed since" } else { "" };
            let (at, device) = match &record.passed {
                Some(pass) => (pass.local_time(), device_name(pass.device.as_ref()).to_owned()),
                None => ("-".to_owned(), "-".to_owned()),
            };
            [exercise.label(), format!("{word}{since}"), at, device]
        })
        .collect();
    let header = ["   exercise", "state", "last pass", "on"].map(str::to_owned);
    let widths: Vec<usize> = (0..3)
        .map(|column| rows.iter().chain([&header]).map(|row| row[column].len()).max().unwrap_or(0))
        .collect();
    // Half a date says less than none.
    let ends = widths.iter().scan(0, |end, width| {
        *end += width + 2;
        Some(*end)
    });
    let shown = ends.filter(|end| end - 2 <= width()).count().max(1);
    let mut out = String::new();
    for [label, state, at, device] in [&header].into_iter().chain(&rows) {
        let columns = [label, state, at].into_iter().zip(&widths).take(shown);
        let mut line: String = columns.map(|(text, width)| format!("{text:width$}  ")).collect();
        if shown == widths.len() {
            line += device;
        }
        let line: String = line.chars().take(width()).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}", line.trim_end());
    }
    let passed = course.exercises.iter().filter(|e| state.of(&e.name).is_passed()).count();
    let all = counted(course.exercises.len(), "exercise");
    let next = match state.next(course) {
        Some(exercise) => format!("Next: {}, see `cargo xtask next`.", exercise.label()),
        None => "All of them have passed.".to_owned(),
    };
    let _ = writeln!(out, "{}", wrapped(&format!("{passed} of {all} passed. {next}"), ""));
    out
}

fn document(course: &Course, state: &State) -> Value {
    let exercise = |exercise: &Exercise| {
        let record = state.of(&exercise.name);
        json!({
            "number": exercise.number,
            "name": exercise.name,
            "title": exercise.title,
            "outcome": record.outcome,
            "changed": changed(&course.root, exercise, &record),
            "passed": record.passed,
            "hints": { "shown": record.hints.min(exercise.hints.len()), "of": exercise.hints.len() },
        })
    };
    json!({
        "schema": SCHEMA,
        "exercises": course.exercises.iter().map(exercise).collect::<Vec<_>>(),
        "next": state.next(course).map(|exercise| &exercise.name),
    })
}
