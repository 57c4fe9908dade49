//! `cargo xtask judge` on scenarios and on traces.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use streamlings_trace::build::Builder;
use streamlings_trace::format::Writer;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn judge(files: &[&Path]) -> (Option<i32>, String, String) {
    let output: Output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("judge")
        .args(files)
        .output()
        .expect("xtask runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn every_scenario_is_as_expected() {
    let (code, out, err) = judge(&[&root().join("harness/trace/cases")]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert_eq!(out.lines().filter(|line| line.ends_with(": ok")).count(), 40, "{out}");
}

#[test]
fn what_differs_is_said_and_the_others_are_judged_all_the_same() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (wrong, right) = (folder.path().join("wrong.case"), folder.path().join("right.case"));
    std::fs::write(&wrong, "stream s1\nalloc x 64\nwrite x on s1\nexpect races 1\n")
        .and_then(|()| std::fs::write(&right, "stream s1\nsync s1\nexpect clean\n"))
        .expect("two files");
    let (code, out, _) = judge(&[&wrong, &right]);
    assert_eq!(code, Some(1));
    assert!(out.contains("wrong.case: ") && !out.contains("wrong.case: ok"), "{out}");
    assert!(out.contains("right.case: ok"), "{out}");
}

#[test]
fn a_bad_line_is_named_with_its_column() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let bad = folder.path().join("bad.case");
    std::fs::write(&bad, "stream s1\nwrite nothing on s1\n").expect("a file");
    let (code, _, err) = judge(&[&bad]);
    assert_eq!(code, Some(1));
    assert!(err.contains("bad.case:2:"), "{err}");
    let deep = folder.path().join("a-folder-with-a-long-name".repeat(4));
    let wordy = deep.join("wordy.case");
    std::fs::create_dir(&deep).expect("a folder");
    std::fs::write(&wordy, format!("stream {}\n", "s1 ".repeat(60))).expect("a file");
    let (code, out, err) = judge(&[&wordy, &bad]);
    assert_eq!((code, out.as_str()), (Some(1), ""));
    let widest = err.lines().map(|line| line.chars().count()).max();
    assert!(widest.is_some_and(|widest| widest <= 100), "{err}");
    let (code, _, err) = judge(&[Path::new("/nowhere.case")]);
    assert_eq!(code, Some(2));
    assert!(err.contains("/nowhere.case cannot be read"), "{err}");
    // A folder in which there is nothing to judge is no success.
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).expect("a folder");
    let (code, _, err) = judge(&[&empty]);
    assert_eq!(code, Some(2));
    assert!(err.contains("has no `.case` files"), "{err}");
}

#[test]
fn a_trace_shows_its_findings() {
    let trace = Builder::new().trace();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("empty.trace");
    let mut writer = Writer::new(Vec::new(), &trace.header).expect("a header");
    trace.items.iter().for_each(|item| writer.write(item).expect("an item"));
    std::fs::write(&file, writer.finish().expect("an end mark")).expect("a file");
    let (code, out, err) = judge(&[&file]);
    assert_eq!(code, Some(0), "{out}{err}");
    // A long path may break the line.
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("0 races, 0 calls that can hold the host (0 did)"), "{out}");

    // Cut off in the middle, as after a crash: said, and judged as far as it goes.
    let bytes = std::fs::read(&file).expect("the file");
    std::fs::write(&file, &bytes[..bytes.len() - 1]).expect("a file");
    let (_, out, err) = judge(&[&file]);
    assert!(out.contains("what comes before is judged"), "{out}{err}");
}
