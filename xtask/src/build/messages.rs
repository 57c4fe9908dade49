//! cargo's messages, as they come, and what it writes besides.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use anyhow::Context;
use cargo_metadata::Message;

use crate::progress::Progress;

/// What cargo says before it waits for another that uses the same target folder, or the same packages.
const BLOCKING: &str = "Blocking waiting for file lock";

/// cargo itself.
pub fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Runs `cargo build` with these arguments: its exit status, and what it wrote of errors that are no messages.
///
/// # Errors
/// Where cargo cannot be run, or its messages cannot be read.
pub fn build<'a>(
    root: &Path,
    arguments: impl IntoIterator<Item = &'a str>,
    progress: &Progress,
    mut take: impl FnMut(Message),
) -> anyhow::Result<(ExitStatus, String)> {
    let mut child = Command::new(cargo())
        .current_dir(root)
        // Not `--quiet`, which would keep for itself what it waits for.
        .args(["build", "--color=never", "--message-format=json-diagnostic-rendered-ansi"])
        .args(arguments)
        .env("CARGO_TERM_QUIET", "false")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cargo could not be run")?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let said = std::thread::scope(|scope| {
        let said = scope.spawn(|| stderr.map_or(String::new(), |pipe| listen(pipe, progress)));
        for message in
            stdout.into_iter().flat_map(|pipe| Message::parse_stream(BufReader::new(pipe)))
        {
            take(message?);
        }
        anyhow::Ok(said.join().unwrap_or_default())
    })?;
    Ok((child.wait()?, said))
}

/// Reads what cargo writes to standard error, and keeps it from its first error on.
fn listen(pipe: impl Read, progress: &Progress) -> String {
    let mut errors = String::new();
    let mut waits = false;
    // Only for people: what cannot be read is not shown.
    for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        if line.trim_start().starts_with(BLOCKING) {
            progress.waits_for(match line.contains("package cache") {
                true => "another cargo that is fetching packages",
                false => "another cargo that is building in the same folder",
            });
            waits = true;
        } else if std::mem::take(&mut waits) {
            progress.waits_no_more();
        }
        if !errors.is_empty() || line.starts_with("error") {
            errors += &line;
            errors.push('\n');
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cargo_writes_is_kept_from_its_first_error_on() {
        let progress = Progress::start("building");
        let text = "   Compiling a v0.1.0\nwarning: `a` generated 1 warning\nerror: no such file\n\n\
            Caused by:\n  it is gone\n";
        let kept = listen(text.as_bytes(), &progress);
        assert_eq!(kept, "error: no such file\n\nCaused by:\n  it is gone\n");
        assert_eq!(listen(&b"    Finished `dev`\n"[..], &progress), "");
    }
}
