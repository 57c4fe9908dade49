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

/// Judges each file, and goes on after one that is not as expected.
///
/// # Errors
/// None of its own; a file that cannot be read is told of, and makes the command fail.
pub fn run(arguments: &JudgeArguments) -> anyhow::Result<Exit> {
    let mut all_well = true;
    for file in files(&arguments.files) {
        match judge(&file) {
            Ok(well) => all_well &= well,
            Err(error) => {
                anstream::eprintln!("error: {error:#}");
                all_well = false;
            }
        }
    }
    Ok(if all_well { Exit::Success } else { Exit::Unsolved })
}

/// The files themselves, and the `.case` files of folders that were named.
fn files(named: &[PathBuf]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in named {
        let Ok(entries) = fs::read_dir(path) else {
            files.push(path.clone());
            continue;
        };
        let mut cases: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "case"))
            .collect();
        cases.sort();
        files.extend(cases);
    }
    files
}

fn judge(file: &Path) -> anyhow::Result<bool> {
    let name = file.display();
    let bytes = fs::read(file).with_context(|| format!("{name} cannot be read"))?;
    if bytes.starts_with(&MAGIC) {
        let (trace, cut) = Reader::new(&bytes[..])
            .with_context(|| format!("{name} cannot be read"))?
            .into_prefix();
        if let Some(cut) = cut {
            anstream::println!("{name}: {cut}; what comes before is judged");
        }
        return Ok(judge_trace(&name.to_string(), &trace));
    }
    let text = String::from_utf8(bytes)
        .with_context(|| format!("{name} is neither a trace nor text, as a .case file is"))?;
    match case::judge(&text) {
        Ok(verdict) => {
            anstream::println!("{name}: {verdict}");
            Ok(verdict.is_ok())
        }
        // As compilers write it, so that editors find the place.
        Err(error) => anyhow::bail!("{name}:{}:{}: {}", error.line, error.column, error.message),
    }
}

fn judge_trace(name: &str, trace: &Trace) -> bool {
    let (races, blocks, overlap) = (races(trace), blocks(trace), overlap(trace));
    let held = blocks.iter().filter(|block| block.held).count();
    anstream::println!(
        "{name}: {} calls on {}, {} races, {} calls that hold the host ({held} did)",
        trace.calls().count(),
        trace.header.device.name,
        races.len(),
        blocks.len(),
    );
    for race in &races {
        anstream::println!("\n{race}");
    }
    for block in &blocks {
        let verb = if block.held { "held the host" } else { "would hold the host" };
        let (place, why) = (place(block.at.as_ref()), block.reason.sentence());
        anstream::println!("\n{} {verb}{place}\n  {why}", block.function);
    }
    match overlap.share() {
        Some(share) => anstream::println!(
            "\ncopies ran beside kernels for {:.0} % of what was possible",
            share * 100.0
        ),
        None => anstream::println!("\noverlap: nothing to overlap, or its times are not known"),
    }
    races.is_empty()
}

fn place(at: Option<&Frame>) -> String {
    match at.and_then(|frame| frame.file.as_ref().map(|file| (file, frame.line))) {
        Some((file, line)) => format!("     {file}:{line}"),
        None => String::new(),
    }
}
