//! From an edit to a verdict, warm: how long the whole takes, and how much of it is not rustc's.
//!
//! A copy of the workspace is edited, so that nobody's code is touched. Builds and checks take turns,
//! each after an edit of its own.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, ensure};
use cargo_metadata::MetadataCommand;

use super::{Row, median};
use crate::course::Course;
use crate::grading::Whose;

/// What an edit may take to its verdict, in seconds.
const TARGET: f64 = 3.0;
/// How much of that may be ours.
const TARGET_OURS: f64 = 1.0;
/// How often each is timed.
const RUNS: u32 = 5;

/// Measures the first exercise's solution on the emulated device.
pub fn time_edits(root: &Path) -> anyhow::Result<Vec<Row>> {
    let course = Course::read(root)?;
    let Some(exercise) = course.exercises.first() else { return Ok(Vec::new()) };
    let metadata = MetadataCommand::new().current_dir(root).no_deps().exec()?;
    let target = metadata.target_directory.join("watch");
    let copy = tempfile::tempdir()?;
    copy_folder(root, copy.path())?;
    let package = Whose::Solution.package(exercise);
    let source = copy.path().join(&package.folder).join("src/lib.rs");

    let run = |command: &mut Command| -> anyhow::Result<f64> {
        let began = Instant::now();
        let output = command
            .current_dir(copy.path())
            .env("CARGO_TARGET_DIR", &target)
            .stdin(Stdio::null())
            .output()?;
        let seconds = began.elapsed().as_secs_f64();
        let said = [&*output.stdout, &*output.stderr].concat();
        ensure!(output.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&said));
        Ok(seconds)
    };
    let build = || {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        run(build.args(["build", "--quiet", "--test", "grade", "--package", &package.name]))
    };
    let check = || {
        let mut check = Command::new("/proc/self/exe");
        check.args(["check", "--solutions", "--device", "emulated", &exercise.name]);
        run(check.arg("--workspace").arg(copy.path()))
    };
    let edit = |number: u32| -> std::io::Result<()> {
        let mut file = fs::OpenOptions::new().append(true).open(&source)?;
        writeln!(file, "\n/// Edit {number}.\npub fn edit_{number}() -> u32 {{\n    {number}\n}}")
    };
    check()?;
    let (mut builds, mut checks) = (Vec::new(), Vec::new());
    for number in 0..RUNS {
        edit(2 * number)?;
        builds.push(build()?);
        edit(2 * number + 1)?;
        checks.push(check()?);
    }
    let (built, whole) = (median(&mut builds), median(&mut checks));
    let row = |what: &str, figure: f64, target: Option<f64>| Row {
        what: format!("{what}, {}, warm, emulated", exercise.label()),
        figure,
        unit: "s".to_owned(),
        target: target.map_or(String::new(), |target| format!("at most {target}")),
        against: String::new(),
        met: target.map(|target| figure <= target),
    };
    Ok(vec![
        row("edit to verdict", whole, Some(TARGET)),
        row("of that cargo's and rustc's", built, None),
        row("of that ours", whole - built, Some(TARGET_OURS)),
    ])
}

/// Copies a workspace, without what is built or hidden; cargo's own settings come along.
fn copy_folder(from: &Path, to: &Path) -> anyhow::Result<()> {
    for entry in from.read_dir().with_context(|| format!("{} cannot be read", from.display()))? {
        let entry = entry?;
        let name = entry.file_name();
        let text = name.to_string_lossy();
        if (text.starts_with('.') && text != ".cargo") || text.starts_with("target") {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::create_dir(to.join(&name))?;
            copy_folder(&entry.path(), &to.join(&name))?;
        } else {
            fs::copy(entry.path(), to.join(&name))?;
        }
    }
    Ok(())
}
