//! Clones that were copied or moved with all that was built in them, and workspaces that are not whole.

use std::path::Path;
use std::process::{Command, Output};

use crate::workspace::{RIGHT, workspace, write, xtask};

const WRONG: &[u8] = b"//! An answer.\npub fn answer() -> u32 {\n    41\n}\n";

/// Runs `xtask`, which was built elsewhere, as `cargo run` does in this clone.
fn run_in(clone: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(arguments)
        .env("CARGO_PKG_NAME", "xtask")
        .env("CARGO_MANIFEST_DIR", clone.join("xtask"))
        .env("CARGO_TARGET_DIR", clone.join("target"))
        .env("CARGO_NET_OFFLINE", "true")
        .env_remove("STREAMLINGS_DEVICE")
        .output()
        .expect("xtask runs")
}

#[test]
fn a_copied_clone_grades_its_own_files() {
    let original = workspace(["exercises"], &[("sum", RIGHT)]);
    assert_eq!(run_in(original.path(), &["check", "1"]).status.code(), Some(0));
    let parent = tempfile::tempdir().expect("a temporary folder");
    let copy = parent.path().join("copy");
    let copied = Command::new("cp").arg("-a").arg(original.path()).arg(&copy).status();
    assert!(copied.expect("cp runs").success());
    write(&copy, "exercises/01_sum/src/lib.rs", WRONG);
    let check = run_in(&copy, &["check", "1"]);
    assert_eq!(check.status.code(), Some(1), "{check:?}");
    let listed =
        |clone: &Path| String::from_utf8(run_in(clone, &["list"]).stdout).expect("it is UTF-8");
    assert!(listed(&copy).contains("\n01 sum  "), "{}", listed(&copy));
    assert!(listed(&copy).contains("0 of 1 exercise passed."), "{}", listed(&copy));
    assert!(listed(original.path()).contains("1 of 1 exercise passed."));
    // The same after a move.
    let moved = parent.path().join("moved");
    std::fs::rename(&copy, &moved).expect("it can be moved");
    assert!(listed(&moved).contains("0 of 1 exercise passed."), "{}", listed(&moved));
}

#[test]
fn a_workspace_without_exercises_has_not_passed() {
    let empty = workspace(["exercises"], &[]);
    let nowhere = empty.path().join("nowhere");
    for root in [empty.path(), &nowhere] {
        for arguments in [&["list"][..], &["check"], &["next"], &["verify", "--only-exercises"]] {
            let output = xtask(root, arguments);
            let wanted = format!(
                "error: there are no exercises in {}; run `cargo xtask` in a clone that has them",
                root.join("exercises").display()
            );
            let got = String::from_utf8(output.stderr).expect("it is UTF-8");
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(words(&got), wanted, "{arguments:?}");
            assert_eq!(output.status.code(), Some(5), "{arguments:?}");
            assert!(output.stdout.is_empty(), "{arguments:?}");
        }
    }
}

#[test]
fn a_file_that_is_no_trace_is_said_to_be_there() {
    let root = workspace(["exercises"], &[("sum", RIGHT)]);
    let file = |name: &str| root.path().join(name).to_str().expect("it is UTF-8").to_owned();
    let (page, perfetto) = (file("target/trace/sum.html"), file("target/trace/sum.json"));
    write(root.path(), "target/trace/sum.html", b"<!doctype html>");
    write(root.path(), "target/trace/sum.json", b"{}");
    for (arguments, wanted) in [
        (
            &["trace", &perfetto][..],
            format!("{perfetto} is there, and is no recorded trace; open what"),
        ),
        (&["trace", &page], format!("{page} is there, and is no recorded trace; open a page")),
        (&["trace", &page, &perfetto], format!("{page} is there, and is no recorded trace;")),
        (&["trace", "1", "sum"], "name one exercise, or else trace files alone".to_owned()),
    ] {
        let output = xtask(root.path(), arguments);
        let got = String::from_utf8(output.stderr).expect("it is UTF-8");
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&got).contains(&wanted), "{arguments:?}: {got}");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {got}");
    }
}

#[test]
fn an_option_that_names_no_file_is_a_usage_error() {
    let root = workspace(["exercises"], &[("sum", RIGHT)]);
    let folder = root.path().to_str().expect("it is UTF-8").to_owned();
    for (arguments, wanted) in [
        (&["check", "--points", "/nope"][..], "--points: /nope: No such file or directory"),
        (&["check", "--submission", "/nope"], "there is no folder /nope"),
        (&["check", "--submissions", "/nope"], "/nope cannot be read"),
        (&["check", "--also", "json=/nope/a"], "--also: there is no folder /nope"),
        (&["bundle", "--output", "/nope/a.tar.gz"], "--output: there is no folder /nope"),
        (&["trace", "1", "--output", &folder], "is a folder"),
        (&["trace", "/nope.trace"], "there is no file /nope.trace"),
    ] {
        let output = xtask(root.path(), arguments);
        let got = String::from_utf8(output.stderr).expect("it is UTF-8");
        assert!(got.starts_with("error: ") && got.contains(wanted), "{arguments:?}: {got}");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {got}");
    }
}
