//! The `main` of grade binaries.
//!
//! | arguments | what it does |
//! |---|---|
//! | `--case NAME` | runs that case in this process; the [`Job`] comes on standard input |
//! | `--describe` | prints the cases as JSON |
//! | `--device` | prints the device that serves them as JSON, or nothing where there is none |
//! | anything else | is a test binary: filters, `--list`, `--exact` and so on |

use std::io::{IsTerminal, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

use crate::cases::{CaseFn, Cases};
use crate::diagnosis::{self, Diagnosis};
use crate::grader::Grader;
use crate::mutants::Mutant;
use crate::panics::{self, Sources};
use crate::supervise::{self, Supervisor};
use crate::verdict::{CaseInfo, Description, Finding, Job, Sealed, Verdict, wipe};

/// A case under its full name, and the diagnosis it must give if it is a mutant's.
struct Entry {
    name: String,
    run: CaseFn,
    expect: Option<&'static Diagnosis>,
    optional: bool,
}

/// The `main` of an exercise's or a solution's `tests/grade.rs`. `manifest_dir` is its
/// `env!("CARGO_MANIFEST_DIR")`: sources in its `src` are what is graded.
pub fn main(manifest_dir: &str, cases: Cases) -> ExitCode {
    let entries = cases
        .iter()
        .map(|case| Entry {
            name: case.name.to_owned(),
            run: case.run,
            expect: None,
            optional: case.optional,
        })
        .collect();
    start(manifest_dir, entries)
}

/// The `main` of a solution's `tests/mutants.rs`; see [`mutants!`](crate::mutants).
///
/// # Panics
/// If a mutant is expected to fail a case that there is not.
pub fn mutants_main(manifest_dir: &str, mutants: Vec<Mutant>) -> ExitCode {
    let entries = mutants
        .iter()
        .flat_map(|mutant| {
            mutant.expect.iter().map(|(case, expect)| {
                let Some(found) = mutant.cases.find(case) else {
                    panic!("mutant `{}` names a case `{case}` that there is not", mutant.name);
                };
                Entry {
                    name: format!("{}::{case}", mutant.name),
                    run: found.run,
                    expect: *expect,
                    optional: false,
                }
            })
        })
        .collect();
    start(manifest_dir, entries)
}

fn start(manifest_dir: &str, entries: Vec<Entry>) -> ExitCode {
    if let Some(code) = supervise::main_of_guard() {
        return code;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--case", name] => run_here(manifest_dir, &entries, name),
        ["--describe"] => describe(&entries),
        ["--device"] => print_device(),
        _ => run_as_tests(entries),
    }
}

fn describe(entries: &[Entry]) -> ExitCode {
    let cases = entries.iter().map(|entry| CaseInfo {
        name: entry.name.clone(),
        expect: entry.expect.map(|diagnosis| diagnosis.code.to_owned()),
        optional: entry.optional,
    });
    print_json(&Description { cases: cases.collect() })
}

fn print_device() -> ExitCode {
    match streamlings_driver::device() {
        Ok(device) => print_json(&device),
        Err(none) => {
            eprintln!("{none}");
            ExitCode::SUCCESS
        }
    }
}

fn print_json(value: &impl serde::Serialize) -> ExitCode {
    match serde_json::to_string(value) {
        Ok(json) => {
            println!("{json}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs one case in this process, writes its verdict and ends the process, whatever threads the
/// learner's code has left running.
fn run_here(manifest_dir: &str, entries: &[Entry], name: &str) -> ExitCode {
    let Some(entry) = entries.iter().find(|entry| entry.name == name) else {
        eprintln!("there is no case `{name}`");
        return ExitCode::FAILURE;
    };
    let mut job = match read_job() {
        Ok(job) => job,
        Err(error) => {
            eprintln!("the job on standard input cannot be read: {error}");
            return ExitCode::FAILURE;
        }
    };
    let nonce = job.as_mut().map(Sealed::of);
    let sources = Sources::of_package(manifest_dir);
    panics::watch(sources.clone());
    let mut verdict = judge(entry, sources, job.as_ref());
    let (Some(job), Some(nonce)) = (job, nonce) else {
        eprintln!("{name}: {verdict}");
        for figure in &verdict.figures {
            eprintln!("  {figure}");
        }
        std::process::exit(i32::from(verdict.diagnosis.is_some()));
    };
    verdict.nonce = nonce.open();
    if let Err(error) = verdict.write(&job.verdict) {
        eprintln!("the verdict cannot be written to {}: {error}", job.verdict.display());
    }
    std::process::exit(0)
}

/// The job, or none where a person called.
fn read_job() -> std::io::Result<Option<Job>> {
    let mut stdin = std::io::stdin();
    let mut text = String::new();
    if !stdin.is_terminal() {
        stdin.read_to_string(&mut text)?;
    }
    let job = match text.trim() {
        "" => None,
        job => Some(serde_json::from_str(job)?),
    };
    wipe(&mut text.into_bytes());
    Ok(job)
}

fn judge(entry: &Entry, sources: Sources, job: Option<&Job>) -> Verdict {
    let device = match streamlings_driver::device() {
        Ok(device) => device,
        Err(none) => {
            let finding = Finding::new(diagnosis::NO_DEVICE, none.why).note(none.remedy);
            return Verdict::failed(&entry.name, finding);
        }
    };
    let seed = job.map_or_else(supervise::random, |job| job.seed);
    let traces = job.and_then(|job| job.traces.clone());
    let mut grader = Grader::new(device, seed, sources, traces);
    let result = catch_unwind(AssertUnwindSafe(|| (entry.run)(&mut grader)));
    let result = result.unwrap_or_else(|_| {
        // A value of the learner's that is used or dropped in the case may still panic.
        Err(match panics::take() {
            Some(panic) if panic.is_learners() => panic.finding(),
            Some(panic) => panic.graders_finding(),
            None => Finding::new(diagnosis::GRADER_PANICKED, "the grading case panicked"),
        })
    });
    let mut verdict = match result.and_then(|()| grader.check_context()) {
        Ok(()) => Verdict::passed(&entry.name),
        Err(finding) => Verdict::failed(&entry.name, grader.explain(finding)),
    };
    let (device, figures, notes) = grader.into_report();
    verdict.device = Some(device);
    verdict.figures = figures;
    verdict.notes.extend(notes);
    verdict
}

/// Under `cargo test`: every case in a process of its own, one after another, since they take times.
fn run_as_tests(entries: Vec<Entry>) -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let trials = entries.into_iter().map(|Entry { name, expect, optional, .. }| {
        Trial::test(name.clone(), move || {
            let program = std::env::current_exe()?;
            let run = Supervisor::default().run_case(&program, &name);
            let got = run.verdict.diagnosis.as_deref();
            match (got, expect.map(|diagnosis| diagnosis.code)) {
                (got, wanted) if got == wanted => Ok(()),
                // Nobody has to write it; once it is written it has to be right.
                (Some(got), None) if optional && got == diagnosis::NOT_DONE.code => Ok(()),
                (_, None) => Err(Failed::from(run.text())),
                (_, Some(wanted)) => {
                    Err(Failed::from(format!("expected {wanted}, got {}", run.text())))
                }
            }
        })
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}
