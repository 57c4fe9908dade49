//! `cargo xtask check` on exercises that compile, or do not, in every way.

use std::process::{Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use crate::terminal::{assert_gone, wait_until};
use crate::workspace::{self, LOOPS, RIGHT, command, xtask};

/// The exercises: name, source, and `outcome diagnosis at` of the one case.
const EXERCISES: &[(&str, &[u8], &str)] = &[
    ("good", RIGHT, "passed - -"),
    ("wrong", b"//! An answer.\npub fn answer() -> u32 { 41 }\n", "wrong wrong-value -"),
    (
        "broken",
        b"//! An answer.\npub fn answer() -> u32 {\n    \"42\"\n}\n",
        "does not compile does-not-compile exercises/03_broken/src/lib.rs:3",
    ),
    ("comments", b"// pub fn answer() -> u32 {\n//     42\n// }\n", "not done function-missing -"),
    ("empty", b"\n", "does not compile source-missing -"),
    (
        "signature",
        b"//! An answer.\npub fn answer(of: u32) -> u32 {\n    of\n}\n",
        "does not compile signature-changed -",
    ),
    (
        "bom_and_crlf",
        b"\xef\xbb\xbf//! An answer.\r\npub fn answer() -> u32 {\r\n    42\r\n}\r\n",
        "passed - -",
    ),
    (
        "not_utf8",
        b"//! \xff\npub fn answer() -> u32 { 42 }\n",
        "does not compile does-not-compile *",
    ),
    (
        "exits",
        b"//! An answer.\npub fn answer() -> u32 {\n    std::process::exit(0)\n}\n",
        "no verdict no-verdict -",
    ),
    (
        "aborts",
        b"//! An answer.\npub fn answer() -> u32 {\n    std::process::abort()\n}\n",
        "crashed crashed -",
    ),
    ("loops", LOOPS, "hung hung -"),
];

fn workspace() -> TempDir {
    let exercises: Vec<(&str, &[u8])> =
        EXERCISES.iter().map(|(name, source, _)| (*name, *source)).collect();
    workspace::workspace(["exercises"], &exercises)
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error} in {output:?}");
    })
}

#[test]
fn every_submission_gets_its_own_outcome_and_an_exit_code() {
    let root = workspace();
    let json = ["check", "--format", "json", "--time-limit", "2"];
    let output = xtask(root.path(), &json);
    let report = document(&output);
    assert_eq!(report["schema"], 1);
    assert_eq!(report["device"]["name"], "a stand-in");
    for ((name, _, wanted), exercise) in EXERCISES.iter().zip(array(&report["exercises"])) {
        assert_eq!(exercise["name"], *name);
        let case = &exercise["cases"][0];
        let text = |field: &str| case[field].as_str().unwrap_or("-").to_owned();
        let got = format!("{} {} {}", text("outcome"), text("diagnosis"), text("at"));
        match wanted.strip_suffix('*') {
            Some(start) => assert!(got.starts_with(start), "{name}: {got}"),
            None => assert_eq!(got, *wanted, "{name}"),
        }
        assert_eq!(exercise["outcome"], case["outcome"], "{name}");
        let rustc = exercise["rustc"].as_str().unwrap_or_default();
        let compiles = ["passed", "wrong", "no verdict", "crashed", "hung"];
        let compiled = compiles.contains(&text("outcome").as_str());
        // Of a file without code rustc has nothing to say that helps.
        let is_there = case["diagnosis"] != "source-missing";
        assert_eq!(rustc.contains("error"), !compiled && is_there, "{name}: {rustc}");
    }
    // Of several troubles, that which says least about the code: 3, does not compile.
    assert_eq!(output.status.code(), Some(3));

    for (names, code) in [(["good"], 0), (["wrong"], 1), (["gud"], 2), (["broken"], 3)] {
        let output = xtask(root.path(), &["check", names[0]]);
        assert_eq!(output.status.code(), Some(code), "{names:?}: {output:?}");
    }
    let output = xtask(root.path(), &["check", "god"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said, "error: there is no exercise `god`; did you mean `good`?\n");
    assert!(output.stdout.is_empty());

    let output = xtask(root.path(), &["check", "exercises/03_broken"]);
    let text = String::from_utf8(output.stdout).expect("it is UTF-8");
    assert!(text.contains("error[E0308]: mismatched types"), "{text}");
    assert!(text.contains("does not compile[does-not-compile]: rustc: mismatched types"), "{text}");

    let output = xtask(root.path(), &["check", "wrong", "1"]);
    insta::assert_snapshot!(String::from_utf8(output.stdout).expect("it is UTF-8"));
}

#[test]
fn what_does_not_compile_names_no_device() {
    let root = workspace();
    let said = |format: &str| {
        let output = xtask(root.path(), &["check", "broken", "--format", format]);
        assert_eq!(output.status.code(), Some(3), "{format}");
        String::from_utf8(output.stdout).expect("it is UTF-8")
    };
    for format in ["human", "json", "junit", "github", "markdown", "csv"] {
        assert!(!said(format).contains("no device"), "{format}: {}", said(format));
    }
    assert!(said("human").contains("\nDevice: not used\n"));
    let json: Value = serde_json::from_str(&said("json")).expect("it is JSON");
    assert_eq!(json["device"], serde_json::json!({ "kind": "none", "name": "not used" }));
    assert!(said("junit").contains(r#"<property name="device" value="not used"/>"#));
    assert!(said("markdown").contains("\n0 of 1 exercises solved.\n"));
    assert!(said("csv").contains(",not used\n"));
}

#[test]
fn ctrl_c_ends_the_running_case() {
    let root = workspace();
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let mut check = command(root.path(), &["check", "loops"])
        .env("TMPDIR", scratch.path())
        .spawn()
        .expect("xtask runs");
    let file = root.path().join("exercises/11_loops/pid");
    let case = || std::fs::read_to_string(&file).ok()?.parse::<i32>().ok();
    assert!(wait_until(|| case().is_some()), "the case does not run");
    kill(Pid::from_raw(check.id().cast_signed()), Signal::SIGINT).expect("xtask runs");
    assert_eq!(check.wait().expect("it ends").code(), Some(130));
    assert_gone(case().expect("it has said so"));
    let left: Vec<_> = scratch.path().read_dir().expect("it is there").collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn output_that_nobody_reads_changes_no_exit_code() {
    let root = workspace();
    let mut check = command(root.path(), &["check", "wrong"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("xtask runs");
    drop(check.stdout.take());
    assert_eq!(check.wait().expect("it ends").code(), Some(1));
}

#[test]
fn a_workspace_that_cargo_rejects_is_the_graders_trouble() {
    let root = workspace();
    std::fs::write(root.path().join("Cargo.toml"), "[workspace").expect("it can be written");
    let output = xtask(root.path(), &["check", "good", "--format", "json"]);
    assert_eq!(output.status.code(), Some(5));
    let report = document(&output);
    let exercise = &report["exercises"][0];
    assert_eq!(exercise["outcome"], "grader error");
    assert_eq!(exercise["cases"][0]["diagnosis"], "setup-failed");
    assert_eq!(report["device"]["kind"], "none");
}

fn array(value: &Value) -> &[Value] {
    value.as_array().expect("it is an array")
}

#[test]
fn a_source_that_is_gone_is_said_to_be_gone() {
    let root = workspace::workspace(["exercises"], &[("sum", RIGHT)]);
    std::fs::remove_file(root.path().join("exercises/01_sum/src/lib.rs")).expect("it was there");
    let output = xtask(root.path(), &["check", "1", "--format", "json"]);
    let document = document(&output);
    let exercise = &document["exercises"][0];
    assert_eq!(exercise["cases"][0]["diagnosis"], "source-missing", "{document}");
    assert_eq!(exercise["cases"][0]["message"], "src/lib.rs is not there");
}

#[test]
fn blocking_launches_are_told_of_and_not_remembered() {
    let root = workspace::workspace(["exercises"], &[("sum", RIGHT)]);
    let run = |blocking: &str| {
        let mut command = command(root.path(), &["check", "1"]);
        command.env("CUDA_LAUNCH_BLOCKING", blocking).output().expect("xtask runs")
    };
    let list = || workspace::said(root.path(), &["list"]).0;
    let blocked = run("1");
    let warned = String::from_utf8_lossy(&blocked.stderr).contains("CUDA_LAUNCH_BLOCKING is set");
    assert!(warned, "{blocked:?}");
    assert!(list().contains("not checked"), "{}", list());
    let free = run("0");
    assert!(!String::from_utf8_lossy(&free.stderr).contains("CUDA_LAUNCH_BLOCKING"));
    assert!(list().contains("passed"), "{}", list());
}

#[test]
fn a_report_that_cannot_be_written_is_refused_before_anything_is_graded() {
    let root = workspace::workspace(["exercises"], &[("sum", RIGHT)]);
    let output = xtask(root.path(), &["check", "1", "--also", "json=nowhere/report.json"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(output.stdout.is_empty());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("there is no folder nowhere"), "{said}");
}

#[test]
fn what_rustc_warns_of_in_the_learners_file_is_shown_each_time() {
    let wrong =
        b"//! An answer.\npub fn answer() -> u32 {\n    \"42\".parse::<u32>();\n    41\n}\n";
    let root = workspace::workspace(["exercises"], &[("sum", wrong)]);
    let grade = root.path().join("exercises/01_sum/tests/grade.rs");
    let cases = std::fs::read_to_string(&grade).expect("it is there") + "fn never_called() {}\n";
    std::fs::write(&grade, cases).expect("it can be written");
    // The second time, as `watch` asks, nothing is built.
    for arguments in [&["check", "1"][..], &["check", "1", "--findings-only"]] {
        let text = workspace::said(root.path(), arguments).0;
        assert!(text.contains("\nwarning: unused `Result` that must be used\n"), "{text}");
        assert!(text.contains("exercises/01_sum/src/lib.rs:3:5\n"), "{text}");
        assert_eq!(text.matches("warning").count(), 1, "{text}");
    }
    let json = document(&xtask(root.path(), &["check", "1", "--format", "json"]));
    let [warning] = array(&json["exercises"][0]["warnings"]) else { panic!("{json}") };
    assert!(warning.as_str().is_some_and(|text| text.starts_with("warning: unused `Result`")));
}
