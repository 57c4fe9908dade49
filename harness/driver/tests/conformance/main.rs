//! What the CUDA driver does, row by row, asserted on the emulated device and on a GPU alike.
//!
//! Each row is one body that runs twice, in a process of its own: as `emulated::ROW` and, where there
//! is a GPU, as `gpu::ROW`; without one the latter is skipped, and says so. The rows were first read
//! off an NVIDIA H200 with driver API 13.0. Where a row fails on other hardware it is the emulated
//! device that has to change.
//!
//! A call "holds the host" if it takes at least half as long as the kernel that spins meanwhile, and
//! "returns" if it takes less than a quarter.

mod copies;
mod defaults;
mod engines;
mod events;
mod faults;
mod holding;
mod memory;
mod support;

use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};
use support::Cuda;

/// A row: its name, its body, and what it needs in the environment.
type Row = (&'static str, fn(&Cuda), &'static [(&'static str, &'static str)]);

/// In the child process: which row to run.
const ROW: &str = "STREAMLINGS_ROW";

fn rows() -> Vec<Row> {
    [
        holding::ROWS,
        copies::ROWS,
        events::ROWS,
        defaults::ROWS,
        engines::ROWS,
        memory::ROWS,
        faults::ROWS,
    ]
    .concat()
}

fn main() -> ExitCode {
    if let Ok(row) = std::env::var(ROW) {
        return run_row(&row);
    }
    let mut arguments = Arguments::from_args();
    // Rows time calls: they do not run side by side.
    arguments.test_threads = Some(1);
    let gpu = child("gpu", "probe", &[]).status().is_ok_and(|status| status.success());
    if !gpu {
        eprintln!("skipped: no device (the gpu:: rows)");
    }
    let trials = rows()
        .into_iter()
        .flat_map(|(name, _, environment)| {
            [("emulated", true), ("gpu", gpu)].map(|(device, there)| {
                Trial::test(format!("{device}::{name}"), move || run(device, name, environment))
                    .with_ignored_flag(!there)
            })
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn child(device: &str, row: &str, environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap_or_default());
    command.env(ROW, row).env("STREAMLINGS_DEVICE", device);
    command.envs(environment.iter().copied());
    command
}

fn run(
    device: &str,
    row: &'static str,
    environment: &'static [(&'static str, &'static str)],
) -> Result<(), Failed> {
    let output = child(device, row, environment).output()?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(format!("{}\n{text}", output.status).into())
}

fn run_row(name: &str) -> ExitCode {
    if name == "probe" {
        return match streamlings_driver::device() {
            Ok(_) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    let Some((_, body, _)) = rows().into_iter().find(|(row, ..)| *row == name) else {
        eprintln!("no row `{name}`");
        return ExitCode::FAILURE;
    };
    body(&Cuda::new());
    ExitCode::SUCCESS
}
