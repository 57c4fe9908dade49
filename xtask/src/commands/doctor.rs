//! `cargo xtask doctor`.

use std::path::Path;

use crate::cli::DoctorArguments;
use crate::exit::Exit;

/// Runs.
pub fn run(_root: &Path, _arguments: &DoctorArguments) -> anyhow::Result<Exit> {
    Ok(Exit::Success)
}
