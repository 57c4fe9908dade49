//! Every format, on reports that hold every outcome.

use std::path::{Path, PathBuf};

use streamlings_grade::supervise::{Captured, Isolation};
use streamlings_grade::{At, Diagnosis, Finding, Outcome, Verdict, diagnosis};
use streamlings_trace::{Device, DeviceKind};

use super::{
    CaseReport, ExerciseReport, Report, Submitted, check_files, class, github, human, junit,
    markdown, render,
};
use crate::cli::{Also, Format};
use crate::criterion;
use crate::grading::Whose;
use crate::points::Points;

/// A diagnosis for each outcome but `passed`.
const TROUBLES: &[&Diagnosis] = &[
    diagnosis::WRONG_VALUE,
    diagnosis::UNORDERED_ACCESS,
    diagnosis::HOST_HELD,
    diagnosis::LITTLE_OVERLAP,
    diagnosis::SAME_EVENT_TWICE,
    diagnosis::NOT_DONE,
    diagnosis::CRASHED,
    diagnosis::HUNG,
    diagnosis::NO_VERDICT,
    diagnosis::DOES_NOT_COMPILE,
    diagnosis::REFUSED,
    diagnosis::NO_DEVICE,
    diagnosis::GRADER_PANICKED,
];

fn case(verdict: Verdict) -> CaseReport {
    CaseReport { ran: Some((0.25, 7)), ..CaseReport::not_run(verdict) }
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

fn isolation() -> Isolation {
    Isolation { files: true, processes: true, network: false }
}

fn report(exercises: Vec<ExerciseReport>, submission: Option<&str>) -> Report {
    let device = Device { kind: DeviceKind::Emulated, name: "emulated device (no GPU)".to_owned() };
    Report {
        criterion: criterion::of(Whose::Learner, &["a", "b"], &exercises, Some(&device)),
        device: Some(device),
        remarks: Vec::new(),
        exercises,
        whose: Whose::Learner,
        total: 2,
        submission: submission.map(|name| Submitted {
            name: name.to_owned(),
            folder: PathBuf::from("/nowhere"),
            ignored: vec![PathBuf::from("exercises/01_a/build.rs")],
            remarks: Vec::new(),
            isolation: isolation(),
            report: None,
        }),
        next: None,
        packed: false,
    }
}

/// One case for every outcome.
fn all(submission: Option<&str>) -> Report {
    let trouble = |diagnosis: &'static Diagnosis| {
        let finding = Finding::new(diagnosis, "so much for 50 %, a | b: <c>");
        let finding = finding.at(At::new("exercises/02_b/src/lib.rs", 12), "here");
        case(Verdict::failed(diagnosis.code, finding))
    };
    let mut printed = case(Verdict::passed("prints"));
    let mut output = Captured::default();
    output.push(b"\x1b[31mred]]>\n");
    printed.output = output;
    let optional = CaseReport {
        optional: true,
        ..case(Verdict::failed("extra", Finding::new(diagnosis::NOT_DONE, "not written")))
    };
    let cases = TROUBLES.iter().map(|diagnosis| trouble(diagnosis)).chain([optional]);
    let exercises = vec![exercise(1, "a", vec![printed]), exercise(2, "b", cases.collect())];
    report(exercises, submission)
}

fn shown(format: Format, report: &Report) -> String {
    let points = Points::default();
    let text = render(format, Path::new("/nowhere"), report, Some(&points)).expect("it is text");
    anstream::adapter::strip_str(&text).to_string()
}

#[test]
fn every_outcome_has_its_own_word_in_every_format() {
    let outcomes: Vec<Outcome> = TROUBLES.iter().map(|diagnosis| diagnosis.outcome).collect();
    assert_eq!([&[Outcome::Passed][..], &outcomes].concat(), Outcome::ALL);
    let formats =
        [Format::Human, Format::Json, Format::Junit, Format::Github, Format::Markdown, Format::Csv];
    for (index, outcome) in Outcome::ALL.into_iter().enumerate() {
        let cases = match index.checked_sub(1) {
            None => vec![case(Verdict::passed("c"))],
            Some(index) => {
                vec![case(Verdict::failed("c", Finding::new(TROUBLES[index], "so it is")))]
            }
        };
        let report = report(vec![exercise(1, "a", cases)], None);
        for format in formats {
            let text = shown(format, &report);
            // A case that passed needs no annotation.
            let silent = format == Format::Github && outcome == Outcome::Passed;
            assert_eq!(text.contains(outcome.word()), !silent, "{outcome} in {format:?}:\n{text}");
        }
    }
}

#[test]
fn junit_has_only_characters_of_xml() {
    let verdict =
        Verdict::failed("c", Finding::new(diagnosis::PANICKED, "so \u{ffff} it \u{fffe}is"));
    let report = report(vec![exercise(1, "a", vec![case(verdict)])], Some("ada\u{ffff}"));
    let text = junit::document(&[&report], None).expect("it is XML");
    assert!(!text.contains(['\u{fffe}', '\u{ffff}']), "{text}");
    assert!(text.contains("so \u{fffd} it \u{fffd}is") && text.contains("ada\u{fffd}"), "{text}");
}

#[test]
fn a_report_as_junit() {
    let points = Points::default();
    let text = junit::document(&[&all(None)], Some(&points)).expect("it is XML");
    insta::assert_snapshot!(text);
}

#[test]
fn a_report_for_github() {
    insta::assert_snapshot!(github::annotations(&all(None)));
    // A submission's files are not the repository's.
    assert!(!github::annotations(&all(Some("ada"))).contains("file="));
}

#[test]
fn a_report_in_markdown() {
    insta::assert_snapshot!(markdown::render(&all(Some("ada")), Some(&Points::default())));
}

#[test]
fn a_report_as_json() {
    insta::assert_snapshot!(shown(Format::Json, &all(Some("ada"))));
}

#[test]
fn a_submission_for_reading() {
    let report = report(vec![exercise(1, "a", vec![case(Verdict::passed("c"))])], Some("ada"));
    insta::assert_snapshot!(shown(Format::Human, &report));
}

/// A submission of which an exercise is missing, with something to say of it.
fn in_part() -> Report {
    let missing = |name: &str| {
        case(Verdict::failed(name, Finding::new(diagnosis::NOT_HANDED_IN, "it has no such src/")))
    };
    let passed = exercise(1, "a", vec![case(Verdict::passed("c"))]);
    let missing = exercise(2, "b", vec![missing("d"), missing("e")]);
    let mut report = report(vec![passed, missing], Some("ada"));
    if let Some(submission) = &mut report.submission {
        submission.remarks = vec!["the folder 1_b is not graded".to_owned()];
    }
    report
}

#[test]
fn what_was_not_handed_in_is_one_line() {
    let report = in_part();
    let human = shown(Format::Human, &report);
    assert!(
        human.contains("\nNot handed in: 02 b\nNote: the folder 1_b is not graded\n"),
        "{human}"
    );
    assert!(!human.contains("02 b:"), "{human}");
    assert_eq!(
        github::annotations(&report),
        "::notice title=ada::the folder 1_b is not graded\n\
         ::error title=ada%3A not handed in::02 b\n"
    );
    let line = class::line(&report, &Points::default(), 1.0);
    assert!(line.ends_with("\nada: the folder 1_b is not graded\n"), "{line}");
    for format in [Format::Json, Format::Junit, Format::Markdown] {
        let text = shown(format, &report);
        assert!(text.matches("it has no such src/").count() >= 2, "{format:?}: {text}");
    }
}

#[test]
fn every_report_but_csv_says_what_submissions_were_kept_from() {
    let report = in_part();
    let said = isolation().to_string();
    for format in [Format::Human, Format::Junit, Format::Github, Format::Markdown] {
        let text = shown(format, &report).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&said), "{format:?}: {text}");
    }
    assert!(shown(Format::Json, &report).contains("\"network\": false"));
    let class = class::markdown(&[&report], &Points::default(), isolation());
    assert!(class.contains(&format!("\n\nIsolation: {said}.\n\n- ada: the folder")), "{class}");
}

#[test]
fn why_there_is_no_device_is_said() {
    let finding = Finding::new(diagnosis::NO_DEVICE, "no driver was found");
    let cases = vec![case(Verdict::failed("c", finding))];
    let mut report = report(vec![exercise(1, "a", cases)], Some("ada"));
    report.device = None;
    let text = shown(Format::Human, &report);
    assert!(text.contains("\nDevice: no device\n  no driver was found\n"), "{text}");
    assert_eq!(human::of_device(&[&report, &report]), "  no driver was found\n");
    report.remarks = vec!["no driver, says the driver".to_owned()];
    assert_eq!(human::of_device(&[&report]), "  no driver, says the driver\n");
}

#[test]
fn no_two_reports_go_into_one_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let check = |names: &[&str]| {
        let also =
            names.iter().map(|name| Also { format: Format::Csv, file: folder.path().join(name) });
        check_files(&also.collect::<Vec<_>>()).map_err(|error| error.to_string())
    };
    assert_eq!(check(&["a.csv", "b.csv"]), Ok(()));
    for twice in [["a.csv", "a.csv"], ["a.csv", "./a.csv"]] {
        assert!(check(&twice).is_err_and(|why| why.contains("a.csv is given twice")), "{twice:?}");
    }
    assert_eq!(check(&["/dev/null", "/dev/null"]), Ok(()));
    assert!(check(&["none/a.csv"]).is_err_and(|why| why.contains("there is no folder")));
}

#[test]
fn full_reports_are_named_and_counted() {
    let [mut one, mut two, none] = class();
    one.wrote(Some(PathBuf::from("/rooms/ada/report.txt")));
    two.wrote(Some(PathBuf::from("/rooms/bob/report.txt")));
    assert_eq!(class::full_reports(&[&none]), "");
    assert_eq!(class::full_reports(&[&one, &none]), "Reports: /rooms/ada/report.txt\n");
    assert_eq!(class::full_reports(&[&one, &two]), "Reports: /rooms/ada/report.txt, and 1 more\n");
}

fn class() -> [Report; 3] {
    let passed = |number, name| exercise(number, name, vec![case(Verdict::passed("c"))]);
    let open = |number, name| {
        let finding = Finding::new(diagnosis::NO_DEVICE, "there is none");
        exercise(
            number,
            name,
            vec![case(Verdict::failed("d", finding)), case(Verdict::passed("e"))],
        )
    };
    [
        report(vec![passed(1, "a"), open(2, "b")], Some("ada")),
        report(vec![passed(1, "a"), passed(2, "b")], Some("=bob|\"b\", esq.")),
        report(vec![open(1, "a"), passed(2, "b")], Some("eve")),
    ]
}

#[test]
fn a_class_in_one_table() {
    let class = class();
    let reports: Vec<&Report> = class.iter().collect();
    let points = Points::default();
    let texts = [
        class::human(&reports, &points),
        class::markdown(&reports, &points, isolation()),
        class::csv(&reports, &points).expect("it is text"),
        format!("{:#}\n", class::json(&reports, &points)),
        class::line(reports[0], &points, 1.25),
    ];
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn what_is_not_known_of_isolation_is_said() {
    let said = |files, processes, network| Isolation { files, processes, network }.to_string();
    assert_eq!(
        said(true, true, true),
        "a submission cannot reach files outside its folder, other processes, the network"
    );
    assert_eq!(
        said(true, false, true),
        "in part: a submission cannot reach files outside its folder, the network, \
         but it can reach other processes"
    );
    assert!(said(false, false, false).starts_with("none: a submission can reach files"));
}
