//! `.case` files: a short program, a call a line, and what must be said of it.
//!
//! The folder `cases` beside this crate's sources holds them, and its README the language.
//! [`judge`] reads one, runs the analyses over the program, and tells what differs.

mod lexer;
mod parser;
mod program;

use std::fmt;

use crate::blocks::{Block, blocks};
use crate::model::{AccessKind, Frame, Seq, Trace};
use crate::order::races;
use crate::order::report::{Access, Race};

use self::parser::{Expect, Side};

/// Why a case could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct CaseError {
    /// 1-based.
    pub line: u32,
    /// 1-based, in characters.
    pub column: u32,
    /// What was expected, and what is there.
    pub message: String,
}

/// An expectation that is not met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The line of the `expect`.
    pub line: u32,
    /// What it expects and what was found.
    pub message: String,
}

/// What was found in a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The races. The lines of their accesses are the case's.
    pub races: Vec<Race>,
    /// The calls that hold the host, or would. Their lines are the case's.
    pub blocks: Vec<Block>,
    /// The expectations that are not met; none if all is as expected.
    pub differences: Vec<Difference>,
}

impl Verdict {
    /// Whether all is as expected.
    pub fn is_ok(&self) -> bool {
        self.differences.is_empty()
    }
}

impl fmt::Display for Verdict {
    /// `ok`, or the differences and then the races that were found.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_ok() {
            return write!(f, "ok");
        }
        for (index, difference) in self.differences.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}line {}: {}", difference.line, difference.message)?;
        }
        for race in &self.races {
            write!(f, "\n{race}")?;
        }
        Ok(())
    }
}

/// The trace that a case's program makes.
///
/// # Errors
/// If the case cannot be read.
pub fn trace(text: &str) -> Result<Trace, CaseError> {
    Ok(program::run(&parser::parse(text)?)?.trace)
}

/// Runs a case and compares what is found with what it expects.
///
/// # Errors
/// If the case cannot be read, or expects nothing.
pub fn judge(text: &str) -> Result<Verdict, CaseError> {
    let lines = parser::parse(text)?;
    let run = program::run(&lines)?;
    let line_of = |seq: Seq| {
        let at = run.lines.partition_point(|(first, _)| *first <= seq);
        at.checked_sub(1).and_then(|at| run.lines.get(at)).map_or(0, |(_, line)| *line)
    };
    let frame = |seq: Seq| Some(Frame { function: String::new(), file: None, line: line_of(seq) });
    let mut races = races(&run.trace);
    for race in &mut races {
        race.earlier.at = frame(race.earlier.seq);
        race.later.at = frame(race.later.seq);
        if let Some(reuse) = &mut race.reuse {
            let points = [&mut reuse.out, &mut reuse.again].into_iter().chain(&mut reuse.back);
            for point in points.chain(reuse.uses.iter_mut().map(|(_, point)| point)) {
                point.at = frame(point.seq);
            }
        }
    }
    let mut blocks = blocks(&run.trace);
    for block in &mut blocks {
        block.at = frame(block.seq);
    }
    let mut verdict = Verdict { races, blocks, differences: Vec::new() };
    for expected in &run.expected {
        if let Some(message) = verdict.differs(&expected.expect, |stream| run.stream(stream)) {
            verdict.differences.push(Difference { line: expected.line, message });
        }
    }
    Ok(verdict)
}

impl Verdict {
    fn differs(
        &self,
        expect: &Expect,
        stream: impl Fn(&str) -> Option<crate::model::StreamId>,
    ) -> Option<String> {
        let found = match self.races.len() {
            0 => "none was found".into(),
            1 => "1 was found".into(),
            several => format!("{several} were found"),
        };
        let count = |expected: usize| (self.races.len() != expected).then_some(());
        match expect {
            Expect::Clean => count(0).map(|()| format!("expected no race, but {found}")),
            Expect::Races(1) => count(1).map(|()| format!("expected 1 race, but {found}")),
            Expect::Races(n) => count(*n).map(|()| format!("expected {n} races, but {found}")),
            Expect::Race { buffer, later, earlier } => {
                let is = |race: &Race| {
                    let named = |access: &Access| access.buffer.as_ref() == Some(buffer);
                    (named(&race.later) || named(&race.earlier))
                        && matches(later, &race.later, &stream)
                        && matches(earlier, &race.earlier, &stream)
                };
                let missing = !self.races.iter().any(is);
                missing.then(|| format!("expected race {buffer}: {later} / {earlier}, but {found}"))
            }
            Expect::Reuse(buffer) => {
                let is = |race: &Race| {
                    race.reuse.as_ref().is_some_and(|reuse| reuse.former.as_ref() == Some(buffer))
                };
                let missing = !self.races.iter().any(is);
                missing.then(|| {
                    format!("expected `{buffer}` handed out again too early, but no race is that")
                })
            }
            Expect::Blocks { stream: name, line } => {
                let wanted = stream(name);
                let at = |block: &&Block| block.at.as_ref().is_some_and(|at| at.line == *line);
                let mut here = self.blocks.iter().filter(at).peekable();
                if here.peek().is_none() {
                    return Some(format!("expected line {line} to hold the host, but it does not"));
                }
                let missing = !here.any(|block| {
                    block.stream == wanted
                        || block.behind.as_ref().is_some_and(|work| Some(work.stream) == wanted)
                });
                missing.then(|| {
                    format!(
                        "expected line {line} to hold the host for {name}, but it waits elsewhere"
                    )
                })
            }
        }
    }
}

fn matches(
    side: &Side,
    access: &Access,
    stream: impl Fn(&str) -> Option<crate::model::StreamId>,
) -> bool {
    let kind = match side.kind {
        AccessKind::Read => access.kind.reads(),
        AccessKind::Write => access.kind.writes(),
        AccessKind::Update => access.kind == AccessKind::Update,
    };
    let actor = match side.stream.as_str() {
        "host" => access.stream().is_none(),
        name => access.stream().is_some() && access.stream() == stream(name),
    };
    kind && actor
}

#[cfg(test)]
mod tests;
