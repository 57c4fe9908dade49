//! Quizzes: snippets of tensor code drawn from a seed, with a question about their lines.
//!
//! The answer is written down nowhere. A snippet is a small program ([`snippet`]) that is drawn at random
//! ([`draw`]), printed as Rust, and run on the emulated device while the driver records ([`run`]); the
//! analyses of `harness/trace` say of the record which lines held the host and what nothing orders
//! ([`key`]). A snippet that has no clear answer is drawn again.

#![forbid(unsafe_code)]

pub mod draw;
pub mod key;
pub mod run;
pub mod snippet;

use serde::Serialize;
use streamlings_tensor::Result;
use streamlings_trace::blocks::Reason;

use crate::key::Key;
use crate::snippet::Snippet;

/// How often a snippet is drawn again before one is taken that is clear, whatever its answer.
const DRAWS: usize = 100;

/// At most so many lines of an answer: more are no fun to type.
const MOST: usize = 3;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Question {
    /// Which lines hold the host?
    Holding,
    /// Between which two lines is a wait missing?
    Wait,
}

/// A quiz with its answer, as it is written to standard output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Quiz {
    /// What it was drawn from.
    pub seed: u64,
    /// What is asked.
    pub question: Question,
    /// The code before the numbered lines.
    pub head: Vec<String>,
    /// The lines, numbered from 1.
    pub body: Vec<String>,
    /// The code behind them.
    pub tail: Vec<String>,
    /// The lines of the answer, ascending; none for "none".
    pub answer: Vec<usize>,
    /// Why, sentence by sentence.
    pub why: Vec<Why>,
    /// For each line the driver functions that it called.
    pub calls: Vec<Vec<String>>,
}

/// A sentence of an explanation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Why {
    /// The line that it is about, if it is about one.
    pub line: Option<usize>,
    /// In the analyses' own words.
    pub text: String,
}

/// The quiz of a seed, together with what it was made from. The same seed gives the same.
///
/// # Errors
/// The tensor layer's.
pub fn quiz(seed: u64) -> Result<(Quiz, Snippet, Key)> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let question = if rng.bool() { Question::Holding } else { Question::Wait };
    // One in three has nothing to find.
    let wanted = rng.u8(0..3) > 0;
    let mut draws = 0;
    loop {
        let snippet = draw::draw(&mut rng, question);
        let key = Key::of(&run::run(&snippet)?);
        draws += 1;
        let Some(answer) = answer(question, &key) else { continue };
        if answer.is_empty() != wanted || draws >= DRAWS {
            return Ok((put(seed, question, &snippet, &key, answer), snippet, key));
        }
    }
}

/// The lines of the answer, if there is a clear one.
fn answer(question: Question, key: &Key) -> Option<Vec<usize>> {
    match question {
        Question::Holding => {
            let lines: Vec<usize> = key.holding.keys().copied().collect();
            (lines.len() <= MOST && !key.waits_again).then_some(lines)
        }
        // What was dropped too early has to be handed out again, or one could argue about it.
        Question::Wait if key.dropped_early != key.reuses() => None,
        Question::Wait => match (key.conflicts, &key.races[..]) {
            (0, []) => Some(Vec::new()),
            (1, [((earlier, later), _)]) if earlier != later => Some(vec![*earlier, *later]),
            _ => None,
        },
    }
}

/// Why a line holds the host. A wait that its code does not show is told of.
fn why(snippet: &Snippet, line: usize, reason: Reason) -> String {
    let op = snippet.lines.get(line - 1).map(|line| line.op);
    match op {
        Some(op) if reason == Reason::StreamSync && op.is_synchronous_upload() => {
            format!("it synchronizes its stream behind the copy: {}", reason.sentence())
        }
        _ => reason.sentence().to_owned(),
    }
}

fn put(seed: u64, question: Question, snippet: &Snippet, key: &Key, answer: Vec<usize>) -> Quiz {
    let why = match question {
        Question::Holding => key
            .holding
            .iter()
            .map(|(line, reason)| Why { line: Some(*line), text: why(snippet, *line, *reason) })
            .collect(),
        Question::Wait => {
            key.races.iter().map(|(_, race)| Why { line: None, text: race.to_string() }).collect()
        }
    };
    let code = snippet.code();
    let lines = 1..=code.body.len();
    let calls = lines.map(|line| key.calls.get(&line).cloned().unwrap_or_default()).collect();
    let (head, body, tail) = (code.head, code.body, code.tail);
    Quiz { seed, question, head, body, tail, answer, why, calls }
}
