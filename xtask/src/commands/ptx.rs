//! `cargo xtask ptx`: makes the kernels' PTX anew, or compares it.

use std::path::Path;
use std::process::Command;

use anyhow::Context;

use crate::cli::PtxArguments;
use crate::exit::Exit;

/// Calls the script that knows how.
///
/// # Errors
/// Where it cannot be run.
pub fn run(root: &Path, arguments: &PtxArguments) -> anyhow::Result<Exit> {
    let mut command = Command::new("python3");
    command.current_dir(root).arg("kernels/ptx.py");
    if arguments.check {
        command.arg("--check");
    }
    let status = command.status().context("python3 could not be run")?;
    Ok(if status.success() { Exit::Success } else { Exit::Unsolved })
}
