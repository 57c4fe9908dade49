//! Reports as a person reads them.

use std::path::PathBuf;

use streamlings_grade::supervise::Captured;
use streamlings_grade::{Figure, Finding};
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
        warnings: Vec::new(),
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
    // As the driver says it.
    let verdicts = exercises.iter().flat_map(|exercise| &exercise.cases).map(|case| &case.verdict);
    let missing = verdicts.filter(|verdict| verdict.outcome == Outcome::NoDevice);
    let remarks =
        missing.map(|v| format!("{}; {}", v.message, v.notes.join(" "))).take(1).collect();
    let report = Report {
        device,
        remarks,
        exercises,
        criterion,
        whose: Whose::Learner,
        total: 7,
        submission: None,
        next: None,
        packed: false,
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
    let text = render_all(vec![exercise], DeviceKind::Gpu);
    assert_eq!(text.matches("--device emulated").count(), 1, "{text}");
    insta::assert_snapshot!(text);
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
    // Of a part of the course there is less to say.
    let only_02 = last_lines(render_all(solved()[..1].to_vec(), DeviceKind::Gpu));
    insta::assert_snapshot!("only_a_part_is_checked", only_02);
    let without_06 = render_in(&COURSE[..2], solved()[..1].to_vec(), DeviceKind::Emulated);
    insta::assert_snapshot!("met_as_far_as_this_version_goes", last_lines(without_06));
}

#[test]
fn warnings_are_shown_where_something_is_to_be_mended() {
    let warned = |verdict| ExerciseReport {
        warnings: (1..=5)
            .map(|n| format!("warning: unused variable {n}\n --> there\n\n"))
            .collect(),
        ..exercise(1, "async_launch", vec![case(verdict, "")])
    };
    let failed = |diagnosis| Verdict::failed("c", Finding::new(diagnosis, "so it is"));
    let text = render_all(vec![warned(failed(diagnosis::WRONG_VALUE))], DeviceKind::Emulated);
    let shown: Vec<&str> = text.lines().filter(|line| line.starts_with("warning: ")).collect();
    assert_eq!(shown, [1, 2, 3].map(|n| format!("warning: unused variable {n}")), "{text}");
    assert!(
        text.contains("\nrustc has 2 more warnings: see `cargo check -p async_launch`\n"),
        "{text}"
    );

    let passed = render_all(vec![warned(Verdict::passed("c"))], DeviceKind::Emulated);
    assert!(!passed.contains("warning: "), "{passed}");
    assert!(
        passed.contains("\nrustc has 5 warnings: see `cargo check -p async_launch`\n"),
        "{passed}"
    );

    // The machine's trouble is to be mended first.
    let nowhere = render_all(vec![warned(failed(diagnosis::NO_DEVICE))], DeviceKind::Gpu);
    assert!(!nowhere.contains("warning"), "{nowhere}");
}

#[test]
fn a_panic_at_the_same_line_is_told_once() {
    let panicked = |name: &str, line, message: &str, printed: &str| {
        let output = format!(
            "{printed}\nthread 'main' (7) panicked at src/lib.rs:{line}:5:\n{message}\nstack backtrace:\n   0: f\n"
        );
        let finding = Finding::new(diagnosis::PANICKED, format!("it panicked: {message}"));
        case(Verdict::failed(name, finding.at(at(line), "panicked here")), &output)
    };
    let cases = vec![
        panicked("first", 4, "index 3 of 2", ""),
        panicked("second", 4, "index 9 of 2", "n is 9\n"),
        panicked("third", 4, "index 3 of 2", ""),
        panicked("elsewhere", 5, "index 3 of 2", ""),
    ];
    let text = render_all(vec![exercise(1, "async_launch", cases)], DeviceKind::Emulated);
    // One for each line.
    assert_eq!(text.matches("stack backtrace").count(), 2, "{text}");
    assert_eq!(text.matches("n is 9").count(), 1, "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn the_same_mistake_at_one_line_is_told_once() {
    let missed = |name: &str, launch: u32, line| {
        let message = format!("the answer is none, and launch {launch} faulted");
        let finding = Finding::new(diagnosis::FAULT_NOT_SEEN, message).at(at(line), "no error");
        case(Verdict::failed(name, finding), &format!("launch {launch}\n"))
    };
    let cases = vec![
        missed("first", 0, 4),
        missed("middle", 3, 4),
        missed("again", 0, 4),
        missed("elsewhere", 3, 5),
    ];
    let text = render_all(vec![exercise(1, "async_launch", cases)], DeviceKind::Emulated);
    assert_eq!(text.matches("[fault-not-seen]").count(), 2, "{text}");
    insta::assert_snapshot!(text);
}
