//! `cargo xtask verify`: the course graded by itself.
//!
//! - the tests of our own crates pass;
//! - every starter fails, each case with the diagnosis that `exercise.toml` intends;
//! - every solution passes;
//! - every mutant fails with its own diagnosis.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context;
use streamlings_grade::Outcome;
use streamlings_grade::supervise::Supervisor;

use crate::build::{NotBuilt, Package, build};
use crate::cli::VerifyArguments;
use crate::course::{Course, Exercise};
use crate::exit::Exit;
use crate::grading::{Whose, describe, grade, supervisor};
use crate::progress::Progress;
use crate::report::human::device_name;
use crate::report::{CaseReport, Report};

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Counts {
    fn count(&mut self, right: bool) {
        if right { self.passed += 1 } else { self.failed += 1 }
    }

    fn add(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }

    fn line(self) -> String {
        format!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// Verifies everything; the counts are on the last line.
///
/// # Errors
/// Where the course cannot be read, or cargo cannot be run.
pub fn run(root: &Path, arguments: &VerifyArguments) -> anyhow::Result<Exit> {
    let course = Course::read(root)?;
    let supervisor = supervisor(&arguments.run);
    let mut total = Counts::default();
    let mut section = |name: &str, counts: Counts| {
        anstream::println!("{name:<10} {}", counts.line());
        total.add(counts);
    };
    if !arguments.only_exercises {
        section("crates", crates(root)?);
    }
    let exercises: Vec<&Exercise> = course.exercises.iter().collect();
    let report = grade(&course, &exercises, Whose::Learner, &supervisor)?;
    section("starters", starters(&course, &report));
    let report = grade(&course, &exercises, Whose::Solution, &supervisor)?;
    section("solutions", solutions(&report));
    section("mutants", mutants(&course, &supervisor)?);
    println!("device     {}", device_name(report.device.as_ref()));
    println!("{}", total.line());
    Ok(if total.failed == 0 { Exit::Success } else { Exit::Unsolved })
}

/// Says what is not as it should be.
fn complain(what: &str, detail: &str) {
    anstream::println!("FAILED {what}");
    for line in detail.lines() {
        anstream::println!("       {line}");
    }
}

/// The tests of the workspace's default members, through `cargo test`.
fn crates(root: &Path) -> anyhow::Result<Counts> {
    let _progress = Progress::start("testing our own crates");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(root)
        .args(["test", "--no-fail-fast"])
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
        // What does not compile is not counted by anyone.
        counts.failed = counts.failed.max(1);
        complain("cargo test", &format!("{said}\n{text}"));
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
    counts.count(got == wanted);
    if got != wanted {
        let word = |code: Option<&str>| code.unwrap_or("passed").to_owned();
        let seed = case.ran.map_or(String::new(), |(_, seed)| format!("--seed {seed}\n"));
        let detail = format!(
            "wanted {}, got {}\n{seed}{}\n{}",
            word(wanted),
            word(got),
            case.verdict,
            case.output.text()
        );
        complain(what, &detail);
    }
}

fn starters(course: &Course, report: &Report) -> Counts {
    let mut counts = Counts::default();
    for (exercise, graded) in course.exercises.iter().zip(&report.exercises) {
        complain_of_rustc(graded.rustc.as_deref());
        for intended in &exercise.intended {
            let what = format!("starter {} {}", exercise.label(), intended.case);
            let case = graded.cases.iter().find(|case| case.verdict.case == intended.case);
            match case {
                Some(case) => judge(&mut counts, &what, case, Some(&intended.diagnosis)),
                None => {
                    counts.failed += 1;
                    complain(&what, "there is no such case");
                }
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
    if let Some(rustc) = rustc {
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
    let progress = Progress::start("building mutants");
    let built = build(&course.root, &packages, &["mutants"], &progress)?;
    for (exercise, package) in &with_mutants {
        let program = match built.program(&course.root, package, "mutants") {
            Ok(program) => program,
            Err(NotBuilt::Learner(_, why) | NotBuilt::Grader(why)) => {
                counts.failed += 1;
                complain(&format!("mutants of {}", exercise.label()), &why);
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
                counts.failed += 1;
                let detail = format!("mutants/{file}.rs is not in tests/mutants.rs");
                complain(&format!("mutants of {}", exercise.label()), &detail);
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
        assert_eq!(counted(text), Counts { passed: 13, failed: 2, skipped: 1 });
        assert_eq!(counted(text).line(), "13 passed, 2 failed, 1 skipped");
    }
}
