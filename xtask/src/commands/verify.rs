//! `cargo xtask verify`: the course graded by itself.
//!
//! - the tests of our own crates pass;
//! - every starter fails, each case with the diagnosis that `exercise.toml` intends;
//! - every solution passes;
//! - every mutant fails with its own diagnosis;
//! - every hostile submission gets its outcome, and leaves nothing behind.

mod hostile;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context;
use comfy_table::{ContentArrangement, Table, presets};
use streamlings_grade::Outcome;
use streamlings_grade::supervise::Supervisor;

use crate::build::{Package, build};
use crate::cli::VerifyArguments;
use crate::course::{Course, Exercise};
use crate::exit::Exit;
use crate::grading::{Whose, describe, grade, supervisor};
use crate::progress::Progress;
use crate::report::{CaseReport, Report};
use crate::text::WIDTH;

/// What was counted, and what was off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: usize,
    failed: usize,
    skipped: usize,
    off: Vec<Off>,
}

/// Something that was not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Off {
    what: String,
    wanted: String,
    got: String,
}

impl Off {
    fn new(what: impl Into<String>, wanted: impl Into<String>, got: impl Into<String>) -> Off {
        Off { what: what.into(), wanted: wanted.into(), got: got.into() }
    }
}

impl Counts {
    /// Counts a failure and says what is known of it.
    fn fail(&mut self, off: Off, detail: &str) {
        anstream::println!("FAILED {}", off.what);
        for line in detail.lines() {
            anstream::println!("       {line}");
        }
        self.failed += 1;
        self.off.push(off);
    }

    fn add(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.off.extend(other.off);
    }

    /// What was off, a row each.
    fn table(&self) -> Table {
        let mut table = Table::new();
        table
            .load_preset(presets::ASCII_MARKDOWN)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(WIDTH as u16)
            .set_header(["what was off", "wanted", "got"]);
        for off in &self.off {
            table.add_row([&off.what, &off.wanted, &off.got]);
        }
        table
    }

    /// How the report ends.
    fn table_and_line(&self) -> String {
        let table = if self.off.is_empty() { String::new() } else { format!("{}\n", self.table()) };
        format!("{table}{}", self.line())
    }

    fn line(&self) -> String {
        format!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// Verifies everything; the counts are on the last line.
///
/// # Errors
/// Where the course cannot be read, or cargo cannot be run.
pub fn run(root: &Path, arguments: &VerifyArguments) -> anyhow::Result<Exit> {
    let mut course = Course::read(root)?;
    course.exercises = course.select(&arguments.names)?.into_iter().cloned().collect();
    let supervisor = supervisor(&arguments.run);
    let mut total = Counts::default();
    let mut section = |name: &str, counts: Counts| {
        anstream::println!("{name:<10} {}", counts.line());
        total.add(counts);
    };
    if arguments.only_hostile {
        section("hostile", hostile::run(&course, &supervisor)?);
        println!("{}", total.table_and_line());
        return Ok(if total.failed == 0 { Exit::Success } else { Exit::Unsolved });
    }
    if !arguments.only_exercises && arguments.names.is_empty() {
        section("crates", crates(root)?);
    }
    let exercises: Vec<&Exercise> = course.exercises.iter().collect();
    let report = grade(&course, &exercises, Whose::Learner, &supervisor)?;
    section("starters", starters(&course, &report));
    let report = grade(&course, &exercises, Whose::Solution, &supervisor)?;
    section("solutions", solutions(&report));
    section("mutants", mutants(&course, &supervisor)?);
    if arguments.names.is_empty() && hostile::are_here(&course) {
        section("hostile", hostile::run(&course, &supervisor)?);
    }
    println!("device     {}", report.device_name());
    println!("{}", total.table_and_line());
    Ok(if total.failed == 0 { Exit::Success } else { Exit::Unsolved })
}

/// The tests of the workspace's default members, through `cargo test`.
fn crates(root: &Path) -> anyhow::Result<Counts> {
    let _progress = Progress::told("testing our own crates", "crates");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(root)
        .args(["test", "--no-fail-fast"])
        .env("STREAMLINGS_VERIFY", "1")
        .stdin(Stdio::null())
        .output()
        .context("cargo could not be run")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    let mut counts = counted(&text);
    for line in said.lines().chain(text.lines()).filter(|line| line.starts_with("skipped: ")) {
        println!("{line}");
    }
    if !output.status.success() {
        let got = match counts.failed {
            // What does not compile is not counted by anyone.
            0 => output.status.to_string(),
            failed => format!("{failed} failed"),
        };
        let failed = counts.failed.max(1);
        counts.fail(Off::new("cargo test", "all passed", got), &format!("{said}\n{text}"));
        // The whole is no test of its own.
        counts.failed = failed;
    }
    Ok(counts)
}

/// Adds up libtest's "test result" lines.
fn counted(text: &str) -> Counts {
    let mut counts = Counts::default();
    for line in text.lines().filter(|line| line.starts_with("test result: ")) {
        let number = |word: &str| {
            let before = line.split(&format!(" {word}")).next()?;
            before.rsplit(' ').next()?.parse::<usize>().ok()
        };
        counts.passed += number("passed").unwrap_or(0);
        counts.failed += number("failed").unwrap_or(0);
        counts.skipped += number("ignored").unwrap_or(0);
    }
    counts
}

/// Whether a case ended with a diagnosis; complains if not. A case without a device is skipped.
fn judge(counts: &mut Counts, what: &str, case: &CaseReport, wanted: Option<&str>) {
    let got = case.verdict.diagnosis.as_deref();
    if case.verdict.outcome == Outcome::NoDevice {
        counts.skipped += 1;
        println!("skipped: no device ({what})");
        return;
    }
    if got == wanted {
        counts.passed += 1;
    } else {
        let word = |code: Option<&str>| code.unwrap_or("passed").to_owned();
        let seed = case.ran.map_or(String::new(), |(_, seed)| format!("--seed {seed}\n"));
        let detail = format!(
            "wanted {}, got {}\n{seed}{}\n{}",
            word(wanted),
            word(got),
            case.verdict,
            case.output.text()
        );
        counts.fail(Off::new(what, word(wanted), word(got)), &detail);
    }
}

/// Why every case is listed.
const UNLISTED: &str =
    "exercise.toml must name every case: without a grade binary, it says how many there are";

/// A case that `exercise.toml` names and the binary does not have is run, too, and gets no verdict.
fn starters(course: &Course, report: &Report) -> Counts {
    let mut counts = Counts::default();
    for (exercise, graded) in course.exercises.iter().zip(&report.exercises) {
        complain_of_rustc(graded.rustc.as_deref());
        for case in &graded.cases {
            let name = &case.verdict.case;
            let what = format!("starter {} {name}", exercise.label());
            match exercise.intended.iter().find(|intended| intended.case == *name) {
                Some(intended) => judge(&mut counts, &what, case, intended.diagnosis.as_deref()),
                None => counts.fail(Off::new(what, "listed", "not listed"), UNLISTED),
            }
        }
    }
    counts
}

fn solutions(report: &Report) -> Counts {
    let mut counts = Counts::default();
    for graded in &report.exercises {
        complain_of_rustc(graded.rustc.as_deref());
        for case in &graded.cases {
            let what = format!("solution {} {}", graded.label(), case.verdict.case);
            judge(&mut counts, &what, case, None);
        }
    }
    counts
}

fn complain_of_rustc(rustc: Option<&str>) {
    if let Some(rustc) = rustc.filter(|rustc| !rustc.is_empty()) {
        anstream::println!("{}", rustc.trim_end());
    }
}

fn mutants(course: &Course, supervisor: &Supervisor) -> anyhow::Result<Counts> {
    let mut counts = Counts::default();
    // An exercise may have none yet.
    let with_mutants = course.exercises.iter().filter_map(|exercise| {
        let package = Whose::Solution.package(exercise);
        let folder = course.root.join(&package.folder);
        folder.join("tests/mutants.rs").exists().then_some((exercise, package))
    });
    let with_mutants: Vec<(&Exercise, Package)> = with_mutants.collect();
    if with_mutants.is_empty() {
        return Ok(counts);
    }
    let packages: Vec<Package> = with_mutants.iter().map(|(_, package)| package.clone()).collect();
    let progress = Progress::told("building mutants", "crates");
    let built = build(&course.root, &packages, &["mutants"], &progress)?;
    drop(progress);
    let progress = Progress::told("running mutants", "exercises");
    progress.steps(with_mutants.len());
    for (done, (exercise, package)) in with_mutants.iter().enumerate() {
        progress.is_at(done);
        let program = match built.program(&course.root, package, "mutants") {
            Ok(program) => program,
            Err(why) => {
                let what = format!("mutants of {}", exercise.label());
                counts.fail(Off::new(what, "a program", "it was not built"), &why.said());
                continue;
            }
        };
        let described = describe(&program, supervisor)?;
        for case in &described.cases {
            let what = format!("mutant {} {}", exercise.label(), case.name);
            progress.say(what.clone());
            let run = CaseReport::of_run(supervisor.run_case(&program, &case.name));
            judge(&mut counts, &what, &run, case.expect.as_deref());
        }
        let named: BTreeSet<&str> =
            described.cases.iter().filter_map(|c| c.name.split("::").next()).collect();
        for file in sources(&course.root.join(&package.folder).join("mutants"))? {
            if !named.contains(file.as_str()) {
                let what = format!("mutant {} {file}", exercise.label());
                let detail = format!("mutants/{file}.rs is not in tests/mutants.rs");
                counts.fail(Off::new(what, "a diagnosis", "it is not run"), &detail);
            }
        }
    }
    Ok(counts)
}

/// The names of the Rust files of a folder, without their extension.
fn sources(folder: &Path) -> std::io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in folder.read_dir()? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_results_add_up() {
        let text = "\
running 3 tests
test a ... ok
test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s
test result: FAILED. 10 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out
";
        let counts = Counts { passed: 13, failed: 2, skipped: 1, off: Vec::new() };
        assert_eq!(counted(text), counts);
        assert_eq!(counted(text).line(), "13 passed, 2 failed, 1 skipped");
    }

    #[test]
    fn what_is_off_becomes_one_table() {
        let mut total = Counts { passed: 3, ..Counts::default() };
        let mut mutants = Counts { skipped: 1, ..Counts::default() };
        let off = Off::new("mutant 02 event_timing side_stream::two_way", "passed", "hung");
        mutants.fail(off, "the details");
        total.add(mutants);
        assert_eq!(total.line(), "3 passed, 1 failed, 1 skipped");
        insta::assert_snapshot!(total.table());
    }
}
