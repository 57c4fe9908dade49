//! The commands that need a terminal, on one.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::sys::signal::Signal;

use crate::terminal::{Terminal, assert_gone, wait_until};
use crate::workspace::{LOOPS, RIGHT, said, workspace, write, xtask};

const WRONG: &[u8] = b"//! An answer.\npub fn answer() -> u32 {\n    41\n}\n";
const SOURCE: &str = "exercises/01_sum/src/lib.rs";

fn read(root: &Path, path: &str) -> Vec<u8> {
    std::fs::read(root.join(path)).unwrap_or_default()
}

/// The process of the case that runs, once it does. The file goes, for the next one.
fn case_of(root: &Path) -> i32 {
    let file = root.join("exercises/01_sum/pid");
    let pid = || std::fs::read_to_string(&file).ok()?.parse().ok();
    assert!(wait_until(|| pid().is_some()), "the case does not run");
    let pid = pid().expect("it is there");
    std::fs::remove_file(&file).expect("it can go");
    pid
}

/// Nothing half-written has stayed, and what is remembered can be read.
fn assert_state_is_whole(root: &Path) {
    let entries = root.join(".streamlings").read_dir().into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    names.retain(|name| name != "state.json" && name != "state.lock" && name != "kept");
    assert!(names.is_empty(), "{names:?}");
    assert!(xtask(root, &["list"]).stderr.is_empty());
}

#[test]
fn from_a_save_to_a_verdict_to_the_next_exercise() {
    let root = workspace(["exercises"], &[("sum", WRONG), ("product", WRONG)]);
    let root = root.path();
    write(root, "solutions/02_product/starter/lib.rs", WRONG);
    let mut terminal = Terminal::start(root, &["watch"]);
    terminal.wait_for("1st run: not passed");
    terminal.wait_for("wrong[wrong-value]: it is not 42");

    terminal.press("n");
    terminal.wait_for("01 sum has not passed yet.");
    terminal.press("h");
    terminal.wait_for("hint 1 of 3: think");
    terminal.press("h");
    terminal.wait_for("hint 2 of 3: add");
    terminal.wait_for("One is left: `h` shows it.");
    // To the last column.
    terminal.press(" ");
    terminal.wait_for("0 of 1 passed");

    // What came of a save takes the place of a hint.
    terminal.press("h");
    terminal.wait_for("hint 3 of 3: six times seven");
    write(root, SOURCE, b"//! An answer.\npub fn answer() -> u32 {\n    40\n}\n");
    terminal.wait_for("wrong[wrong-value]: it is not 42");

    write(root, SOURCE, RIGHT);
    terminal.wait_for("Press n to go on with 02 product.");
    assert!(terminal.screen().contains("3rd run: passed"), "{}", terminal.screen());
    terminal.press("l");
    terminal.wait_for("1 of 2 exercises passed.");
    terminal.press("n");
    terminal.wait_for("1st run: not passed");
    terminal.wait_for("02 product  exercises/02_product/src/lib.rs");

    // As some editors save: another file takes the name.
    let written = root.join("exercises/02_product/src/lib.rs.new");
    std::fs::write(&written, RIGHT).expect("it can be written");
    std::fs::rename(&written, root.join("exercises/02_product/src/lib.rs")).expect("it moves");
    terminal.wait_for("2nd run: passed");
    terminal.wait_for("All exercises have passed.");
    terminal.press("r");
    terminal.wait_for("3rd run: passed");

    terminal.press("x");
    terminal.wait_for("Put the starter of 02 product back?");
    terminal.press("n");
    terminal.wait_for("r run again");
    assert_eq!(read(root, "exercises/02_product/src/lib.rs"), RIGHT);
    terminal.press("x");
    terminal.wait_for("Put the starter of 02 product back?");
    terminal.press("y");
    terminal.wait_for("4th run: not passed");
    assert_eq!(read(root, "exercises/02_product/src/lib.rs"), WRONG);

    terminal.press("q");
    assert_eq!(terminal.end(), 0);
    terminal.assert_restored();
    assert_state_is_whole(root);
    let (list, _) = said(root, &["list"]);
    assert!(list.contains("1 of 2 exercises passed. Next: 02 product"), "{list}");
}

#[test]
fn a_save_during_a_check_begins_it_anew() {
    let root = workspace(["exercises"], &[("sum", LOOPS)]);
    let root = root.path();
    let mut terminal = Terminal::start(root, &["watch", "1", "--time-limit", "600"]);
    let case = case_of(root);
    write(root, SOURCE, RIGHT);
    terminal.wait_for("2nd run: passed");
    assert_gone(case);
    // And one that does not compile, while a build may still be running.
    write(root, SOURCE, b"//! Not Rust.\n?\n");
    terminal.wait_for("3rd run: not passed");
    terminal.wait_for("does not compile");
    terminal.press("q");
    assert_eq!(terminal.end(), 0);
    terminal.assert_restored();
}

/// When the library of the exercise was built, in this target folder, and in how many folders it is.
fn library(target: &Path) -> Option<(std::time::SystemTime, u64)> {
    let entries = target.join("debug/deps").read_dir().ok()?.flatten();
    let is_library = |name: &str| name.starts_with("libsum-") && name.ends_with(".rlib");
    let mut found = entries.filter(|e| is_library(&e.file_name().to_string_lossy()));
    let metadata = found.next()?.metadata().ok()?;
    assert!(found.next().is_none(), "it was built twice");
    Some((metadata.modified().ok()?, metadata.nlink()))
}

#[test]
fn the_first_watch_takes_over_what_is_built() {
    let root = workspace(["exercises"], &[("sum", WRONG)]);
    let root = root.path();
    let (usual, own) = (root.join("target"), root.join("target/watch"));
    said(root, &["check", "1"]);
    let (built, _) = library(&usual).expect("it is built");
    let mut terminal = Terminal::start(root, &["watch"]);
    terminal.wait_for("1st run: not passed");
    assert!(terminal.written().contains("taking over what is built: "));
    // cargo has taken it for its own.
    let taken = library(&own).expect("it is there");
    assert_eq!(taken.0, built);
    // What is built in one of the folders changes nothing in the other.
    write(root, SOURCE, RIGHT);
    terminal.wait_for("2nd run: passed");
    assert_eq!(library(&usual).map(|(built, _)| built), Some(built));
    assert!(library(&own).is_some_and(|(anew, names)| anew > built && names == 1));
    terminal.press("q");
    assert_eq!(terminal.end(), 0);
    let entries = usual.read_dir().expect("it is there").flatten();
    let names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    let half = names.iter().any(|name| name.to_string_lossy().starts_with("watch."));
    assert!(!half, "{names:?}");
}

#[test]
fn an_end_in_the_middle_leaves_nothing_behind() {
    let root = workspace(["exercises"], &[("sum", LOOPS)]);
    let root = root.path();
    type Way = fn(&mut Terminal);
    let ways: [(&str, Way, u32); 5] = [
        ("q", |terminal| terminal.press("q"), 0),
        ("Ctrl-C", |terminal| terminal.press("\x03"), 130),
        ("SIGINT", |terminal| terminal.signal(Signal::SIGINT), 130),
        ("SIGTERM", |terminal| terminal.signal(Signal::SIGTERM), 130),
        ("SIGHUP", |terminal| terminal.signal(Signal::SIGHUP), 130),
    ];
    for (name, end, code) in ways {
        let mut terminal = Terminal::start(root, &["watch", "--time-limit", "600"]);
        let case = case_of(root);
        end(&mut terminal);
        assert_eq!(terminal.end(), code, "{name}");
        terminal.assert_restored();
        assert_gone(case);
        assert_state_is_whole(root);
    }
}

#[test]
fn polling_sees_saves_too() {
    let root = workspace(["exercises"], &[("sum", WRONG)]);
    let mut terminal = Terminal::start(root.path(), &["watch", "--poll"]);
    terminal.wait_for("1st run: not passed");
    write(root.path(), SOURCE, RIGHT);
    terminal.wait_for("2nd run: passed");
    terminal.press("q");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn a_watch_fills_no_scrollback_and_scrolls_itself() {
    let loud = b"//! An answer.\npub fn answer() -> u32 {\n    for line in 1..=12 { println!(\"line {line}\\x1b[2J\") }\n    (0..60).for_each(|_| println!());\n    std::process::abort()\n}\n";
    let root = workspace(["exercises"], &[("sum", loud), ("product", WRONG)]);
    let mut terminal = Terminal::start(root.path(), &["watch"]);
    terminal.wait_for("1st run: not passed");
    terminal.wait_for("more below --");
    terminal.press("\x1b[6~");
    terminal.wait_for("60 lines left out");
    terminal.wait_for("Device: a stand-in");
    assert!(!terminal.screen().contains("0 of 1 passed"), "{}", terminal.screen());
    terminal.press("\x1b[5~");
    // Its output cannot clear the screen.
    terminal.wait_for("0 of 1 passed");
    for run in ["2nd", "3rd", "4th"] {
        terminal.press("r");
        terminal.wait_for(&format!("{run} run: not passed"));
    }
    terminal.press("q");
    assert_eq!(terminal.end(), 0);
    terminal.assert_restored();
    assert_eq!(terminal.screen().trim(), "", "it stayed on the alternate screen");
}

#[test]
fn without_a_terminal_it_says_what_to_use() {
    let root = workspace(["exercises"], &[("sum", WRONG)]);
    let output = xtask(root.path(), &["watch", "sum"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(
        said,
        "error: watch needs a terminal that can be drawn on; `cargo xtask check sum` grades once\n"
    );
    let output = xtask(root.path(), &["watch", "nope"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said, "error: there is no exercise `nope`; there are 01 sum\n");
}

#[test]
fn a_terminal_without_a_cursor_is_none() {
    let root = workspace(["exercises"], &[("sum", WRONG)]);
    let mut terminal = Terminal::start_with(root.path(), &["watch"], &[("TERM", "dumb")]);
    terminal.wait_for("watch needs a terminal that can be drawn on");
    assert_eq!(terminal.end(), 2);
    assert!(!terminal.written().contains("\x1b["), "{}", terminal.written());
}

#[test]
fn a_small_terminal_shows_what_fits() {
    let root = workspace(["exercises"], &[("sum", WRONG)]);
    let mut terminal = Terminal::start(root.path(), &["watch"]);
    terminal.wait_for("1st run: not passed");
    terminal.resize(10, 40);
    terminal.wait_for("n next   h hint   l list   q quit");
    terminal.wait_for("more below --");
    assert!(terminal.screen().contains("1st run: not passed"), "{}", terminal.screen());
    terminal.resize(1, 7);
    terminal.wait_for("q quit");
    terminal.resize(24, 100);
    terminal.wait_for("up/down scroll");
    terminal.wait_for("wrong[wrong-value]: it is not 42");
    terminal.press("q");
    assert_eq!(terminal.end(), 0);
    terminal.assert_restored();
}

#[test]
fn reports_fit_the_terminal() {
    let root = workspace(["exercises"], &[("sum", WRONG)]);
    let root = root.path();
    for columns in [60, 80] {
        let mut terminal = Terminal::start_sized(root, &["check"], (50, columns));
        terminal.wait_for("Completion criterion");
        assert_eq!(terminal.end(), 1);
        // What does not fit would go on in the next line.
        let screen = terminal.screen();
        let first = screen.lines().find(|line| line.starts_with("01 sum: an answer"));
        let width = first.map(|line| line.chars().count());
        assert_eq!(width, Some(usize::from(columns)), "{screen}");
        assert!(screen.contains("read exercises/01_sum/README.md\n"), "{screen}");

        let mut terminal = Terminal::start_sized(root, &["watch"], (24, columns));
        terminal.wait_for("1st run: not passed");
        terminal.wait_for("0 of 1 passed");
        terminal.press("l");
        terminal.wait_for("01 sum       wrong");
        terminal.wait_for("last pass");
        terminal.press(" ");
        terminal.wait_for("0 of 1 passed");
        let screen = terminal.screen();
        let first = screen.lines().find(|line| line.starts_with("01 sum: an answer"));
        assert!(first.is_some_and(|line| line.ends_with("0 of 1 passed")), "{screen}");
        terminal.press("q");
        assert_eq!(terminal.end(), 0);
    }
}

#[test]
fn reset_asks_on_a_terminal() {
    let root = workspace(["exercises"], &[("sum", RIGHT)]);
    let root = root.path();
    write(root, "solutions/01_sum/starter/lib.rs", WRONG);
    let question = "Put the starter of 01 sum back? Your code is kept beside. [y/N]";
    // An empty answer, a no, an interrupt, the end of the input: nothing is changed.
    for (keys, code) in [("\r", 1), ("n\r", 1), ("\x03", 130), ("\x04", 1)] {
        let mut terminal = Terminal::start(root, &["reset", "sum"]);
        terminal.wait_for(question);
        terminal.press(keys);
        assert_eq!(terminal.end(), code, "{keys:?}");
        terminal.assert_restored();
        assert_eq!(read(root, SOURCE), RIGHT);
    }
    let mut terminal = Terminal::start(root, &["reset", "sum"]);
    terminal.wait_for(question);
    terminal.press("y\r");
    terminal.wait_for("01 sum is the starter again.");
    assert_eq!(terminal.end(), 0);
    assert_eq!(read(root, SOURCE), WRONG);
    assert_state_is_whole(root);
}

#[test]
fn colours_are_for_terminals_and_for_those_who_want_them() {
    let root = workspace(["exercises"], &[("sum", WRONG)]);
    let root = root.path();
    write(root, "solutions/01_sum/src/lib.rs", RIGHT);
    let coloured = |environment: &[(&str, &str)]| {
        let mut terminal = Terminal::start_with(root, &["solution", "1", "--spoil"], environment);
        terminal.wait_for("+    42");
        assert_eq!(terminal.end(), 0);
        terminal.written().contains("\x1b[32m")
    };
    assert!(coloured(&[]));
    assert!(!coloured(&[("NO_COLOR", "1")]));
    assert!(!coloured(&[("CLICOLOR", "0")]));
    assert!(coloured(&[("CLICOLOR_FORCE", "1")]));

    let mut terminal = Terminal::start(root, &["hint", "1"]);
    terminal.wait_for("hint 1 of 3: think");
    assert_eq!(terminal.end(), 0);

    for (environment, colours) in [(&[][..], true), (&[("NO_COLOR", "1")], false)] {
        let mut terminal = Terminal::start_with(root, &["watch"], environment);
        terminal.wait_for("wrong[wrong-value]: it is not 42");
        terminal.press("q");
        assert_eq!(terminal.end(), 0);
        assert_eq!(terminal.written().contains("\x1b[31m"), colours);
        terminal.assert_restored();
    }
}
