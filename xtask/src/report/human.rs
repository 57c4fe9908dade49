//! The report as a person reads it, in at most [`WIDTH`] columns.

use std::fmt::Write;
use std::path::Path;

use anstyle::{AnsiColor, Style};
use streamlings_grade::{Outcome, diagnosis};
use streamlings_trace::Device;

use super::{CaseReport, ExerciseReport, Report, snippet};
use crate::grading::Whose;

/// No line of ours is longer. (rustc's own may be.)
pub const WIDTH: usize = 100;
/// How many lines of a case's own output are shown: the first ones and the last ones.
const OUTPUT_LINES: usize = 12;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const ODD: Style = AnsiColor::Yellow.on_default().bold();

/// Renders the whole report, in colours; printing takes them out where they are not wanted.
pub fn render(root: &Path, report: &Report) -> String {
    let mut out = String::new();
    for exercise in &report.exercises {
        push_exercise(&mut out, root, exercise);
    }
    push_summary(&mut out, report);
    out
}

/// A device as reports name it.
pub fn device_name(device: Option<&Device>) -> &str {
    device.map_or("no device", |device| &device.name)
}

fn style(outcome: Outcome) -> Style {
    match outcome {
        Outcome::Passed => GOOD,
        outcome if outcome.is_about_the_code() => BAD,
        _ => ODD,
    }
}

/// Writing to a string cannot fail.
macro_rules! line {
    ($out:expr) => { $out.push('\n') };
    ($out:expr, $($arg:tt)*) => {{
        let _ = writeln!($out, $($arg)*);
    }};
}

fn push_exercise(out: &mut String, root: &Path, exercise: &ExerciseReport) {
    let passed = exercise.cases.iter().filter(|c| c.verdict.outcome == Outcome::Passed).count();
    let count = format!("{passed} of {} passed", exercise.cases.len());
    let title = format!("{}: {}", exercise.label(), exercise.title);
    let colour = style(exercise.outcome);
    let gap = WIDTH.saturating_sub(title.chars().count() + count.len()).max(2);
    line!(out, "{BOLD}{title}{BOLD:#}{:gap$}{colour}{count}{colour:#}", "");

    let widest = exercise.cases.iter().map(|case| case.verdict.case.len()).max().unwrap_or(0);
    for case in &exercise.cases {
        let verdict = &case.verdict;
        let colour = style(verdict.outcome);
        let sign = if verdict.outcome == Outcome::Passed { "ok" } else { "--" };
        let word = verdict.outcome.word();
        let line = format!(
            "  {colour}{sign}{colour:#} {:widest$}  {colour}{word}{colour:#}",
            verdict.case
        );
        let figures = verdict.figures.iter().map(ToString::to_string).collect::<Vec<_>>();
        let room = WIDTH - (5 + widest + 2 + word.len() + 2);
        let figures = figures.join(" | ");
        let mut figures = textwrap::wrap(&figures, room).into_iter();
        match figures.next() {
            Some(first) => line!(out, "{line}  {DIM}{first}{DIM:#}"),
            None => line!(out, "{line}"),
        }
        for more in figures {
            line!(out, "{:indent$}{DIM}{more}{DIM:#}", "", indent = WIDTH - room);
        }
        if verdict.outcome == Outcome::Passed {
            for note in &verdict.notes {
                for part in textwrap::wrap(note, WIDTH - 5) {
                    line!(out, "     {DIM}{part}{DIM:#}");
                }
            }
        }
    }
    line!(out);
    if let Some(rustc) = &exercise.rustc {
        push_not_built(out, root, exercise, rustc);
        return;
    }
    for case in &exercise.cases {
        if case.verdict.outcome != Outcome::Passed {
            line!(out, "{BOLD}{} {}{BOLD:#}", exercise.label(), case.verdict.case);
            line!(out, "{}", snippet::render(root, &case.verdict));
            push_output(out, case);
            line!(out);
        }
    }
}

/// Without a grade binary, all cases have the same to say, and rustc says it better.
fn push_not_built(out: &mut String, root: &Path, exercise: &ExerciseReport, rustc: &str) {
    line!(out, "{}", rustc.trim_end());
    line!(out);
    if let Some(case) = exercise.cases.first() {
        let mut verdict = case.verdict.clone();
        verdict.spots.clear();
        line!(out, "{}", snippet::render(root, &verdict));
        line!(out);
    }
}

fn push_output(out: &mut String, case: &CaseReport) {
    // What `todo!()` prints has been said.
    if case.verdict.diagnosis.as_deref() == Some(diagnosis::NOT_DONE.code) {
        return;
    }
    let text = case.output.text();
    let lines: Vec<&str> = text.lines().collect();
    if lines.is_empty() {
        return;
    }
    let seed = case.ran.map_or(String::new(), |(_, seed)| format!(" (with --seed {seed})"));
    line!(out, "{DIM}its output{seed}:{DIM:#}");
    let (head, tail) = match lines.len() {
        count if count <= OUTPUT_LINES => (&lines[..], &[][..]),
        count => (&lines[..OUTPUT_LINES / 2], &lines[count - OUTPUT_LINES / 2..]),
    };
    let mut push = |text: &str| {
        // Cut, not wrapped: it is the learner's own.
        let shown: String = text.chars().take(WIDTH - 4).collect();
        line!(out, "{DIM}  | {shown}{DIM:#}");
    };
    head.iter().for_each(|line| push(line));
    if !tail.is_empty() {
        push(&format!("... {} lines left out ...", lines.len() - OUTPUT_LINES));
    }
    tail.iter().for_each(|line| push(line));
}

fn push_summary(out: &mut String, report: &Report) {
    line!(out, "Device: {BOLD}{}{BOLD:#}", device_name(report.device.as_ref()));
    for remark in &report.remarks {
        for part in textwrap::wrap(remark, WIDTH - 2) {
            line!(out, "  {part}");
        }
    }
    let solved: Vec<String> = report
        .exercises
        .iter()
        .filter(|exercise| exercise.outcome == Outcome::Passed)
        .map(ExerciseReport::label)
        .collect();
    let names = if solved.is_empty() { "none".to_owned() } else { solved.join(", ") };
    let text = format!("Solved: {} of {}: {names}", solved.len(), report.exercises.len());
    line!(out, "{}", textwrap::fill(&text, WIDTH));
    if report.exercises.len() < report.total {
        let left_out = report.total - report.exercises.len();
        line!(out, "Not checked: {left_out} of {} exercises", report.total);
    }
    if report.whose == Whose::Solution {
        line!(out, "These are the reference solutions, not your code.");
        return;
    }
    let next = report.exercises.iter().find(|exercise| exercise.outcome != Outcome::Passed);
    if let Some(exercise) = next {
        line!(out, "Next:   {BOLD}{}{BOLD:#}", exercise.label());
        let folder = exercise.folder.display();
        line!(out, "        read {folder}/README.md, edit {folder}/src/lib.rs, then");
        line!(out, "        cargo xtask check {}", exercise.number);
    }
    let met = if report.criterion.met { "met" } else { "not met yet" };
    line!(out, "Completion criterion: {met}");
    for part in &report.criterion.parts {
        let detail = match part.detail.as_str() {
            "" => String::new(),
            detail => format!(" ({detail})"),
        };
        let text = format!("{}: {}{detail}", part.what, part.state.words());
        let options =
            textwrap::Options::new(WIDTH).initial_indent("  - ").subsequent_indent("    ");
        line!(out, "{}", textwrap::fill(&text, options));
    }
}
