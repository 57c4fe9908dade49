//! What is remembered, with many processes at once and with a file that cannot be used.

use std::path::Path;

use serde_json::Value;

use crate::workspace::{RIGHT, command, complaint, said, workspace, write, xtask};

const FILE: &str = ".streamlings/state.json";

fn list(root: &Path) -> Value {
    let (text, code) = said(root, &["list", "--format", "json"]);
    assert_eq!(code, Some(0));
    serde_json::from_str(&text).expect("it is JSON")
}

#[test]
fn processes_at_once_lose_nothing() {
    const PROCESSES: usize = 12;
    let root = workspace(["exercises"], &[("sum", RIGHT)]);
    let hints: Vec<String> = (1..=20).map(|number| format!("this is hint {number}!")).collect();
    let exercise = format!(
        "title = 'T'\nintended = [{{ case = 'answer', diagnosis = 'hung' }}]\nhints = {hints:?}\n"
    );
    write(root.path(), "exercises/01_sum/exercise.toml", exercise.as_bytes());
    let processes: Vec<_> = (0..PROCESSES)
        .map(|_| {
            let mut hint = command(root.path(), &["hint", "sum"]);
            hint.stdout(std::process::Stdio::piped()).spawn().expect("xtask runs")
        })
        .collect();
    let mut shown = String::new();
    for process in processes {
        let output = process.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{output:?}");
        shown += &String::from_utf8(output.stdout).expect("it is UTF-8");
    }
    // Each of them has shown another hint, and all are remembered.
    for hint in &hints[..PROCESSES] {
        assert_eq!(shown.matches(hint.as_str()).count(), 1, "{hint} in:\n{shown}");
    }
    assert_eq!(list(root.path())["exercises"][0]["hints"]["shown"], PROCESSES);
}

#[test]
fn a_file_of_a_newer_version_is_kept() {
    let root = workspace(["exercises"], &[("sum", RIGHT)]);
    let newer = "{\"version\": 2, \"all\": \"else\"}";
    write(root.path(), FILE, newer.as_bytes());
    let read = |file: &str| std::fs::read_to_string(root.path().join(file)).ok();

    let warning = complaint(root.path(), &["list"]);
    assert!(warning.starts_with("warning: ") && warning.contains("version 2"), "{warning}");
    assert_eq!(read(FILE).as_deref(), Some(newer));

    let warning = complaint(root.path(), &["hint", "sum"]);
    assert!(warning.contains("state.json.kept-1"), "{warning}");
    assert_eq!(read(".streamlings/state.json.kept-1").as_deref(), Some(newer));
    assert_eq!(list(root.path())["exercises"][0]["hints"]["shown"], 1);
}

#[test]
fn what_cannot_be_remembered_changes_no_verdict() {
    let root = workspace(["exercises"], &[("sum", RIGHT)]);
    // Even the superuser makes no files there.
    std::os::unix::fs::symlink("/proc/self", root.path().join(".streamlings")).expect("a link");
    let output = xtask(root.path(), &["check"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let warning = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(warning.contains("your progress is not remembered: "), "{warning}");

    let output = xtask(root.path(), &["hint", "sum"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("think"), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("is not remembered: "), "{output:?}");
}
