//! `cargo xtask check --submission` and `--submissions`.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use nix::fcntl::{Flock, FlockArg};

use serde_json::Value;
use tempfile::TempDir;

use crate::workspace::{RIGHT, command, workspace, write, xtask};

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
    assert!(text.contains("\nDevice: a stand-in\n  a remark\nIsolation: "), "{text}");
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
    let (_, text, _) = check("[01]\nanswer = 2.5\n", &["--submission", bob]);
    assert!(text.contains("Points: 2.5 of 3.5\n"), "{text}");
    let (_, text, _) = check("required = 4\n", &["one"]);
    assert!(text.contains("Points: 0 of 4\n"), "{text}");
    for (text, more, why) in [
        (
            "[three]\nx = 1\n",
            &["one"][..],
            "there is no exercise `three`; there are 01 one, 02 two",
        ),
        ("[one]\nx = 1\n", &["one"], "the points name a case `x` that one has not; it has answer"),
        ("[one]\nx = 1\n", &["--submission", bob], "the points name a case `x`"),
        ("[one]\nanswer = -1\n", &["one"], "points.toml:2: `answer` cannot be worth -1"),
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

/// What each submission of a class got in the first exercise, and the JSON of its report.
fn outcomes(output: &Output) -> Vec<(String, String, String)> {
    let lines = lines(output);
    let submissions = lines.iter().filter(|line| !line["submission"].is_null());
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let mut all: Vec<_> = submissions
        .map(|line| {
            let exercise = &line["exercises"][0];
            (text(&line["submission"]["name"]), text(&exercise["outcome"]), line.to_string())
        })
        .collect();
    all.sort();
    all
}

#[test]
fn a_second_run_waits_for_the_first() {
    let (course, class) = class();
    let folder = course.path().join("target/submissions");
    std::fs::create_dir_all(&folder).expect("it can be made");
    let file = File::create(folder.join("lock")).expect("it can be made");
    let first = Flock::lock(file, FlockArg::LockExclusive).expect("nobody else has it");
    let ada = class.path().join("ada");
    let ada = ada.to_str().expect("it is UTF-8");
    let mut second = command(course.path(), &["check", "1", "--submission", ada])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("xtask runs");
    let mut said = BufReader::new(second.stderr.take().expect("it is a pipe")).lines();
    let waits =
        said.find(|line| line.as_ref().is_ok_and(|line| line.contains("another run grades")));
    assert!(waits.is_some());
    assert_eq!(second.try_wait().expect("it is our child"), None);
    drop(first);
    let rest: Vec<_> = said.map_while(Result::ok).collect();
    assert_eq!(second.wait().expect("it ends").code(), Some(0), "{rest:?}");
}

#[test]
fn submissions_of_one_name_have_a_room_each() {
    let course = workspace(["exercises"], &[("one", WRONG)]);
    let class = tempfile::tempdir().expect("a temporary folder");
    let elsewhere = tempfile::tempdir().expect("a temporary folder");
    write(class.path(), "ada/01_one/src/lib.rs", RIGHT);
    write(elsewhere.path(), "ada/01_one/src/lib.rs", WRONG);
    symlink(elsewhere.path().join("ada"), class.path().join("bob")).expect("it can be made");
    for (name, source) in [(b"eve\xfe", RIGHT), (b"eve\xff", WRONG)] {
        let src = class.path().join(OsStr::from_bytes(name)).join("01_one/src");
        std::fs::create_dir_all(&src).expect("it can be made");
        std::fs::write(src.join("lib.rs"), source).expect("it can be written");
    }
    let output = grade(course.path(), class.path(), &["--format", "json", "--jobs", "2"]);
    let found = outcomes(&output);
    let found: Vec<_> = found.iter().map(|(name, got, _)| format!("{name} {got}")).collect();
    assert_eq!(found, ["ada passed", "bob wrong", "eve\\xfe passed", "eve\\xff wrong"]);
    let rooms = course.path().join("target/submissions/rooms");
    let rooms = rooms.read_dir().expect("they were made").flatten();
    let reports = rooms.filter(|room| room.path().join("report.txt").exists());
    assert_eq!(reports.count(), 4);
}

#[test]
fn a_run_for_some_exercises_leaves_the_whole_report_as_it_is() {
    let course = workspace(["exercises"], &[("one", WRONG), ("two", WRONG)]);
    let class = tempfile::tempdir().expect("a temporary folder");
    write(class.path(), "ada/01_one/src/lib.rs", RIGHT);
    let room = |name: &str| {
        let rooms = course.path().join("target/submissions/rooms");
        let room = rooms.read_dir().expect("it was made").flatten().next().expect("one");
        std::fs::read_to_string(room.path().join(name)).unwrap_or_default()
    };
    grade(course.path(), class.path(), &[]);
    let whole = room("report.txt");
    assert!(whole.contains("01 one") && whole.contains("02 two"), "{whole}");
    assert!(whole.ends_with("\nPoints: 1 of 2\n"), "{whole}");
    let told = grade(course.path(), class.path(), &["2"]);
    assert!(String::from_utf8_lossy(&told.stdout).contains("report-02.txt"), "{told:?}");
    assert_eq!(room("report.txt"), whole);
    assert!(room("report-02.txt").contains("02 two"));
}

#[test]
fn what_the_shell_has_open_is_closed_to_a_submission() {
    const ASKS: &[u8] = b"//! An answer, if nothing of the shell's is here.
pub fn answer() -> u32 {
    let descriptors = std::fs::read_link(\"/proc/self/fd/7\").is_err()
        && std::fs::read_link(\"/proc/self/fd/8\").is_err();
    let libraries = std::env::var_os(\"LD_LIBRARY_PATH\").is_none();
    if descriptors && libraries { 42 } else { 41 }
}
";
    let course = workspace(["exercises"], &[("one", WRONG)]);
    let class = tempfile::tempdir().expect("a temporary folder");
    write(class.path(), "ada/01_one/src/lib.rs", ASKS);
    let ada = class.path().join("ada");
    let ada = ada.to_str().expect("it is UTF-8");
    let direct = command(course.path(), &["check", "--submission", ada]);
    let script = "exec 7</dev/null 8>/dev/null; exec \"$@\"";
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", script, "sh"]).arg(direct.get_program()).args(direct.get_args());
    for (name, value) in direct.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let output = shell.env("LD_LIBRARY_PATH", course.path()).output().expect("a shell runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn what_rustc_or_the_linker_rejects_does_not_compile() {
    let course = workspace(["exercises"], &[("one", WRONG)]);
    let class = tempfile::tempdir().expect("a temporary folder");
    let long = format!("compile_error!(\"{}\");", "no ".repeat(1 << 20));
    write(class.path(), "long/one/src/lib.rs", long.as_bytes());
    let unlinked = b"//! Calls what there is not.
unsafe extern \"C\" {
    safe fn nowhere_to_be_found() -> u32;
}
pub fn answer() -> u32 {
    nowhere_to_be_found()
}
";
    write(class.path(), "unlinked/one/src/lib.rs", unlinked);
    let output = grade(course.path(), class.path(), &["--format", "json"]);
    let found = outcomes(&output);
    assert_eq!(found.len(), 2);
    for ((name, got, report), wanted) in found.iter().zip([
        "rustc says more than is kept of it",
        "it compiles and does not link: `nowhere_to_be_found` is declared and nowhere defined",
    ]) {
        assert_eq!(got, "does not compile", "{name}");
        assert!(report.contains(wanted), "{name}: {report:.1000}");
        assert!(report.contains("\"does-not-compile\""), "{name}: {report:.1000}");
    }
}

#[test]
fn sources_from_elsewhere_are_refused() {
    let course = workspace(["exercises"], &[("one", WRONG)]);
    let class = tempfile::tempdir().expect("a temporary folder");
    let takes = |file: &str| {
        let text =
            "//! An answer.\npub fn answer() -> u32 { include_bytes!(\"FILE\").len() as u32 }\n";
        text.replace("FILE", file)
    };
    write(class.path(), "ada/one/src/lib.rs", takes("deep er/bytes").as_bytes());
    write(class.path(), "ada/one/src/deep er/bytes", &[0; 42]);
    write(class.path(), "bob/one/src/lib.rs", takes("/usr/bin/env").as_bytes());
    let output = grade(course.path(), class.path(), &["--format", "json"]);
    let found = outcomes(&output);
    let got: Vec<_> = found.iter().map(|(name, got, _)| format!("{name} {got}")).collect();
    assert_eq!(got, ["ada passed", "bob refused"]);
    assert!(found[1].2.contains("src/ takes in /usr/bin/env, which is not in it"), "{output:?}");
}

#[test]
fn what_is_in_no_place_for_exercises_is_told_of() {
    let course = workspace(["exercises"], &[("one", WRONG), ("two", WRONG)]);
    let class = tempfile::tempdir().expect("a temporary folder");
    write(class.path(), "ada/src/lib.rs", RIGHT);
    write(class.path(), "bob/streamlings-main/exercises/01_one/src/lib.rs", RIGHT);
    write(class.path(), "bob/__MACOSX/exercises/01_one/src/lib.rs", WRONG);
    std::fs::create_dir(class.path().join("eve")).expect("it can be made");
    write(class.path(), "fay/02_one/src/lib.rs", RIGHT);
    write(class.path(), "__MACOSX/one/src/lib.rs", RIGHT);
    let output = grade(course.path(), class.path(), &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    let nothing = "nothing was found in the places where exercises are";
    assert!(text.contains(&format!("\nada: {nothing}; not used: src/lib.rs\n")), "{text}");
    assert!(text.contains(&format!("\neve: {nothing}\n")), "{text}");
    assert!(text.contains(&format!("\nfay: {nothing}; not used: 02_one/src/lib.rs\n")), "{text}");
    let hint = "\nfay: the folder 02_one is not graded: if it is this exercise, name it 01_one\n";
    assert!(text.contains(hint), "{text}");
    assert!(text.contains("\nada: its src/ is not graded, since nothing says of which"), "{text}");
    assert!(text.contains("bob: 01 passed, 02 not done; 1 of 2 points"), "{text}");
    assert!(!text.contains("__MACOSX"), "{text}");
    // It is the one that was asked for.
    let output = grade(course.path(), class.path(), &["1"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("ada: 01 passed; 1 of 1 points"), "{text}");
    assert!(text.contains("\nada: its src/ is taken for 01 one, which was asked for\n"), "{text}");
}

#[test]
fn what_is_no_folder_of_submissions_is_told_of() {
    let course = workspace(["exercises"], &[("one", WRONG), ("two", WRONG)]);
    let class = tempfile::tempdir().expect("a temporary folder");
    write(class.path(), "ada/01_one/src/lib.rs", RIGHT);
    write(class.path(), "bob\n.zip", b"PK");
    write(class.path(), ".DS_Store", b"");
    symlink("/nonexistent", class.path().join("eve")).expect("it can be made");
    let said = |folder: &Path| {
        let output = grade(course.path(), folder, &["1", "--format", "csv"]);
        let said = String::from_utf8(output.stderr).expect("it is UTF-8");
        said.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let others = "not graded, since they are no folders: bob\\n.zip and eve (a link to nothing)";
    let text = said(class.path());
    assert!(text.contains(others) && !text.contains("seems to be"), "{text}");
    // A folder too deep.
    let ada = class.path().join("ada");
    let text = said(&ada);
    assert!(
        text.contains("seems to be one submission, and its folders are graded as one"),
        "{text}"
    );
    assert!(text.contains(&format!("`--submission {}`", ada.display())), "{text}");
}

#[test]
fn a_run_says_what_it_has_from_an_earlier_one() {
    let course = workspace(["exercises"], &[("one", WRONG)]);
    let class = tempfile::tempdir().expect("a temporary folder");
    let text = |output: Output| {
        let text = |bytes| String::from_utf8(bytes).expect("it is UTF-8");
        (text(output.stdout), text(output.stderr))
    };
    // Two of the same: one result, which is kept from no earlier run.
    for name in ["ada", "bob"] {
        write(class.path(), &format!("{name}/01_one/src/lib.rs"), RIGHT);
    }
    let (said, _) = text(grade(course.path(), class.path(), &[]));
    assert!(!said.contains("Kept:"), "{said}");
    write(class.path(), "eve/01_one/src/lib.rs", WRONG);
    let (said, _) = text(grade(course.path(), class.path(), &[]));
    assert!(said.contains("\nKept: 2 of 3 results, from an earlier run\n"), "{said}");
    let (said, besides) = text(grade(course.path(), class.path(), &["--format", "csv"]));
    assert!(besides.contains("Kept: 3 of 3 results, from an earlier run\n"), "{besides}");
    assert!(!said.contains("Kept:"), "{said}");
    let (said, _) = text(grade(course.path(), class.path(), &["--fresh"]));
    assert!(!said.contains("Kept:"), "{said}");
}
