//! `cargo xtask new`: what it makes is a whole exercise, and what it refuses changes nothing.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use toml::{Table, Value};

use crate::workspace::{RIGHT, command, root, target, workspace, write, xtask};

/// A workspace of the first exercise alone, on this one's harness, with its profiles and its flags: what was built
/// here needs no building there.
pub fn copy() -> TempDir {
    let copy = tempfile::tempdir().expect("a temporary folder");
    let read = |path: &str| std::fs::read_to_string(root().join(path)).expect("it can be read");
    let table = |path: &str| read(path).parse::<Table>().expect("it is TOML");
    let mut manifest = table("Cargo.toml");
    let whole = manifest["workspace"].as_table_mut().expect("it is a workspace");
    whole.remove("default-members");
    let members = ["exercises/*", "solutions/*"].map(|glob| Value::String(glob.to_owned()));
    whole.insert("members".to_owned(), Value::Array(members.to_vec()));
    let needed = whole["dependencies"].as_table_mut().expect("they are listed");
    for (_, needed) in needed.iter_mut() {
        absolute(needed.get_mut("path"));
    }
    let mut config = table(".cargo/config.toml");
    let library_path = config["env"]["CUDA_LIBRARY_PATH"].as_table_mut().expect("it is a table");
    library_path.remove("relative");
    absolute(library_path.get_mut("value"));

    write(copy.path(), "Cargo.toml", manifest.to_string().as_bytes());
    write(copy.path(), "Cargo.lock", read("Cargo.lock").as_bytes());
    write(copy.path(), ".cargo/config.toml", config.to_string().as_bytes());
    std::fs::copy(root().join("rustfmt.toml"), copy.path().join("rustfmt.toml")).expect("copied");
    for folder in ["exercises/01_async_launch", "solutions/01_async_launch"] {
        copy_folder(&root().join(folder), &copy.path().join(folder));
    }
    copy
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("it can be made");
    for entry in from.read_dir().expect("it is a folder").flatten() {
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy_folder(&entry.path(), &to),
            false => drop(std::fs::copy(entry.path(), to).expect("it can be copied")),
        }
    }
}

fn absolute(path: Option<&mut Value>) {
    if let Some(Value::String(path)) = path {
        *path = root().join(&*path).display().to_string();
    }
}

#[test]
fn what_it_makes_is_graded_as_it_should_be() {
    let copy = copy();
    let run = |arguments: &[&str]| {
        let mut command = command(copy.path(), arguments);
        command.current_dir(copy.path()).env("CARGO_TARGET_DIR", target());
        let output = command.output().expect("xtask runs");
        let text = String::from_utf8(output.stdout).expect("it is UTF-8");
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        text
    };
    let said = run(&["new", "two_waits"]);
    let verified = run(&["verify", "two_waits", "--device", "emulated"]);
    let right = "\
starters   1 passed, 0 failed, 0 skipped
solutions  1 passed, 0 failed, 0 skipped
mutants    1 passed, 0 failed, 0 skipped
device     emulated device (no GPU)
3 passed, 0 failed, 0 skipped
";
    assert_eq!(verified, right);

    // Every gap is told, at its place.
    let mut gaps = 0;
    for line in said.lines().filter(|line| line.contains("02_two_waits/")) {
        let (path, rest) = line.split_once(':').expect("a path comes first");
        let (line, _) = rest.split_once(':').expect("and then a line");
        let text = std::fs::read_to_string(copy.path().join(path)).expect("the file is there");
        let line: usize = line.parse().expect("it is a number");
        assert!(text.lines().nth(line - 1).is_some_and(|line| line.contains("GAP:")), "{path}");
        gaps += 1;
    }
    let all = Command::new("grep")
        .args(["-r", "GAP:", "exercises", "solutions"])
        .current_dir(copy.path())
        .output()
        .expect("grep runs");
    assert_eq!(gaps, String::from_utf8_lossy(&all.stdout).lines().count());

    // And it is formatted.
    let formatted = Command::new("cargo")
        .args(["fmt", "--all", "--check"])
        .current_dir(copy.path())
        .output()
        .expect("cargo runs");
    assert!(formatted.status.success(), "{}", String::from_utf8_lossy(&formatted.stdout));
}

#[test]
fn what_cannot_be_had_changes_nothing() {
    let root = workspace(["exercises", "solutions"], &[("sum", RIGHT)]);
    let root = root.path();
    write(root, "solutions/02_left/src/lib.rs", RIGHT);
    write(root, "solutions/02_left/Cargo.toml", b"[package]\nname = \"other\"\n");
    for (arguments, complaint) in [
        (&["new", "sum"][..], "error: there is a package `sum` already\n"),
        (&["new", "2d"], "error: `2d` cannot be a crate's name; give one like async_launch\n"),
        (
            &["new", "../up"],
            "error: `../up` cannot be a crate's name; give one like async_launch\n",
        ),
        (&["new", "match"], "error: `match` is a word of Rust; give another name\n"),
        (&["new", "std"], "error: `std` is a crate that comes with Rust; give another name\n"),
        (&["new", "left"], "error: solutions/02_left is there already; nothing was changed\n"),
        (
            &["new", "mean", "--number", "1"],
            "error: number 1 is taken by 01 sum; leave --number out\n",
        ),
    ] {
        let output = xtask(root, arguments);
        assert_eq!(String::from_utf8_lossy(&output.stderr), complaint, "{arguments:?}");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
    let folders = |of: &str| root.join(of).read_dir().expect("it is a folder").count();
    assert_eq!((folders("exercises"), folders("solutions")), (1, 1));
}
