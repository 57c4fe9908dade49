//! `cargo xtask bundle`, and `./check` of what it packs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use crate::terminal::wait_until;
use crate::workspace::{RIGHT, complaint, workspace, write, xtask};

const WRONG: &[u8] = b"//! An answer.\npub fn answer() -> u32 {\n    41\n}\n";
const NO_RUST: &[u8] = b"//! An answer.\npub fn answer() -> u32 {\n    \"42\"\n}\n";

/// A bundle, unpacked elsewhere.
struct Unpacked {
    folder: TempDir,
}

impl Unpacked {
    fn of(archive: &Path) -> Unpacked {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let bytes = std::fs::read(archive).expect("it was written");
        tar::Archive::new(flate2::read::GzDecoder::new(&bytes[..]))
            .unpack(folder.path())
            .expect("it is an archive");
        Unpacked { folder }
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join("streamlings-bundle").join(inside)
    }

    /// Runs `./check` where nothing of a toolchain can be found.
    fn check(&self, arguments: &[&str]) -> Output {
        let elsewhere = tempfile::tempdir().expect("a temporary folder");
        self.command(elsewhere.path()).args(arguments).output().expect("it runs")
    }

    fn command(&self, elsewhere: &Path) -> Command {
        let mut command = Command::new(self.path("check"));
        command
            .env_clear()
            .env("PATH", "")
            .env("HOME", elsewhere.join("none"))
            .current_dir(elsewhere);
        command
    }

    fn complaint(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = self.check(arguments);
        (output.status.code(), String::from_utf8(output.stderr).expect("it is UTF-8"))
    }
}

/// Packs a workspace; the archive is in the folder that keeps it.
fn bundle(root: &Path, arguments: &[&str]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let archive = folder.path().join("bundle.tar.gz");
    let output = archive.to_str().expect("it is UTF-8");
    let output = xtask(root, &[&["bundle", "--output", output], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    (folder, archive)
}

/// A report without what no two runs have in common.
fn report(output: &Output) -> Value {
    let mut report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {output:?}"));
    for exercise in report["exercises"].as_array_mut().expect("it has exercises") {
        for case in exercise["cases"].as_array_mut().expect("it has cases") {
            case["seconds"] = Value::Null;
            case["seed"] = Value::Null;
        }
    }
    report
}

#[test]
fn a_bundle_says_what_check_says_and_needs_no_checkout() {
    let exercises = [("right", RIGHT), ("wrong", WRONG), ("broken", NO_RUST)];
    let course = workspace(["exercises"], &exercises);
    let (_kept, archive) = bundle(course.path(), &[]);
    let (_kept_too, again) = bundle(course.path(), &[]);
    let read = |path: &Path| std::fs::read(path).expect("it was written");
    assert!(read(&archive) == read(&again), "the same checkout makes another archive");

    let arguments = ["--format", "json", "--time-limit", "20"];
    let here = xtask(course.path(), &[&["check"], &arguments[..]].concat());
    let one = xtask(course.path(), &["check", "1", "--format", "json"]);
    let text = xtask(course.path(), &["check", "2", "3"]);
    let unpacked = Unpacked::of(&archive);
    // Nothing of it is there any more.
    course.close().expect("it can be removed");

    let there = unpacked.check(&arguments);
    assert_eq!(report(&there), report(&here));
    assert_eq!(there.status.code(), Some(3), "{there:?}");
    assert_eq!(there.status.code(), here.status.code());
    let there = unpacked.check(&["right", "--format", "json"]);
    assert_eq!(report(&there), report(&one));
    assert_eq!(there.status.code(), Some(0));
    let there = unpacked.check(&["2", "3"]);
    // What is next is done elsewhere.
    let until_next = |output: &Output| {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.split_once("\nNext:").map(|(before, next)| (before.to_owned(), next.to_owned()))
    };
    let (before, next) = until_next(&there).expect("something is next");
    assert_eq!(Some(before), until_next(&text).map(|(before, _)| before));
    assert!(next.contains("edit it in the checkout that this was packed from"), "{next}");
    assert!(!next.contains("cargo"), "{next}");

    let file = unpacked.path("table.md");
    let also = format!("--also=markdown={}", file.display());
    unpacked.check(&["1", &also]);
    let there = unpacked.check(&["1", "--format", "markdown"]);
    let also = std::fs::read_to_string(file).expect("it was written");
    assert!(also.contains("passed"), "{also}");
    assert_eq!(also, String::from_utf8_lossy(&there.stdout));

    let points = unpacked.path("points.toml");
    std::fs::write(&points, "[wrong]\nanswer = 3\n").expect("it can be written");
    let points = points.to_str().expect("it is UTF-8");
    let there = unpacked.check(&["1", "2", "--points", points]);
    let text = String::from_utf8(there.stdout).expect("it is UTF-8");
    assert!(text.contains("Points: 1 of 4\n"), "{text}");
    assert_eq!(there.status.code(), Some(1));

    let (code, said) = unpacked.complaint(&["nothing"]);
    assert_eq!(code, Some(2), "{said}");
    for arguments in [["--share", "1/2"], ["--reports", "reports"]] {
        let (code, said) = unpacked.complaint(&arguments);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("holds no submissions"), "{said}");
    }
}

#[test]
fn a_bundle_of_some_exercises_knows_what_it_has() {
    let course = workspace(["exercises"], &[("one", RIGHT), ("two", RIGHT)]);
    let (_kept, archive) = bundle(course.path(), &["two"]);
    let unpacked = Unpacked::of(&archive);
    let there = unpacked.check(&[]);
    let text = String::from_utf8(there.stdout).expect("it is UTF-8");
    assert!(text.contains("Solved: 1 of 1: 02 two\n"), "{text}");
    assert!(
        text.contains("Not checked: 1 of 2 exercises, and the completion criterion\n"),
        "{text}"
    );
    let (code, said) = unpacked.complaint(&["one"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("this bundle has no 01 one; it has two"), "{said}");
}

#[test]
fn a_bundle_that_is_not_whole_is_refused() {
    let course = workspace(["exercises"], &[("one", RIGHT)]);
    let (_kept, archive) = bundle(course.path(), &[]);
    let unpacked = Unpacked::of(&archive);
    let program = unpacked.path("programs/one");
    let whole = std::fs::read(&program).expect("it is there");
    let manifest = std::fs::read(unpacked.path("manifest.json")).expect("it is there");
    let refused = |fault: &str| {
        let (code, said) = unpacked.complaint(&[]);
        assert_eq!(code, Some(5), "{said}");
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(fault), "{said}");
    };

    std::fs::write(&program, &whole[..whole.len() / 2]).expect("it can be written");
    refused("this bundle is not whole: programs/one has another length; unpack the archive again");
    let mut other = whole.clone();
    other[whole.len() / 2] ^= 1;
    std::fs::write(&program, &other).expect("it can be written");
    refused("this bundle is not whole: programs/one is damaged");
    std::fs::remove_file(&program).expect("it can be removed");
    refused("this bundle is not whole: programs/one is missing");
    write(&unpacked.path(""), "programs/one", &whole);
    let source = unpacked.path("course/exercises/01_one/src/lib.rs");
    std::fs::write(&source, WRONG).expect("it can be written");
    refused("this bundle is not whole: course/exercises/01_one/src/lib.rs is damaged");

    std::fs::write(unpacked.path("manifest.json"), &manifest[..manifest.len() / 2])
        .expect("it can be written");
    refused("manifest.json is damaged");
    let later = String::from_utf8(manifest).expect("it is UTF-8");
    let later = later.replacen("\"format\": 2", "\"format\": 3", 1);
    std::fs::write(unpacked.path("manifest.json"), later).expect("it can be written");
    refused("this bundle has format 3");
    std::fs::remove_file(unpacked.path("manifest.json")).expect("it can be removed");
    refused("manifest.json cannot be read: unpack the archive again");
}

#[test]
fn a_class_is_graded_from_a_bundle() {
    let course = workspace(["exercises"], &[("one", WRONG), ("two", WRONG)]);
    let class = tempfile::tempdir().expect("a temporary folder");
    let root = class.path();
    for name in ["ada", "ben"] {
        write(root, &format!("{name}/exercises/01_one/src/lib.rs"), RIGHT);
    }
    write(root, "ada/exercises/02_two/src/lib.rs", RIGHT);
    write(root, "ada/exercises/02_two/Cargo.toml", b"[package]\n");
    write(root, "ben/exercises/02_two/src/lib.rs", NO_RUST);
    write(root, "cy/two/src/lib.rs", b"core::arch::global_asm!(\"nop\");\n");
    let folder = root.to_str().expect("it is UTF-8");
    let json = |output: &Output| -> Value {
        let text = String::from_utf8_lossy(&output.stdout);
        let last = text.lines().next_back().unwrap_or_default();
        serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    };
    let here = xtask(course.path(), &["check", "--submissions", folder, "--format", "json"]);
    let (_kept, archive) = bundle(course.path(), &["--submissions", folder]);
    let unpacked = Unpacked::of(&archive);
    course.close().expect("it can be removed");

    let there = unpacked.check(&["--format", "json", "--jobs", "2"]);
    assert_eq!(there.status.code(), Some(0), "{there:?}");
    assert_eq!(json(&there), json(&here));
    let words: Vec<String> = json(&there)["class"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|row| row["outcomes"].to_string())
        .collect();
    assert_eq!(
        words,
        [
            r#"{"one":"passed","two":"passed"}"#,
            r#"{"one":"passed","two":"does not compile"}"#,
            r#"{"one":"not done","two":"refused"}"#
        ]
    );
    // Equal sources are built once.
    let programs = unpacked.path("programs").read_dir().expect("it is there");
    let mut programs: Vec<String> = programs
        .map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned())
        .map(|name| name.split('-').next().unwrap_or_default().to_owned())
        .collect();
    programs.sort();
    assert_eq!(programs, ["device", "one", "two"]);

    let names = |arguments: &[&str]| -> Vec<String> {
        let there = unpacked.check(&[&["1", "--format", "csv"], arguments].concat());
        let text = String::from_utf8(there.stdout).expect("it is UTF-8");
        text.lines().skip(1).map(|row| row.split(',').next().unwrap_or("").to_owned()).collect()
    };
    assert_eq!(names(&["--share", "1/2"]), ["ada", "cy"]);
    assert_eq!(names(&["--share", "2/2"]), ["ben"]);
    assert_eq!(names(&["--submission", "ben"]), ["ben"]);

    // One grading, reported in several ways.
    let file = |name: &str| unpacked.path(name).to_str().expect("it is UTF-8").to_owned();
    let (xml, lines) = (file("results.xml"), file("results.jsonl"));
    let also = [format!("--also=junit={xml}"), format!("--also=json={lines}")];
    let there = unpacked.check(&["--format", "csv", &also[0], &also[1]]);
    assert!(there.stdout.starts_with(b"submission,01,02,points,"), "{there:?}");
    let xml = std::fs::read_to_string(xml).expect("it was written");
    assert!(xml.contains(r#"<testsuite name="ben"#), "{xml}");
    let lines = std::fs::read_to_string(lines).expect("it was written");
    let names = lines.lines().map(|line| {
        let line: Value = serde_json::from_str(line).expect("each line is a document");
        line["submission"]["name"].as_str().unwrap_or("the table").to_owned()
    });
    assert_eq!(names.collect::<Vec<_>>(), ["ada", "ben", "cy", "the table"]);

    let reports = unpacked.path("reports");
    let there = unpacked.check(&["--reports", reports.to_str().expect("it is UTF-8")]);
    let text = String::from_utf8(there.stdout).expect("it is UTF-8");
    assert!(text.contains("| ben        | passed   | does not compile | 1 of 2 |"), "{text}");
    let report = |name: &str| {
        let entries = reports.read_dir().expect("it was made").flatten();
        let path = entries.map(|entry| entry.path()).find(|path| {
            path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(name))
        });
        std::fs::read_to_string(path.expect("each has one")).expect("it is text")
    };
    assert!(report("ben").contains("mismatched types"), "{}", report("ben"));
    assert!(report("ada").contains("  exercises/02_two/Cargo.toml\n"), "{}", report("ada"));

    let (code, said) = unpacked.complaint(&["--submission", "dan"]);
    assert_eq!(code, Some(2), "{said}");
}

/// The names in a folder that begin with this.
fn names(folder: &Path, begin: &str) -> Vec<String> {
    let entries = folder.read_dir().expect("it is there").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(begin)).collect()
}

#[test]
fn programs_that_are_nearly_alike_are_packed_once() {
    let course = workspace(["exercises"], &[("one", WRONG)]);
    let class = tempfile::tempdir().expect("a temporary folder");
    let sources =
        [("ada", RIGHT), ("ben", WRONG), ("cy", b"//! None.\npub fn answer() -> u32 { 7 }\n")];
    for (name, source) in sources {
        write(class.path(), &format!("{name}/one/src/lib.rs"), source);
    }
    let folder = class.path().to_str().expect("it is UTF-8");
    let (_kept, archive) = bundle(course.path(), &["--submissions", folder]);
    let (_kept_too, again) = bundle(course.path(), &["--submissions", folder]);
    let read = |path: &Path| std::fs::read(path).expect("it is there");
    assert!(read(&archive) == read(&again), "the same class makes another archive");
    let unpacked = Unpacked::of(&archive);
    let programs = unpacked.path("programs");
    let all = names(&programs, "one-");
    let (deltas, whole): (Vec<_>, Vec<_>) = all.iter().partition(|name| name.ends_with(".delta"));
    let (&[base], &[delta, _]) = (&whole[..], &deltas[..]) else { panic!("{all:?}") };
    let size = |name: &str| programs.join(name).metadata().expect("it is there").len();
    assert!(size(delta) * 10 < size(base), "{} against {}", size(delta), size(base));

    let outcomes = |arguments: &[&str]| {
        let there = unpacked.check(&[&["--format", "csv"], arguments].concat());
        assert_eq!(there.status.code(), Some(0), "{there:?}");
        let text = String::from_utf8(there.stdout).expect("it is UTF-8");
        let cells =
            text.lines().skip(1).map(|row| row.split(',').take(2).collect::<Vec<_>>().join(" "));
        cells.collect::<Vec<_>>()
    };
    assert_eq!(outcomes(&["--jobs", "3"]), ["ada passed", "ben wrong", "cy wrong"]);
    assert_eq!(outcomes(&["--submission", "cy"]), ["cy wrong"]);
    // What was put together for that is gone.
    assert_eq!(names(&unpacked.path(""), "running-"), [""; 0]);
    assert_eq!(names(&programs, "one-").len(), 3);

    for name in [base, delta] {
        let mut bytes = read(&programs.join(name));
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(programs.join(name), &bytes).expect("it can be written");
        let (code, said) = unpacked.complaint(&[]);
        assert_eq!(code, Some(5), "{said}");
        assert!(said.contains(&format!("programs/{name} is damaged")), "{said}");
        bytes[middle] ^= 1;
        std::fs::write(programs.join(name), &bytes).expect("it can be written");
    }
}

/// A class's bundle: of two, one is right, and the other one's program does not end.
fn of_ada_and_endless_ben() -> Unpacked {
    let course = workspace(["exercises"], &[("one", WRONG)]);
    let class = tempfile::tempdir().expect("a temporary folder");
    let endless = b"//! Endless.\npub fn answer() -> u32 {\n    loop {}\n}\n";
    for (name, source) in [("ada", RIGHT), ("ben", endless)] {
        write(class.path(), &format!("{name}/one/src/lib.rs"), source);
    }
    let folder = class.path().to_str().expect("it is UTF-8");
    let (_kept, archive) = bundle(course.path(), &["--submissions", folder]);
    Unpacked::of(&archive)
}

#[test]
fn ctrl_c_leaves_nothing_in_a_bundle() {
    let unpacked = of_ada_and_endless_ben();
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let mut check = unpacked.command(scratch.path());
    let mut check = check
        .args(["--submission", "ben"])
        .env("TMPDIR", scratch.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("it runs");
    // Ben's program is put together in a folder of its own.
    let inside = unpacked.path("");
    let is_there = || {
        let folders = names(&inside, "running-");
        folders.iter().any(|folder| !names(&inside.join(folder), "").is_empty())
    };
    assert!(wait_until(is_there), "nothing is put together");
    kill(Pid::from_raw(check.id().cast_signed()), Signal::SIGINT).expect("it runs");
    assert_eq!(check.wait().expect("it ends").code(), Some(130));
    assert_eq!(names(&inside, "running-"), [""; 0]);
    assert_eq!(names(scratch.path(), ""), [""; 0]);
}

#[test]
fn a_killed_check_leaves_its_folders_to_the_next_which_goes_on() {
    let unpacked = of_ada_and_endless_ben();
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let command = |arguments: &[&str]| {
        let mut command = unpacked.command(scratch.path());
        command.args(arguments).env("TMPDIR", scratch.path());
        command
    };
    let limit = ["--time-limit", "600"];
    // Begins one beside these folders.
    let started = |left: &[String]| {
        let mut check = command(&limit);
        let check = check.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it runs");
        // Ada's result is there, and ben's program has its folder.
        let inside = unpacked.path("");
        let kept = || {
            let results = names(&inside, "results");
            let results = results.iter().flat_map(|folder| names(&inside.join(folder), ""));
            let of_one = |folder: String| names(&inside.join("results").join(folder), "one-");
            results.flat_map(of_one).count() == 1
        };
        let begun = || {
            let folders = names(&inside, "running-");
            let mut new = folders.iter().filter(|folder| !left.contains(folder));
            new.any(|folder| !names(&inside.join(folder), "").is_empty())
        };
        assert!(wait_until(|| kept() && begun()), "it does not come so far");
        check
    };
    let mut killed = started(&[]);
    killed.kill().expect("it runs");
    killed.wait().expect("it ends");
    let left = names(&unpacked.path(""), "running-");
    assert_eq!(left.len(), 1);
    assert_eq!(names(scratch.path(), "streamlings-rooms-").len(), 1);

    let interrupted = started(&left);
    // What the first one left is gone.
    assert_eq!(names(&unpacked.path(""), "running-").len(), 1);
    kill(Pid::from_raw(interrupted.id().cast_signed()), Signal::SIGINT).expect("it runs");
    let output = interrupted.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    let kept = "interrupted; 1 of 2 results are kept, and the same command goes on\n";
    assert!(said.ends_with(kept), "{said}");
    assert_eq!(names(scratch.path(), "streamlings-"), [""; 0]);

    let ada = [&limit[..], &["--submission", "ada"]].concat();
    let said = |arguments: &[&str]| {
        let output = command(arguments).output().expect("it runs");
        String::from_utf8(output.stdout).expect("it is UTF-8")
    };
    assert!(said(&ada).contains("\nKept: 1 of 1 result, from an earlier run\n"));
    assert!(!said(&[&ada[..], &["--fresh"]].concat()).contains("Kept:"));
}

#[test]
fn a_bundle_of_nothing_is_a_usage_error() {
    let course = workspace(["exercises"], &[("one", RIGHT)]);
    let output = xtask(course.path(), &["bundle", "--submissions", "/nonexistent"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = complaint(course.path(), &["bundle", "seven"]);
    assert!(said.contains("there is no exercise `seven`"), "{said}");
}
