//! `cargo xtask watch`.

use std::path::Path;

use crate::cli::WatchArguments;
use crate::exit::Exit;

/// Runs.
pub fn run(_root: &Path, _arguments: &WatchArguments) -> anyhow::Result<Exit> {
    Ok(Exit::Success)
}
