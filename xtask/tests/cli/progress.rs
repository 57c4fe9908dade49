//! What is said while something takes long: in plain lines where standard error is no terminal.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use nix::fcntl::{Flock, FlockArg};
use serde_json::Value;
use tempfile::TempDir;

use crate::terminal::Terminal;
use crate::workspace::{RIGHT, command, workspace, write};

const WAITS: &str = "waiting for another cargo that is building in the same folder";

/// One exercise, whose build takes until there is a file `go`.
fn slow() -> TempDir {
    let root = workspace(["exercises"], &[("sum", RIGHT)]);
    let script = "//! Takes long.\nfn main() {\n    while !std::path::Path::new(\"go\").exists() {\n        \
        std::thread::sleep(std::time::Duration::from_millis(10));\n    }\n}\n";
    write(root.path(), "exercises/01_sum/build.rs", script.as_bytes());
    root
}

fn check(root: &Path) -> Child {
    let mut check = command(root, &["check", "1", "--format", "json"]);
    check.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("xtask runs")
}

/// Lets it end: the rest of what it writes to standard error, and its report.
fn end(mut check: Child, mut errors: impl Read) -> (String, Value) {
    let mut rest = String::new();
    errors.read_to_string(&mut rest).expect("it is UTF-8");
    let stdout = check.stdout.take().expect("it is piped");
    let report = serde_json::from_reader(stdout).expect("one JSON document");
    assert!(check.wait().expect("it ends").success());
    (rest, report)
}

fn next_line(from: &mut impl BufRead) -> String {
    let mut line = String::new();
    from.read_line(&mut line).expect("it is UTF-8");
    line
}

#[test]
fn a_long_build_says_so_in_a_plain_line() {
    let root = slow();
    let mut check = check(root.path());
    let mut errors = BufReader::new(check.stderr.take().expect("it is piped"));
    assert_eq!(next_line(&mut errors), "building ...\n");
    write(root.path(), "exercises/01_sum/go", b"");
    let (rest, report) = end(check, errors);
    // Lines come seldom: there may be more on a busy machine.
    let expected = |line: &str| ["building", "grading"].iter().any(|word| line.starts_with(word));
    assert!(rest.lines().all(expected) && !rest.contains(['\r', '\x1b']), "{rest:?}");
    assert_eq!(report["exercises"][0]["outcome"], "passed");
}

#[test]
fn a_check_that_watch_shows_writes_no_such_lines() {
    let root = slow();
    let arguments = ["check", "1", "--findings-only"];
    let mut check = command(root.path(), &arguments);
    let check = check.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("xtask runs");
    // By then there would have been one.
    std::thread::sleep(Duration::from_secs(4));
    write(root.path(), "exercises/01_sum/go", b"");
    let output = check.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.success());
}

/// Locks what cargo locks in a target folder while it builds there.
fn as_another_cargo(root: &Path) -> Flock<File> {
    let folder = root.join("target/debug");
    std::fs::create_dir_all(&folder).expect("it can be made");
    let file = File::create(folder.join(".cargo-lock")).expect("it can be made");
    Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, error)| error).expect("it is free")
}

#[test]
fn a_build_that_waits_for_another_says_so() {
    let root = workspace(["exercises"], &[("sum", RIGHT)]);
    let lock = as_another_cargo(root.path());
    let mut check = check(root.path());
    let mut errors = BufReader::new(check.stderr.take().expect("it is piped"));
    // On a busy machine cargo may be slow to find that out.
    let mut line = next_line(&mut errors);
    while line.starts_with("building") {
        line = next_line(&mut errors);
    }
    assert_eq!(line, format!("{WAITS}\n"));
    drop(lock);
    let (rest, report) = end(check, errors);
    assert!(!rest.contains(WAITS), "{rest}");
    assert_eq!(report["exercises"][0]["outcome"], "passed");

    let lock = as_another_cargo(root.path());
    let mut terminal = Terminal::start(root.path(), &["check", "1"]);
    terminal.wait_for(WAITS);
    drop(lock);
    assert_eq!(terminal.end(), 0);
    terminal.wait_for("Solved: 1 of 1");
    assert!(!terminal.screen().contains(WAITS), "{}", terminal.screen());
}
