//! Small programs with faults that people really published, and the verdict that each must get.
//!
//! A program is written twice in one: as it was published, and with the line that corrects it. Both are
//! run [`RUNS`] times in a process of their own, as `emulated::NAME` and, where there is a GPU, as
//! `gpu::NAME`; every other run is perturbed from a seed of its own. Each run must get the very verdict that the
//! program says: the races, the calls that hold the host, what a clock measured. So what is asserted is
//! not only that a fault is found, but that it is found whether or not it strikes.
//!
//! Where a verdict speaks of a line, it does so by the `// [mark]` at that line's end.

mod programs;
mod support;
mod verdict;

use std::error::Error;
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};
use streamlings::driver::{device, recording};
use streamlings::trace::Trace;
use support::Lab;

/// What running a program gives.
type Outcome = Result<(), Box<dyn Error>>;

/// A program, and what is to be said of it.
struct Program {
    name: &'static str,
    /// The program; corrected if the flag is set.
    run: fn(&Lab, bool) -> Outcome,
    /// All that is found in it as it was published, in the words of [`verdict::of`]; in any order.
    published: &'static [&'static str],
    /// All that is found in it when it is corrected. Of the races, none.
    corrected: &'static [&'static str],
    /// What its times must show, but for the odd run on a busy machine; says what they do not.
    times: fn(&Trace, bool) -> Result<(), String>,
}

/// How often each program is judged; half of it is perturbed.
const RUNS: u64 = 100;

/// In the child process: which program to run.
const PROGRAM: &str = "STREAMLINGS_PROGRAM";

fn main() -> ExitCode {
    if let Ok(name) = std::env::var(PROGRAM) {
        return run_program(&name);
    }
    let mut arguments = Arguments::from_args();
    // Some programs look at times: they do not run side by side.
    arguments.test_threads = Some(1);
    let gpu = child("gpu", "probe").status().is_ok_and(|status| status.success());
    if !gpu {
        eprintln!("skipped: no device (the gpu:: programs)");
    }
    let trials = programs::all()
        .into_iter()
        .flat_map(|program| {
            [("emulated", true), ("gpu", gpu)].map(|(device, there)| {
                let name = program.name;
                Trial::test(format!("{device}::{name}"), move || run(device, name))
                    .with_ignored_flag(!there)
            })
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn child(device: &str, program: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap_or_default());
    command.env(PROGRAM, program).env("STREAMLINGS_DEVICE", device);
    command
}

fn run(device: &str, program: &str) -> Result<(), Failed> {
    let output = child(device, program).output()?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(format!("{}\n{text}", output.status).into())
}

fn run_program(name: &str) -> ExitCode {
    if name == "probe" {
        return if device().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let Some(program) = programs::all().into_iter().find(|program| program.name == name) else {
        eprintln!("no program `{name}`");
        return ExitCode::FAILURE;
    };
    match judge(&program) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn judge(program: &Program) -> Outcome {
    let lab = Lab::new()?;
    for (corrected, expected) in [(false, program.published), (true, program.corrected)] {
        let which = if corrected { "corrected" } else { "as published" };
        let mut expected: Vec<String> = expected.iter().map(|line| (*line).to_owned()).collect();
        expected.sort();
        let mut untimely = Vec::new();
        for run in 0..RUNS {
            let seed = (run % 2 == 1).then_some(run);
            let trace = record(&lab, program, corrected, seed)?;
            let found = verdict::of(&trace);
            if found != expected {
                let (found, expected) = (found.join("\n  "), expected.join("\n  "));
                return Err(format!(
                    "{which}, run {run}, seed {seed:?}\nfound:\n  {found}\nexpected:\n  {expected}"
                )
                .into());
            }
            if seed.is_none()
                && let Err(why) = (program.times)(&trace, corrected)
            {
                untimely.push(why);
            }
        }
        if untimely.len() as u64 > RUNS / 8 {
            return Err(format!("{which}, times:\n  {}", untimely.join("\n  ")).into());
        }
    }
    Ok(())
}

fn record(
    lab: &Lab,
    program: &Program,
    corrected: bool,
    seed: Option<u64>,
) -> Result<Trace, Box<dyn Error>> {
    recording::begin(recording::Options {
        learner_roots: vec![programs::FOLDER.into()],
        seed,
        timestamps: true,
        ..Default::default()
    });
    let outcome = (program.run)(lab, corrected);
    let trace = recording::finish();
    outcome.map(|()| trace)
}
