//! `cargo xtask quiz`: snippets without end, and which of their lines hold the host or lack a wait.
//!
//! The snippets and the answers come from `harness/quiz`, a program of its own that runs each snippet on the
//! emulated device: it is asked for one at a time, by seed.

use std::collections::BTreeSet;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, bail};
use cargo_metadata::Message;
use serde::Deserialize;
use textwrap::core::display_width;

use crate::build::{is_error, messages};
use crate::cli::QuizArguments;
use crate::exit::Exit;
use crate::progress::Progress;
use crate::text::{self, counted, labelled, wrapped};

/// The package that makes the quizzes.
const PACKAGE: &str = "streamlings-quiz";

/// Seeds that are drawn stay below this, so that they can be typed.
const SEEDS: u64 = 1_000_000;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Question {
    /// Which lines hold the host.
    Holding,
    /// Between which two lines a wait is missing.
    Wait,
}

/// A quiz, as `harness/quiz` writes it.
#[derive(Debug, Deserialize)]
struct Quiz {
    seed: u64,
    question: Question,
    head: Vec<String>,
    body: Vec<String>,
    tail: Vec<String>,
    answer: BTreeSet<usize>,
    why: Vec<Why>,
    calls: Vec<Vec<String>>,
}

/// A sentence of an explanation, in the analyses' words.
#[derive(Debug, Deserialize)]
struct Why {
    line: Option<usize>,
    text: String,
}

/// How this sitting went.
#[derive(Clone, Copy, Debug)]
struct Score {
    right: usize,
    asked: usize,
    seed: u64,
}

/// The score of the sitting in progress, for whoever ends it.
static SCORE: Mutex<Option<Score>> = Mutex::new(None);

/// What somebody typed.
#[derive(Debug, PartialEq, Eq)]
enum Typed {
    Lines(BTreeSet<usize>),
    Help,
    Quit,
    Wrong(String),
}

/// Asks until the learner, or standard input, ends it.
///
/// # Errors
/// Where the quizzes' program cannot be built, or ends.
pub fn run(root: &Path, arguments: &QuizArguments) -> anyhow::Result<Exit> {
    let mut maker = Maker::start(root)?;
    let seed = arguments.seed.unwrap_or_else(|| RandomState::new().build_hasher().finish() % SEEDS);
    set(Some(Score { right: 0, asked: 0, seed }));
    let mut answers = std::io::stdin().lock();
    let mut number = 0;
    while arguments.count.is_none_or(|count| number < count) {
        let quiz = maker.quiz(seed.wrapping_add(number))?;
        number += 1;
        text::print(&shown(&quiz, number))?;
        let Some(given) = ask(&quiz, &mut answers)? else { break };
        let right = given == quiz.answer;
        text::print(&verdict(&quiz, &given))?;
        let mut score = SCORE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(score) = &mut *score {
            score.asked += 1;
            score.right += usize::from(right);
        }
    }
    say_score("");
    Ok(Exit::Success)
}

/// Says how the sitting in progress went, when it is interrupted.
pub fn interrupt() {
    say_score("\n");
}

/// Says it once, behind what ends the line before.
fn say_score(before: &str) {
    let Some(score) = set(None) else { return };
    let Score { right, asked, seed } = score;
    let again = format!("`cargo xtask quiz --seed {seed}` asks the same again.");
    let score = wrapped(&format!("Score: {right} of {asked} right. {again}"), "");
    let said = format!("{before}{score}\n");
    // Whoever does not read this any more does not miss it.
    let _ = text::print(&said);
}

fn set(score: Option<Score>) -> Option<Score> {
    std::mem::replace(&mut *SCORE.lock().unwrap_or_else(PoisonError::into_inner), score)
}

/// The program that makes quizzes, running.
struct Maker {
    child: Child,
    /// Taken only when dropped: it ends when nobody can ask any more.
    seeds: Option<ChildStdin>,
    quizzes: BufReader<ChildStdout>,
}

impl Maker {
    fn start(root: &Path) -> anyhow::Result<Maker> {
        let mut child = Command::new(build(root)?)
            .env("STREAMLINGS_DEVICE", "emulated")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("the quiz could not be started")?;
        let (seeds, quizzes) = (child.stdin.take(), child.stdout.take());
        let quizzes = BufReader::new(quizzes.context("the quiz has no standard output")?);
        Ok(Maker { child, seeds, quizzes })
    }

    fn quiz(&mut self, seed: u64) -> anyhow::Result<Quiz> {
        let seeds = self.seeds.as_mut().context("the quiz has no standard input")?;
        writeln!(seeds, "{seed}").context("the quiz has ended")?;
        let mut line = String::new();
        if self.quizzes.read_line(&mut line)? == 0 {
            bail!("the quiz ended without one for seed {seed}");
        }
        serde_json::from_str(&line).context("the quiz wrote something else")
    }
}

impl Drop for Maker {
    fn drop(&mut self) {
        drop(self.seeds.take());
        let _ = self.child.wait();
    }
}

/// Builds that program.
fn build(root: &Path) -> anyhow::Result<PathBuf> {
    let progress = Progress::told("building the quiz", "crates");
    let mut program = None;
    let mut errors = String::new();
    let mut done = 0;
    let arguments = ["--package", PACKAGE];
    let (status, said) = messages::build(root, arguments, &progress, |message| match message {
        Message::CompilerArtifact(artifact) => {
            done += 1;
            progress.is_at(done);
            let name = artifact.target.name;
            progress.say(format!("building the quiz: {}, {name}", counted(done, "crate")));
            program = artifact.executable.or(program.take());
        }
        Message::CompilerMessage(message) if is_error(&message.message) => {
            errors += &message.message.to_string();
        }
        _ => {}
    })?;
    drop(progress);
    if !status.success() {
        anstream::eprint!("{errors}{said}");
        bail!("the quiz could not be built; `cargo xtask doctor` may know why");
    }
    program.map(PathBuf::from).context("cargo built no program for the quiz")
}

/// The code, with numbered lines, and the question.
fn shown(quiz: &Quiz, number: u64) -> String {
    let mut shown = format!("Snippet {number}, seed {}\n\n", quiz.seed);
    let plain = |line: &String| behind(MARGIN, line);
    shown.extend(quiz.head.iter().map(plain));
    shown += &body(quiz, |_| ' ');
    shown.extend(quiz.tail.iter().map(plain));
    shown + "\n" + &wrapped(question(quiz.question), "") + "\n"
}

fn question(question: Question) -> &'static str {
    match question {
        Question::Holding => "Which lines hold the host? (numbers, none, ?, or q)",
        Question::Wait => "Between which two lines is a wait missing? (two numbers, none, ?, or q)",
    }
}

fn help(question: Question) -> &'static str {
    match question {
        Question::Holding => {
            "A line holds the host if it cannot be done before work on a stream is; both streams are busy \
             when the snippet begins. Calls that are on no other stream are on the current one. Type the \
             lines' numbers, as in `3` or `2 5`; `none` if no line does; `q` to end."
        }
        Question::Wait => {
            "Two lines lack a wait if both touch the same memory, one of them writes, and nothing makes \
             the later one wait for the earlier one: no wait on the device, none of the host. Memory that \
             was dropped may be handed out again. All else lives until the device is idle, and what the \
             snippet is given is ready. Type the two lines' numbers, as in `2 4`; `none` if nothing is \
             missing; `q` to end."
        }
    }
}

/// The numbered lines, each with a mark.
fn body(quiz: &Quiz, mark: impl Fn(usize) -> char) -> String {
    let lines = quiz.body.iter().zip(1..);
    lines.map(|(line, number)| behind(&format!("{} {number:>2} | ", mark(number)), line)).collect()
}

/// What stands before code without a number.
const MARGIN: &str = "     | ";

/// Code behind a margin, in as many lines as the terminal's width asks for.
fn behind(margin: &str, code: &str) -> String {
    let lines = laid_out(code, text::width() - MARGIN.len());
    let margins = std::iter::once(margin).chain(std::iter::repeat(MARGIN));
    lines.iter().zip(margins).map(|(line, margin)| format!("{margin}{line}\n")).collect()
}

/// A line of code in so many columns: a function's head as rustfmt breaks it, all else at blanks.
fn laid_out(code: &str, room: usize) -> Vec<String> {
    if display_width(code) <= room {
        return vec![code.to_owned()];
    }
    let head = code.strip_prefix("fn ").and_then(|_| code.split_once('('));
    if let Some((name, rest)) = head
        && let Some((parameters, end)) = rest.rsplit_once(") -> ")
    {
        let parameters = parameters.split(", ").map(|parameter| format!("    {parameter},"));
        let begin = std::iter::once(format!("{name}("));
        return begin.chain(parameters).chain([format!(") -> {end}")]).collect();
    }
    let indentation = &code[..code.len() - code.trim_start().len()];
    let further = match code.trim_start().strip_prefix("// ") {
        Some(_) => format!("{indentation}// "),
        None => format!("{indentation}    "),
    };
    text::wrapped_in(code, room, &further)
}

/// What somebody answers; `None` if that is the end.
fn ask(quiz: &Quiz, answers: &mut impl BufRead) -> anyhow::Result<Option<BTreeSet<usize>>> {
    loop {
        text::print("> ")?;
        let mut line = String::new();
        if answers.read_line(&mut line)? == 0 {
            text::print("\n")?;
            return Ok(None);
        }
        if !std::io::stdin().is_terminal() {
            // A terminal shows what is typed; a transcript has it from here.
            text::print(&format!("{}\n", line.trim()))?;
        }
        match read(&line, quiz) {
            Typed::Lines(lines) => return Ok(Some(lines)),
            Typed::Quit => return Ok(None),
            Typed::Help => text::print(&format!("{}\n", wrapped(help(quiz.question), "")))?,
            Typed::Wrong(why) => text::print(&format!("{}\n", wrapped(&why, "")))?,
        }
    }
}

fn read(line: &str, quiz: &Quiz) -> Typed {
    let words: Vec<&str> = line
        .split(|c: char| c.is_whitespace() || c == ',')
        .filter(|word| !word.is_empty())
        .collect();
    match words[..] {
        ["q" | "quit"] => return Typed::Quit,
        [] | ["?" | "h" | "help"] => return Typed::Help,
        ["none"] => return Typed::Lines(BTreeSet::new()),
        _ => {}
    }
    let last = quiz.body.len();
    let mut lines = BTreeSet::new();
    // `2-4` is two lines where two are asked for; else it might be three.
    let pair = |word: &'_ str| match word.split_once('-') {
        Some((one, two)) if quiz.question == Question::Wait && !one.is_empty() => {
            vec![one.to_owned(), two.to_owned()]
        }
        _ => vec![word.to_owned()],
    };
    for word in words.into_iter().flat_map(pair) {
        match word.parse() {
            Ok(line) if (1..=last).contains(&line) => lines.insert(line),
            _ => {
                return Typed::Wrong(format!(
                    "`{word}` is not a line from 1 to {last}; `?` explains."
                ));
            }
        };
    }
    if quiz.question == Question::Wait && lines.len() != 2 {
        return Typed::Wrong("Give two lines, or `none`; `?` explains.".to_owned());
    }
    Typed::Lines(lines)
}

/// Whether that was right, and why.
fn verdict(quiz: &Quiz, given: &BTreeSet<usize>) -> String {
    let mut said = match (given == &quiz.answer, quiz.answer.is_empty()) {
        (true, _) => "Right.\n".to_owned(),
        (false, true) => "Not so. Right: none\n".to_owned(),
        (false, false) => {
            let lines: Vec<String> = quiz.answer.iter().map(usize::to_string).collect();
            format!("Not so. Right: {}\n", text::and(&lines))
        }
    };
    if !quiz.answer.is_empty() {
        said += "\n";
        said += &body(quiz, |line| if quiz.answer.contains(&line) { '*' } else { ' ' });
        said += "\n";
    }
    for why in &quiz.why {
        said += &match why.line {
            Some(line) => labelled(&format!("  line {line}: "), &why.text),
            None => {
                let lines = why.text.lines().map(|line| wrapped(&format!("  {line}"), "      "));
                lines.collect::<Vec<String>>().join("\n")
            }
        };
        said += "\n";
    }
    if quiz.question == Question::Holding {
        for line in given.difference(&quiz.answer) {
            said += &labelled(&format!("  line {line}: "), &does_not(&quiz.calls, *line));
            said += "\n";
        }
    } else if quiz.answer.is_empty() {
        said += "  Nothing in the record touches memory that something else uses unordered.\n";
    }
    said + "\n"
}

/// Why a line does not hold the host.
fn does_not(calls: &[Vec<String>], line: usize) -> String {
    match calls.get(line - 1).map(Vec::as_slice) {
        None | Some([]) => "it neither enqueues nor waits".to_owned(),
        Some([call]) => format!("its call, {call}, does not wait"),
        Some(calls) => {
            format!("none of its {} waits: {}", counted(calls.len(), "call"), calls.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quiz(question: Question) -> Quiz {
        let body = ["a", "b", "c"].map(str::to_owned).to_vec();
        let (head, tail, why, calls) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Quiz { seed: 1, question, head, body, tail, answer: BTreeSet::new(), why, calls }
    }

    #[test]
    fn code_is_laid_out_for_the_columns_that_there_are() {
        let head = "fn snippet(pinned: &PinnedTensor, side: &Stream) -> Result<()> {";
        assert_eq!(laid_out(head, head.len()), [head]);
        assert_eq!(
            laid_out(head, head.len() - 1),
            [
                "fn snippet(",
                "    pinned: &PinnedTensor,",
                "    side: &Stream,",
                ") -> Result<()> {"
            ]
        );
        let body = "    let a = with_stream(side, || pinned.to_device(true))?;";
        assert_eq!(
            laid_out(body, 40),
            ["    let a = with_stream(side, ||", "        pinned.to_device(true))?;"]
        );
        let comment = "// pinned: 64 by 16, in pinned memory";
        assert_eq!(laid_out(comment, 33), ["// pinned: 64 by 16, in pinned", "// memory"]);
    }

    #[test]
    fn answers_are_read_as_they_are_typed() {
        let holding = quiz(Question::Holding);
        let lines = |lines: &[usize]| Typed::Lines(lines.iter().copied().collect());
        for (typed, wanted) in [
            ("3\n", lines(&[3])),
            ("2, 1\n", lines(&[1, 2])),
            (" 2 2 \n", lines(&[2])),
            ("none\n", lines(&[])),
            ("q\n", Typed::Quit),
            ("?\n", Typed::Help),
            ("h\n", Typed::Help),
            ("\n", Typed::Help),
        ] {
            assert_eq!(read(typed, &holding), wanted, "{typed:?}");
        }
        for typed in ["0", "4", "two", "-1", "none 1", "99999999999999999999"] {
            assert!(matches!(read(typed, &holding), Typed::Wrong(_)), "{typed:?}");
        }
        let wait = quiz(Question::Wait);
        assert_eq!(read("3 1", &wait), lines(&[1, 3]));
        assert_eq!(read("1-3", &wait), lines(&[1, 3]));
        assert!(matches!(read("1-3", &holding), Typed::Wrong(_)));
        assert_eq!(read("none", &wait), lines(&[]));
        for typed in ["1", "1 2 3", "2 2"] {
            assert!(matches!(read(typed, &wait), Typed::Wrong(_)), "{typed:?}");
        }
    }
}
