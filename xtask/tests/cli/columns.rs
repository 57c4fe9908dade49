//! Nothing that a learner reads is wider than 100 columns.

use std::path::Path;

use crate::terminal::{Terminal, wait_until};
use crate::workspace::{RIGHT, workspace, write, xtask};

const COLUMNS: usize = 100;

/// Every line of what `cargo xtask` says must fit; returns how many there were.
fn fits(root: &Path, arguments: &[&str]) -> usize {
    let output = xtask(root, arguments);
    let text = [&*output.stdout, &*output.stderr].concat();
    let text = String::from_utf8(text).expect("it is UTF-8");
    for line in text.lines() {
        assert!(line.chars().count() <= COLUMNS, "{arguments:?}: {line}");
    }
    text.lines().count()
}

#[test]
fn diagnoses_and_helps_fit() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    fits(&root, &["list"]);
    fits(&root, &["explain"]);
    for diagnosis in streamlings_grade::diagnosis::ALL {
        assert!(fits(&root, &["explain", diagnosis.code]) >= 4, "{diagnosis}");
    }
    for command in [
        "check",
        "watch",
        "list",
        "next",
        "hint",
        "explain",
        "solution",
        "reset",
        "quiz",
        "doctor",
        "completions",
        "judge",
        "trace",
        "verify",
        "bench",
        "new",
        "ptx",
    ] {
        assert!(fits(&root, &["help", command]) >= 3, "{command}");
    }
}

#[test]
fn every_hint_fits() {
    let exercises = Path::new(env!("CARGO_MANIFEST_DIR")).join("../exercises");
    let root = workspace(["exercises"], &[]);
    let mut shown = 0;
    for entry in exercises.read_dir().expect("there are exercises").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let text = std::fs::read(entry.path().join("exercise.toml")).expect("it can be read");
        write(root.path(), &format!("exercises/{name}/exercise.toml"), &text);
        // Enough to reach the last, and then all of them at once.
        for _ in 0..8 {
            shown += fits(root.path(), &["hint", &name]);
        }
        fits(root.path(), &["next"]);
    }
    assert!(shown > 8, "there were no hints");
}

#[test]
fn long_paths_and_names_fit() {
    let root = workspace(["exercises"], &[("sum", RIGHT)]);
    let deep = root.path().join(["a-folder-with-a-long-name"; 8].join("/"));
    let name = "an_exercise_whose_name_is_much_longer_than_anybody_would_ever_want_to_type_twice";
    std::fs::create_dir_all(&deep).expect("it can be made");
    std::fs::rename(root.path().join("exercises"), deep.join("exercises")).expect("it moves");
    std::fs::rename(deep.join("exercises/01_sum"), deep.join(format!("exercises/01_{name}")))
        .expect("it moves");
    write(&deep, &format!("solutions/01_{name}/starter/lib.rs"), b"//! A starter.\n");
    write(&deep, ".streamlings/state.json", b"{\"version\": 9}");
    for arguments in [
        &["list"][..],
        &["next"],
        &["hint", "1"],
        &[
            "hint",
            "an_exercise_whose_name_is_much_longer_than_anybody_would_ever_want_to_tipe_twice",
        ],
        &["hint", "nothing like it"],
        &["solution", "1"],
        &["reset", "1"],
        &["reset", "1", "--yes"],
        &["explain", "nothing"],
        &["watch"],
    ] {
        assert!(fits(&deep, arguments) >= 1, "{arguments:?} says nothing");
    }
}

#[test]
fn what_is_short_fits_a_narrow_terminal() {
    let root = workspace(["exercises"], &[("sum", RIGHT)]);
    // The three hints, one by one, and then all of them.
    for arguments in [&["hint"][..], &["hint"], &["hint"], &["hint"], &["next"], &["list"]] {
        let mut terminal = Terminal::start_sized(root.path(), arguments, (40, 60));
        assert_eq!(terminal.end(), 0, "{}", terminal.screen());
        // The last of what was written may still be on its way.
        let whole = || terminal.written().contains("sum") && terminal.written().ends_with('\n');
        assert!(wait_until(whole), "{}", terminal.written());
        let written = terminal.written();
        assert!(written.lines().all(|line| line.trim_end().chars().count() <= 60), "{written}");
    }
}
