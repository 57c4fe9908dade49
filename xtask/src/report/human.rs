//! The report as a person reads it, in at most [`width`] columns.

use std::fmt::Write;
use std::path::Path;

use anstyle::{AnsiColor, Style};
use streamlings_grade::{At, Outcome, Verdict, diagnosis};
use streamlings_trace::Device;

use super::{CaseReport, ExerciseReport, Report, Submitted, backtrace, snippet};
use crate::criterion::{self, State};
use crate::grading::Whose;
use crate::submission::handed_in::shown;
use crate::text::{counted, labelled, listed, width};

/// How many lines of a case's own output are shown: the first ones and the last ones.
const OUTPUT_LINES: usize = 12;

/// How many of a panic with a backtrace.
const PANIC_LINES: usize = 2 * OUTPUT_LINES;

/// How many of rustc's warnings are shown.
const WARNINGS: usize = 3;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const ODD: Style = AnsiColor::Yellow.on_default().bold();

/// Renders the whole report, in colours; printing takes them out where they are not wanted.
pub fn render(root: &Path, report: &Report) -> String {
    let mut out = render_exercises(root, report);
    push_summary(&mut out, report);
    out
}

/// The same, without what is next and the completion criterion.
pub fn render_findings(root: &Path, report: &Report) -> String {
    let mut out = render_exercises(root, report);
    push_device(&mut out, report);
    out
}

fn render_exercises(root: &Path, report: &Report) -> String {
    let mut out = String::new();
    // Those are named in one line.
    for exercise in report.exercises.iter().filter(|exercise| !exercise.is_not_handed_in()) {
        push_exercise(&mut out, root, exercise);
    }
    out
}

/// What is said where there is no device.
pub const NO_DEVICE: &str = "no device";

/// A device as reports name it.
pub fn device_name(device: Option<&Device>) -> &str {
    device.map_or(NO_DEVICE, |device| &device.name)
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
    let passed = CaseReport::required(&exercise.cases).filter(|o| *o == Outcome::Passed).count();
    let required = CaseReport::required(&exercise.cases).count();
    let optional = exercise.cases.iter().filter(|case| case.optional);
    let done = optional.clone().filter(|case| case.verdict.outcome == Outcome::Passed).count();
    let count = match optional.count() {
        0 => format!("{passed} of {required} passed"),
        optional => format!("{passed} of {required} passed, {done} of {optional} optional"),
    };
    let title = format!("{}: {}", exercise.label(), exercise.title);
    let colour = style(exercise.outcome);
    let gap = width().saturating_sub(title.chars().count() + count.len()).max(2);
    line!(out, "{BOLD}{title}{BOLD:#}{:gap$}{colour}{count}{colour:#}", "");

    let widest = |length: fn(&CaseReport) -> usize| exercise.cases.iter().map(length).max();
    let name_width = widest(|case| shown_name(case).len()).unwrap_or(0);
    let word_width = widest(|case| case.verdict.outcome.word().len()).unwrap_or(0);
    for case in &exercise.cases {
        let verdict = &case.verdict;
        let colour = if is_left_out(case) { DIM } else { style(verdict.outcome) };
        let sign = if verdict.outcome == Outcome::Passed { "ok" } else { "--" };
        let word = verdict.outcome.word();
        let name = shown_name(case);
        let line =
            format!("  {colour}{sign}{colour:#} {name:name_width$}  {colour}{word}{colour:#}");
        let indent = 5 + name_width + 2 + word_width + 2;
        let figures = verdict.figures.iter().map(ToString::to_string);
        let mut figures = rows_of(figures, width().saturating_sub(indent)).into_iter();
        match figures.next() {
            Some(first) => {
                let gap = word_width - word.len() + 2;
                line!(out, "{line}{:gap$}{DIM}{first}{DIM:#}", "");
            }
            None => line!(out, "{line}"),
        }
        for more in figures {
            line!(out, "{:indent$}{DIM}{more}{DIM:#}", "");
        }
        if verdict.outcome == Outcome::Passed {
            for note in &verdict.notes {
                for part in textwrap::wrap(note, width() - 5) {
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
    for cases in alike(&exercise.cases) {
        push_alike(out, root, exercise, &cases);
    }
    push_warnings(out, exercise);
}

/// What rustc warns of may be the learner's mistake. Who has passed only hears how much it is.
fn push_warnings(out: &mut String, exercise: &ExerciseReport) {
    if exercise.warnings.is_empty() || !exercise.outcome.is_about_the_code() {
        return;
    }
    let shown = if exercise.outcome == Outcome::Passed { 0 } else { WARNINGS };
    for warning in exercise.warnings.iter().take(shown) {
        line!(out, "{}\n", warning.trim_end());
    }
    let left = exercise.warnings.len().saturating_sub(shown);
    if left > 0 {
        let what = counted(left, if shown > 0 { "more warning" } else { "warning" });
        let text = format!("rustc has {what}: see `cargo check -p {}`", exercise.name);
        line!(out, "{DIM}{}{DIM:#}\n", textwrap::fill(&text, width()));
    }
}

/// A case's name in the list.
fn shown_name(case: &CaseReport) -> String {
    let mark = if case.optional { " (optional)" } else { "" };
    format!("{}{mark}", case.verdict.case)
}

/// Whether nobody has begun with a case that nobody has to do.
fn is_left_out(case: &CaseReport) -> bool {
    case.optional && case.verdict.outcome == Outcome::NotDone
}

/// The line where the code panicked, if it did.
fn panicked_at(case: &CaseReport) -> Option<&At> {
    let panicked = case.verdict.diagnosis.as_deref() == Some(diagnosis::PANICKED.code);
    case.verdict.at().filter(|_| panicked)
}

/// A case that panicked where the `first` did, whose report and backtrace are above.
fn push_same_panic(out: &mut String, folder: &Path, first: &CaseReport, case: &CaseReport) {
    // What std says of a panic, and a backtrace, stand behind what the code wrote before.
    let text = case.output.text();
    let before = text.find("\nthread '").map_or("", |at| &text[..at]);
    push_output(out, folder, (&format!("output of {}", case.verdict.case), case), before);
    let Verdict { case: name, message, .. } = &case.verdict;
    let but = match *message == first.verdict.message {
        true => String::new(),
        false => format!(": {message}"),
    };
    let seed = case.ran.map_or(String::new(), |(_, seed)| format!(" (with --seed {seed})"));
    let said = format!("{name} panicked at the same line{seed}{but}");
    line!(out, "{DIM}{}{DIM:#}", textwrap::fill(&said, width()));
}

/// The cases that did not pass; those with the same to mend come together.
fn alike(cases: &[CaseReport]) -> Vec<Vec<&CaseReport>> {
    let mut groups: Vec<Vec<&CaseReport>> = Vec::new();
    let not_passed = |case: &&CaseReport| case.verdict.outcome != Outcome::Passed;
    for case in cases.iter().filter(not_passed).filter(|case| !is_left_out(case)) {
        let is_alike = |first: &CaseReport| {
            let at = first.verdict.at();
            let is_there = at.is_some() && at == case.verdict.at();
            says_the_same(first, case)
                || (is_there && first.verdict.diagnosis == case.verdict.diagnosis)
        };
        match groups.iter_mut().find(|group| is_alike(group[0])) {
            Some(group) => group.push(case),
            None => groups.push(vec![case]),
        }
    }
    groups
}

/// Whether two cases say word for word the same.
fn says_the_same(one: &CaseReport, other: &CaseReport) -> bool {
    let says = |case: &CaseReport| {
        let Verdict { diagnosis, message, spots, notes, .. } = case.verdict.clone();
        (diagnosis, message, spots, notes)
    };
    says(one) == says(other)
}

/// Cases with the same to mend: the first in full, and what the others have besides.
fn push_alike(out: &mut String, root: &Path, exercise: &ExerciseReport, cases: &[&CaseReport]) {
    let first = cases[0];
    let panicked = panicked_at(first).is_some();
    let named = |case: &&&CaseReport| panicked || says_the_same(first, case);
    let names: Vec<&str> =
        cases.iter().filter(named).map(|case| case.verdict.case.as_str()).collect();
    let title = first.verdict.diagnosis.as_deref().and_then(diagnosis::find);
    let title = title.map_or("", |diagnosis| diagnosis.title);
    let heading = format!("{} {}: {title}", exercise.label(), names.join(", "));
    line!(out, "{BOLD}{}{BOLD:#}", textwrap::fill(&heading, width()));
    line!(out, "{}", snippet::render(root, &first.verdict));
    let others = cases.iter().filter(|case| !named(case));
    let others: Vec<String> = others.map(|case| format!("`{}`", case.verdict.case)).collect();
    if !others.is_empty() {
        let others = others.join(", ");
        let said = format!("the same at this line: {others}; `--format json` has what each says");
        line!(out, "{}", textwrap::fill(&said, width()));
    }
    for (index, case) in cases.iter().enumerate() {
        match panicked && index > 0 {
            true => push_same_panic(out, &exercise.folder, first, case),
            false => {
                let whose = match cases.len() {
                    1 => "its output".to_owned(),
                    _ => format!("output of {}", case.verdict.case),
                };
                push_output(out, &exercise.folder, (&whose, case), &case.output.text());
            }
        }
    }
    line!(out);
}

/// Fills rows of at most `width` columns with items that are not broken.
fn rows_of(items: impl Iterator<Item = String>, width: usize) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for item in items {
        match rows.last_mut() {
            Some(row) if row.len() + 3 + item.len() <= width => {
                row.push_str(" | ");
                row.push_str(&item);
            }
            _ => rows.push(item),
        }
    }
    rows
}

/// Without a grade binary, all cases have the same to say, and if rustc speaks of the learner's code, it says it
/// better.
fn push_not_built(out: &mut String, root: &Path, exercise: &ExerciseReport, rustc: &str) {
    if !rustc.is_empty() {
        line!(out, "{}\n", rustc.trim_end());
    }
    if let Some(case) = exercise.cases.first() {
        let mut verdict = case.verdict.clone();
        if !rustc.is_empty()
            && verdict.diagnosis.as_deref() != Some(diagnosis::SIGNATURE_CHANGED.code)
        {
            verdict.spots.clear();
        }
        line!(out, "{}", snippet::render(root, &verdict));
        line!(out);
    }
}

/// What a case of the exercise in this folder wrote.
fn push_output(out: &mut String, folder: &Path, (whose, case): (&str, &CaseReport), text: &str) {
    // What `todo!()` prints has been said.
    if case.verdict.diagnosis.as_deref() == Some(diagnosis::NOT_DONE.code) {
        return;
    }
    if text.is_empty() {
        return;
    }
    let seed = case.ran.map_or(String::new(), |(_, seed)| format!(" (with --seed {seed})"));
    line!(out, "{DIM}{whose}{seed}:{DIM:#}");
    let (before, panic) = backtrace::told_apart(text, folder);
    push_lines(out, &before, OUTPUT_LINES);
    push_lines(out, &panic, PANIC_LINES);
}

/// The first and the last of a text's lines, so many in all.
fn push_lines(out: &mut String, text: &str, most: usize) {
    let lines: Vec<&str> = text.lines().collect();
    let (head, tail) = match lines.len() {
        count if count <= most => (&lines[..], &[][..]),
        count => (&lines[..most / 2], &lines[count - most / 2..]),
    };
    let mut push = |text: &str| {
        // Cut, not wrapped: it is the learner's own.
        let room = width() - 4;
        let shown = match text.char_indices().nth(room) {
            None => text.to_owned(),
            Some(_) => text.chars().take(room - 3).chain("...".chars()).collect(),
        };
        line!(out, "{DIM}{}{DIM:#}", format!("  | {shown}").trim_end());
    };
    head.iter().for_each(|line| push(line));
    if !tail.is_empty() {
        push(&format!("... {} lines left out ...", lines.len() - most));
    }
    tail.iter().for_each(|line| push(line));
}

/// How many of the files that were not used are named.
const IGNORED: usize = 12;

fn push_submission(out: &mut String, report: &Report, submission: &Submitted) {
    line!(out, "Submission: {BOLD}{}{BOLD:#}", submission.name);
    let text = format!("Isolation: {}", submission.isolation);
    line!(out, "{}", textwrap::fill(&text, width()));
    let missing = report.not_handed_in();
    if !missing.is_empty() {
        line!(out, "{}", listed("Not handed in: ", &missing));
    }
    for remark in &submission.remarks {
        line!(out, "{}", labelled("Note: ", remark));
    }
    if submission.ignored.is_empty() {
        return;
    }
    let count = submission.ignored.len();
    let files = counted(count, "changed or added file");
    line!(out, "Not used, since only src/ of each exercise is: {files}");
    for path in submission.ignored.iter().take(IGNORED) {
        line!(out, "  {}", shown(path.as_os_str()));
    }
    if count > IGNORED {
        line!(out, "  ... and {} more", count - IGNORED);
    }
}

fn push_device(out: &mut String, report: &Report) {
    if let Some(submission) = &report.submission {
        push_submission(out, report, submission);
    }
    line!(out, "Device: {BOLD}{}{BOLD:#}", report.device_name());
    if report.submission.is_some() {
        out.push_str(&of_device(&[report]));
        return;
    }
    // The findings have said why.
    let missing = report.why_no_device();
    let is_told = |remark: &&String| missing.is_some_and(|told| remark.starts_with(told));
    push_remarks(out, report.remarks.iter().filter(|remark| !is_told(remark)));
}

/// What there is to say of the device, or of why there is none, below its name.
pub fn of_device(reports: &[&Report]) -> String {
    let remarks = reports.first().map_or(&[][..], |report| &report.remarks);
    let without = reports.iter().filter(|report| report.device.is_none());
    // The driver's own words say it, too.
    let mut why =
        without.filter(|_| remarks.is_empty()).filter_map(|report| report.why_no_device());
    let mut out = String::new();
    push_remarks(&mut out, remarks.iter().map(String::as_str).chain(why.next()));
    out
}

fn push_remarks(out: &mut String, remarks: impl Iterator<Item = impl AsRef<str>>) {
    for said in remarks {
        for part in textwrap::wrap(said.as_ref(), width() - 2) {
            line!(out, "  {part}");
        }
    }
}

fn push_summary(out: &mut String, report: &Report) {
    push_device(out, report);
    let solved: Vec<String> = report
        .exercises
        .iter()
        .filter(|exercise| exercise.outcome == Outcome::Passed)
        .map(ExerciseReport::label)
        .collect();
    let count = format!("Solved: {} of {}: ", solved.len(), report.exercises.len());
    let names = if solved.is_empty() { vec!["none".to_owned()] } else { solved };
    line!(out, "{}", listed(&count, &names));
    if report.exercises.len() < report.total {
        let left_out = report.total - report.exercises.len();
        let criterion = match checked_parts(report) {
            _ if report.whose == Whose::Solution || report.submission.is_some() => "",
            None => "",
            Some(parts) if parts.is_empty() => ", and the completion criterion",
            Some(_) => ", and the rest of the completion criterion",
        };
        line!(out, "Not checked: {left_out} of {} exercises{criterion}", report.total);
    }
    if report.whose == Whose::Solution {
        line!(out, "These are the reference solutions, not your code.");
        return;
    }
    if report.submission.is_some() {
        return;
    }
    let failed = report.exercises.iter().find(|exercise| exercise.outcome != Outcome::Passed);
    let failed = failed.map(|e| (e.number, e.label(), e.folder.clone()));
    let open = report.next.as_ref();
    let open = open.map(|e| (e.number, e.label(), report.whose.package(e).folder));
    if let Some((number, label, folder)) = failed.or(open) {
        line!(out, "Next:   {BOLD}{label}{BOLD:#}");
        match report.packed {
            true => {
                line!(
                    out,
                    "        edit it in the checkout that this was packed from, and pack it again"
                );
            }
            false => {
                let folder = folder.display();
                // A line each: paths are there to be clicked.
                line!(out, "        read {folder}/README.md");
                line!(out, "        edit {folder}/src/lib.rs");
                line!(out, "        then cargo xtask check {number}");
            }
        }
    }
    if let Some(parts) = checked_parts(report) {
        for part in parts {
            let text = format!("Completion criterion: {}", state_of(part));
            line!(out, "{}", textwrap::fill(&text, width()));
        }
        return;
    }
    let state = report.criterion.state();
    let partly = report.criterion.parts.iter().any(|part| part.state == State::NotInThisVersion);
    let partly = if partly { ", as far as this version goes" } else { "" };
    let text = format!("Completion criterion{partly}: {}", state.words());
    line!(out, "{}", textwrap::fill(&text, width()));
    for part in &report.criterion.parts {
        let options =
            textwrap::Options::new(width()).initial_indent("  - ").subsequent_indent("    ");
        line!(out, "{}", textwrap::fill(&state_of(part), options));
    }
}

/// Of a check that left out some of the course, and so of the completion criterion: the parts of that which it
/// did look at.
fn checked_parts(report: &Report) -> Option<Vec<&criterion::Part>> {
    let parts = || report.criterion.parts.iter();
    let is_checked = |part: &&criterion::Part| {
        !matches!(part.state, State::NotChecked | State::NotInThisVersion)
    };
    let is_whole = parts().all(|part| part.state != State::NotChecked)
        && parts().any(|part| is_checked(&part));
    let is_short = report.exercises.len() < report.total && !is_whole;
    is_short.then(|| parts().filter(is_checked).collect())
}

/// How far a part of the criterion is met.
fn state_of(part: &criterion::Part) -> String {
    let detail = match part.detail.as_str() {
        "" => String::new(),
        detail => format!(" ({detail})"),
    };
    format!("{}: {}{detail}", part.what, part.state.words())
}

#[cfg(test)]
mod tests;
