//! `cargo xtask judge`: reads scenarios (`.case` files) and recorded traces, and says what they hold.
//!
//! A `.case` file states what must be said of it: `ok`, or what differs. A trace states nothing: its
//! races and the calls that hold the host are printed, and races make the command fail.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use streamlings_trace::blocks::blocks;
use streamlings_trace::case;
use streamlings_trace::format::{MAGIC, Reader};
use streamlings_trace::order::races;
use streamlings_trace::overlap::overlap;
use streamlings_trace::{Frame, Trace};

use crate::cli::JudgeArguments;
use crate::exit::Exit;
use crate::text::{self, counted, labelled, wrapped};

/// Judges each file, and goes on after one that is not as expected.
///
/// # Errors
/// Where standard output cannot be written to; a file that cannot be read is told of, and makes the
/// command fail.
pub fn run(arguments: &JudgeArguments) -> anyhow::Result<Exit> {
    let (mut all_well, mut all_there) = (true, true);
    for named in &arguments.files {
        let files = files(named);
        if files.is_empty() {
            complain(&format!("{} has no `.case` files", named.display()));
            all_there = false;
        }
        for file in files {
            match judge(&file) {
                Ok((said, well)) => {
                    text::print(&said.lines().map(fitted).collect::<String>())?;
                    all_well &= well;
                }
                Err(error) => {
                    complain(&format!("{error:#}"));
                    all_there &= file.exists();
                    all_well = false;
                }
            }
        }
    }
    Ok(match (all_there, all_well) {
        (false, _) => Exit::Usage,
        (true, false) => Exit::Unsolved,
        (true, true) => Exit::Success,
    })
}

fn complain(of: &str) {
    anstream::eprintln!("{}", labelled("error: ", of));
}

/// A line that fits, with its end; what goes on below stands farther in.
fn fitted(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    format!("{}\n", wrapped(line, &" ".repeat(indent + 4)))
}

/// The file itself, or the `.case` files of a folder.
fn files(named: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(named) else { return vec![named.to_owned()] };
    let mut cases: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "case"))
        .collect();
    cases.sort();
    cases
}

/// What is to be said of a file, and whether it is as it should be.
fn judge(file: &Path) -> anyhow::Result<(String, bool)> {
    let name = file.display();
    let bytes = fs::read(file).with_context(|| format!("{name} cannot be read"))?;
    if bytes.starts_with(&MAGIC) {
        let (trace, cut) = Reader::new(&bytes[..])
            .with_context(|| format!("{name} cannot be read"))?
            .into_prefix();
        let (said, well) = judge_trace(&name.to_string(), &trace);
        let cut = cut.map(|cut| format!("{name}: {cut}; what comes before is judged\n"));
        return Ok((cut.unwrap_or_default() + &said, well));
    }
    let text = String::from_utf8(bytes)
        .with_context(|| format!("{name} is neither a trace nor text, as a .case file is"))?;
    match case::judge(&text) {
        Ok(verdict) => Ok((format!("{name}: {verdict}\n"), verdict.is_ok())),
        // As compilers write it, so that editors find the place.
        Err(error) => anyhow::bail!("{name}:{}:{}: {}", error.line, error.column, error.message),
    }
}

fn judge_trace(name: &str, trace: &Trace) -> (String, bool) {
    let (races, blocks, overlap) = (races(trace), blocks(trace), overlap(trace));
    let held = blocks.iter().filter(|block| block.held).count();
    let mut said = format!(
        "{name}: {} on {}, {}, {} that can hold the host ({held} did)\n",
        counted(trace.calls().count(), "call"),
        trace.header.device.name,
        counted(races.len(), "race"),
        counted(blocks.len(), "call"),
    );
    for race in &races {
        said += &format!("\n{race}\n");
    }
    for block in &blocks {
        let verb = if block.held { "held the host" } else { "would hold the host" };
        let (place, why) = (place(block.at.as_ref()), block.reason.sentence());
        said += &format!("\n{} {verb}{place}\n  {why}\n", block.function);
    }
    said += &match overlap.share() {
        Some(share) => {
            let share = share * 100.0;
            format!("\ncopies ran beside kernels for {share:.0} % of what was possible\n")
        }
        None => "\noverlap: nothing to overlap, or its times are not known\n".to_owned(),
    };
    (said, races.is_empty())
}

fn place(at: Option<&Frame>) -> String {
    match at.and_then(|frame| frame.file.as_ref().map(|file| (file, frame.line))) {
        Some((file, line)) => format!("     {file}:{line}"),
        None => String::new(),
    }
}
