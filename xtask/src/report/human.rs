//! The report as a person reads it, in at most [`width`] columns.

use std::fmt::Write;
use std::path::Path;

use anstyle::{AnsiColor, Style};
use streamlings_grade::{Outcome, Verdict, diagnosis};
use streamlings_trace::Device;

use super::{CaseReport, ExerciseReport, Report, Submitted, snippet};
use crate::criterion::State;
use crate::grading::Whose;
use crate::text::width;

/// How many lines of a case's own output are shown: the first ones and the last ones.
const OUTPUT_LINES: usize = 12;

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
    for exercise in &report.exercises {
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
        let names: Vec<&str> = cases.iter().map(|case| case.verdict.case.as_str()).collect();
        let verdict = &cases[0].verdict;
        let title = verdict.diagnosis.as_deref().and_then(diagnosis::find);
        let title = title.map_or("", |diagnosis| diagnosis.title);
        let heading = format!("{} {}: {title}", exercise.label(), names.join(", "));
        line!(out, "{BOLD}{}{BOLD:#}", textwrap::fill(&heading, width()));
        line!(out, "{}", snippet::render(root, verdict));
        for case in cases {
            push_output(out, case);
        }
        line!(out);
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

/// The cases that did not pass; those that say the same come together.
fn alike(cases: &[CaseReport]) -> Vec<Vec<&CaseReport>> {
    let mut groups: Vec<Vec<&CaseReport>> = Vec::new();
    let not_passed = |case: &&CaseReport| case.verdict.outcome != Outcome::Passed;
    for case in cases.iter().filter(not_passed).filter(|case| !is_left_out(case)) {
        let says = |case: &CaseReport| {
            let Verdict { diagnosis, message, spots, notes, .. } = case.verdict.clone();
            (diagnosis, message, spots, notes)
        };
        match groups.iter_mut().find(|group| says(group[0]) == says(case)) {
            Some(group) => group.push(case),
            None => groups.push(vec![case]),
        }
    }
    groups
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
        let shown: String = text.chars().take(width() - 4).collect();
        line!(out, "{DIM}  | {shown}{DIM:#}");
    };
    head.iter().for_each(|line| push(line));
    if !tail.is_empty() {
        push(&format!("... {} lines left out ...", lines.len() - OUTPUT_LINES));
    }
    tail.iter().for_each(|line| push(line));
}

/// How many of the files that were not used are named.
const IGNORED: usize = 12;

fn push_submission(out: &mut String, submission: &Submitted) {
    line!(out, "Submission: {BOLD}{}{BOLD:#}", submission.name);
    let text = format!("Isolation: {}", submission.isolation);
    line!(out, "{}", textwrap::fill(&text, width()));
    if submission.ignored.is_empty() {
        return;
    }
    let count = submission.ignored.len();
    line!(out, "Not used, since only src/ of each exercise is: {count} changed or added files");
    for path in submission.ignored.iter().take(IGNORED) {
        line!(out, "  {}", path.display());
    }
    if count > IGNORED {
        line!(out, "  ... and {} more", count - IGNORED);
    }
}

fn push_device(out: &mut String, report: &Report) {
    if let Some(submission) = &report.submission {
        push_submission(out, submission);
    }
    line!(out, "Device: {BOLD}{}{BOLD:#}", report.device_name());
    for remark in &report.remarks {
        for part in textwrap::wrap(remark, width() - 2) {
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
    let names = if solved.is_empty() { "none".to_owned() } else { solved.join(", ") };
    let text = format!("Solved: {} of {}: {names}", solved.len(), report.exercises.len());
    line!(out, "{}", textwrap::fill(&text, width()));
    if report.exercises.len() < report.total {
        let left_out = report.total - report.exercises.len();
        line!(out, "Not checked: {left_out} of {} exercises", report.total);
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
        let folder = folder.display();
        let text = format!("read {folder}/README.md, edit {folder}/src/lib.rs, then");
        let indent = "        ";
        let options =
            textwrap::Options::new(width()).initial_indent(indent).subsequent_indent(indent);
        line!(out, "{}", textwrap::fill(&text, options));
        line!(out, "{indent}cargo xtask check {number}");
    }
    let state = report.criterion.state();
    let partly = report.criterion.parts.iter().any(|part| part.state == State::NotInThisVersion);
    let partly = if partly { ", as far as this version goes" } else { "" };
    let text = format!("Completion criterion{partly}: {}", state.words());
    line!(out, "{}", textwrap::fill(&text, width()));
    for part in &report.criterion.parts {
        let detail = match part.detail.as_str() {
            "" => String::new(),
            detail => format!(" ({detail})"),
        };
        let text = format!("{}: {}{detail}", part.what, part.state.words());
        let options =
            textwrap::Options::new(width()).initial_indent("  - ").subsequent_indent("    ");
        line!(out, "{}", textwrap::fill(&text, options));
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use streamlings_grade::supervise::Captured;
    use streamlings_grade::{At, Figure, Finding};
    use streamlings_trace::DeviceKind;

    use super::*;
    use crate::criterion;
    use crate::text::WIDTH;

    const SOURCE: &str = "\
//! The learner's file.

pub fn enqueue_and_wait(gpu: &Gpu) -> Result<Times, DriverError> {
    launch(gpu)?;
    gpu.stream.synchronize()?;
    let launched = began.elapsed();
}
";

    fn figure(what: &str, value: f64, unit: &str) -> Figure {
        Figure { what: what.to_owned(), value, unit: unit.to_owned() }
    }

    fn case(verdict: Verdict, output: &str) -> CaseReport {
        let mut captured = Captured::default();
        captured.push(output.as_bytes());
        CaseReport { verdict, output: captured, ran: Some((0.1, 7)), optional: false }
    }

    fn exercise(number: u32, name: &str, cases: Vec<CaseReport>) -> ExerciseReport {
        ExerciseReport {
            number,
            name: name.to_owned(),
            title: "what it teaches".to_owned(),
            folder: PathBuf::from(format!("exercises/{number:02}_{name}")),
            outcome: Outcome::of_cases(CaseReport::required(&cases)),
            cases,
            rustc: None,
        }
    }

    const COURSE: &[&str] = &["async_launch", "event_timing", "accidental_syncs"];

    fn render_all(exercises: Vec<ExerciseReport>, kind: DeviceKind) -> String {
        render_in(COURSE, exercises, kind)
    }

    fn render_in(course: &[&str], exercises: Vec<ExerciseReport>, kind: DeviceKind) -> String {
        let root = tempfile::tempdir().expect("a temporary folder");
        let folder = root.path().join("exercises/01_async_launch/src");
        std::fs::create_dir_all(&folder).expect("it can be made");
        std::fs::write(folder.join("lib.rs"), SOURCE).expect("it can be written");
        let name = match kind {
            DeviceKind::Gpu => "NVIDIA H200",
            DeviceKind::Emulated => "emulated device (no GPU)",
        };
        let device = Some(Device { kind, name: name.to_owned() });
        let criterion = criterion::of(Whose::Learner, course, &exercises, device.as_ref());
        let report = Report {
            device,
            remarks: Vec::new(),
            exercises,
            criterion,
            whose: Whose::Learner,
            total: 7,
            submission: None,
            next: None,
        };
        let text = render(root.path(), &report);
        let plain = anstream::adapter::strip_str(&text).to_string();
        for line in plain.lines() {
            assert!(line.chars().count() <= WIDTH, "too long: {line}");
            assert_eq!(line, line.trim_end(), "it ends in blanks");
        }
        plain
    }

    fn at(line: u32) -> At {
        At::new("exercises/01_async_launch/src/lib.rs", line)
    }

    #[test]
    fn a_finding_shows_its_line_the_rule_and_what_next() {
        let message = "the first reading says 17.663 ms, and the launch itself took 0.013 ms";
        let finding = Finding::new(diagnosis::BLOCKED_BEFORE_FIRST_READING, message)
            .at(at(5), "held the host for 17.648 ms")
            .at(at(4), "launched here")
            .note("synchronizing a stream waits until all its work is over");
        let mut blocked = Verdict::failed("enqueue_and_wait", finding);
        blocked.figures = vec![
            figure("launch came back after", 17.663, "ms"),
            figure("work was done after", 17.7, "ms"),
            figure("a third one", 0.001, "ms"),
        ];
        let cases = vec![case(blocked, ""), case(Verdict::passed("overlap_host_work"), "")];
        let exercise = exercise(1, "async_launch", cases);
        insta::assert_snapshot!(render_all(vec![exercise], DeviceKind::Emulated));
    }

    #[test]
    fn a_crash_shows_the_output() {
        let finding = Finding::new(diagnosis::CRASHED, "the process died of SIGSEGV");
        let output: String = (1..=20).map(|line| format!("line {line}\n")).collect();
        let crashed = case(Verdict::failed("enqueue_and_wait", finding), &output);
        let finding = Finding::new(diagnosis::NOT_DONE, "the code says that it is not written yet")
            .at(at(400), "a line that is not there any more");
        let undone = case(Verdict::failed("overlap_host_work", finding), "panicked at todo!()");
        let exercise = exercise(1, "async_launch", vec![crashed, undone]);
        insta::assert_snapshot!(render_all(vec![exercise], DeviceKind::Gpu));
    }

    #[test]
    fn an_exercise_passes_without_its_optional_cases() {
        let undone = || Finding::new(diagnosis::NOT_DONE, "the code says so itself").at(at(5), "");
        let optional = |verdict| CaseReport { optional: true, ..case(verdict, "panicked") };
        let wrong = Finding::new(diagnosis::WRONG_VALUE, "element 3 is 1, and has to be 2");
        let exercise = exercise(
            3,
            "pinned_copies",
            vec![
                case(Verdict::passed("upload"), ""),
                optional(Verdict::passed("upload_cust")),
                optional(Verdict::failed("download_cust", undone())),
                optional(Verdict::failed("other_cust", wrong)),
            ],
        );
        assert_eq!(exercise.outcome, Outcome::Passed);
        insta::assert_snapshot!(render_all(vec![exercise], DeviceKind::Emulated));
    }

    #[test]
    fn what_does_not_compile_shows_what_rustc_said() {
        let finding =
            Finding::new(diagnosis::DOES_NOT_COMPILE, "rustc: mismatched types").at(at(4), "");
        let verdict = Verdict::failed("enqueue_and_wait", finding);
        let mut exercise = exercise(1, "async_launch", vec![CaseReport::not_run(verdict)]);
        exercise.rustc = Some("error[E0308]: mismatched types\n --> and so on\n\n".to_owned());
        insta::assert_snapshot!(render_all(vec![exercise], DeviceKind::Emulated));
    }

    #[test]
    fn cases_that_say_the_same_are_told_once() {
        let finding = || {
            Finding::new(diagnosis::NO_DEVICE, "this machine has no NVIDIA GPU")
                .note("use --device emulated")
        };
        let case_of = |name: &str| case(Verdict::failed(name, finding()), "");
        let exercise = exercise(1, "async_launch", vec![case_of("first"), case_of("second")]);
        insta::assert_snapshot!(render_all(vec![exercise], DeviceKind::Gpu));
    }

    #[test]
    fn the_criterion_is_met_only_on_a_gpu_and_with_all_its_parts() {
        let solved = || {
            let mut gap = Verdict::passed("two_way");
            gap.figures = vec![
                figure("event time", 0.36, "ms"),
                figure("bare clock", 0.0037, "ms"),
                figure("gap", 97.0, "times"),
            ];
            let mut snippets = Verdict::passed("snippets");
            snippets.figures = vec![figure("snippets marked right", 20.0, "of 20")];
            vec![
                exercise(2, "event_timing", vec![case(gap, "")]),
                exercise(6, "accidental_syncs", vec![case(snippets, "")]),
            ]
        };
        let last_lines = |text: String| {
            let from = text.find("Device:").expect("the device is named");
            text[from..].to_owned()
        };
        insta::assert_snapshot!("met_on_a_gpu", last_lines(render_all(solved(), DeviceKind::Gpu)));
        insta::assert_snapshot!(
            "met_on_the_emulated_device",
            last_lines(render_all(solved(), DeviceKind::Emulated))
        );
        // The snippets count by themselves, and have to be all right.
        let mut half = solved();
        let finding = Finding::new(diagnosis::HIDDEN_SYNC, "1 line holds the host");
        half[1].cases.push(case(Verdict::failed("train_loop", finding), ""));
        half[1].outcome = Outcome::Blocked;
        let only_snippets = last_lines(render_all(half.clone(), DeviceKind::Gpu));
        assert!(only_snippets.contains("Completion criterion: met\n"), "{only_snippets}");
        let finding = Finding::new(diagnosis::SYNC_NOT_MARKED, "18 of 20 are marked right");
        half[1].cases[0].verdict = Verdict {
            figures: vec![figure("snippets marked right", 18.0, "of 20")],
            ..Verdict::failed("snippets", finding)
        };
        insta::assert_snapshot!("not_met", last_lines(render_all(half, DeviceKind::Gpu)));
        let without_06 = render_in(&COURSE[..2], solved()[..1].to_vec(), DeviceKind::Emulated);
        insta::assert_snapshot!("met_as_far_as_this_version_goes", last_lines(without_06));
    }
}
