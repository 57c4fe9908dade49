//! `cargo xtask check --submission` and `--submissions`.

use std::path::Path;
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use crate::workspace::{RIGHT, workspace, write, xtask};

const WRONG: &[u8] = b"//! An answer.\npub fn answer() -> u32 { 41 }\n";

/// A course of two exercises, and a class beside it.
fn class() -> (TempDir, TempDir) {
    let course = workspace(["exercises"], &[("one", WRONG), ("two", WRONG)]);
    let class = tempfile::tempdir().expect("a temporary folder");
    let root = class.path();
    // All sources differ, since the same ones are graded once.
    // A copy of the workspace, a folder of exercises, one exercise, and nothing.
    write(
        root,
        "ada/exercises/01_one/src/lib.rs",
        b"//! Her own.\npub fn answer() -> u32 { 42 }\n",
    );
    write(
        root,
        "ada/exercises/02_two/src/lib.rs",
        b"//! Her own.\npub fn answer() -> u32 { 42 }\n",
    );
    write(root, "ada/exercises/02_two/tests/grade.rs", b"//! Passes.\nfn main() {}\n");
    write(root, "bob/01_one/src/lib.rs", RIGHT);
    write(root, "bob/two/src/lib.rs", WRONG);
    write(root, "02_two/src/lib.rs", b"//! An answer.\nmod more;\npub use more::answer;\n");
    write(root, "02_two/src/more.rs", RIGHT);
    write(root, "eve/notes.txt", b"none");
    (course, class)
}

fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    let parse =
        |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {output:?}"));
    text.lines().map(parse).collect()
}

fn grade(course: &Path, class: &Path, more: &[&str]) -> Output {
    let class = class.to_str().expect("it is UTF-8");
    xtask(course, &[&["check", "--submissions", class], more].concat())
}

fn seeds(lines: &[Value]) -> Vec<(String, String)> {
    let case =
        |line: &Value, exercise: usize| line["exercises"][exercise]["cases"][0]["seed"].clone();
    let submissions = lines.iter().filter(|line| !line["submission"].is_null());
    let mut seeds: Vec<(String, String)> = submissions
        .map(|line| {
            (line["submission"]["name"].to_string(), format!("{} {}", case(line, 0), case(line, 1)))
        })
        .collect();
    seeds.sort();
    seeds
}

#[test]
fn a_class_is_graded_as_it_comes_and_not_twice() {
    let (course, class) = class();
    let (course, class) = (course.path(), class.path());
    let output = grade(course, class, &["--format", "json", "--jobs", "2"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let first = lines(&output);
    assert_eq!(first.len(), 5, "a line each, and the table: {output:?}");
    let table = &first[4]["class"];
    let row = |index: usize| {
        let row = &table[index];
        let words = ["one", "two"].map(|name| row["outcomes"][name].as_str().unwrap_or("-"));
        let points = &row["points"]["earned"];
        format!("{} {} {points}", row["submission"].as_str().unwrap_or("-"), words.join(" "))
    };
    assert_eq!(
        [row(0), row(1), row(2), row(3)],
        [
            "02_two not done passed 1.0",
            "ada passed passed 2.0",
            "bob passed wrong 1.0",
            "eve not done not done 0.0"
        ]
    );
    let ada = first.iter().find(|line| line["submission"]["name"] == "ada").expect("she is there");
    assert_eq!(
        ada["submission"]["ignored"],
        serde_json::json!(["exercises/02_two/tests/grade.rs"])
    );

    // A seed is drawn for each run, so the same seeds are the same runs.
    let again = seeds(&lines(&grade(course, class, &["--format", "json"])));
    assert_eq!(again, seeds(&first));
    let fresh = seeds(&lines(&grade(course, class, &["--format", "json", "--fresh"])));
    assert!(fresh.iter().zip(&again).all(|(fresh, old)| fresh != old || fresh.0.contains("eve")));

    // What changed is graded anew, and nothing else.
    write(class, "bob/two/src/lib.rs", RIGHT);
    let changed = seeds(&lines(&grade(course, class, &["--format", "json"])));
    let differ: Vec<&str> = changed
        .iter()
        .zip(&fresh)
        .filter(|(new, old)| new != old)
        .map(|(new, _)| new.0.as_str())
        .collect();
    assert_eq!(differ, ["\"bob\""]);
    // So is everything when the cases change.
    let cases = "exercises/02_two/tests/grade.rs";
    let text = std::fs::read_to_string(course.join(cases)).expect("it is there");
    write(course, cases, format!("{text}\n// changed\n").as_bytes());
    let changed = seeds(&lines(&grade(course, class, &["--format", "json"])));
    assert!(changed.iter().zip(&fresh).all(|(new, old)| new != old || new.0.contains("eve")));

    let text = String::from_utf8(grade(course, class, &[]).stdout).expect("it is UTF-8");
    assert!(text.contains("\nada: 01 passed, 02 passed; 2 of 2 points ("), "{text}");
    assert!(text.contains("| bob        | passed   | passed   | 2 of 2 |"), "{text}");
    assert!(text.contains("\nDevice: a stand-in\nIsolation: "), "{text}");
    let csv = grade(course, class, &["--format", "csv"]).stdout;
    let csv = String::from_utf8(csv).expect("it is UTF-8");
    assert!(csv.contains("\nada,passed,passed,2,2,0,a stand-in\n"), "{csv}");
}

#[test]
fn a_submission_is_reported_like_ones_own_code() {
    let (course, class) = class();
    let bob = class.path().join("bob");
    let bob = bob.to_str().expect("it is UTF-8");
    let output = xtask(course.path(), &["check", "--submission", bob]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("it is UTF-8");
    assert!(text.contains("02 two answer: a value is not right\n"), "{text}");
    assert!(text.contains("Submission: bob\n"), "{text}");
    assert!(text.contains("Points: 1 of 2\n"), "{text}");

    let output = xtask(course.path(), &["check", "1", "--submission", bob]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    for option in ["--submission", "--submissions"] {
        let output = xtask(course.path(), &["check", option, "/nonexistent"]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
    }

    // The course itself stays as it is.
    let own = course.path().join("exercises/01_one/src/lib.rs");
    assert_eq!(std::fs::read(own).expect("it is there"), WRONG);
}

#[test]
fn points_come_from_a_file_and_name_what_there_is() {
    let (course, class) = class();
    let points = course.path().join("points.toml");
    let file = points.to_str().expect("it is UTF-8");
    let bob = class.path().join("bob");
    let bob = bob.to_str().expect("it is UTF-8");
    let check = |text: &str, more: &[&str]| {
        std::fs::write(&points, text).expect("it can be written");
        let output = xtask(course.path(), &[&["check", "--points", file], more].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned(), said)
    };
    let (_, text, _) = check("[one]\nanswer = 2.5\n", &["--submission", bob]);
    assert!(text.contains("Points: 2.5 of 3.5\n"), "{text}");
    let (_, text, _) = check("required = 4\n", &["one"]);
    assert!(text.contains("Points: 0 of 4\n"), "{text}");
    for (text, more, why) in [
        ("[three]\nx = 1\n", &["one"][..], "there is no exercise `three`; there are one, two"),
        ("[one]\nx = 1\n", &["one"], "the points name a case `x` that one has not; it has answer"),
        ("[one]\nx = 1\n", &["--submission", bob], "the points name a case `x`"),
        ("[one]\nanswer = -1\n", &["one"], "`answer` cannot be worth -1"),
    ] {
        let (code, _, said) = check(text, more);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn github_gets_annotations_and_a_summary() {
    let (course, _) = class();
    let summary = course.path().join("summary.md");
    let output = crate::workspace::command(course.path(), &["check", "--format", "github"])
        .env("GITHUB_STEP_SUMMARY", &summary)
        .output()
        .expect("xtask runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("::error title=01 one answer%3A wrong::it is not 42%0A"), "{text}");
    let summary = std::fs::read_to_string(summary).expect("it was written");
    assert!(summary.contains("| 02 two | answer | wrong | it is not 42 |"), "{summary}");
}
