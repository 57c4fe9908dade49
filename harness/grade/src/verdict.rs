//! Findings, and the verdict file that carries one from a case's process to its supervisor.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use streamlings_trace::Device;

use crate::diagnosis::{self, Diagnosis};
use crate::outcome::Outcome;

/// The version of the verdict file; a file of another version is no verdict.
pub const SCHEMA: u32 = 1;

/// A source line, written `path:line`. The path is relative to the workspace, with `/`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct At {
    /// The file.
    pub path: String,
    /// Counted from 1.
    pub line: u32,
}

impl At {
    /// That line of that file.
    pub fn new(path: impl Into<String>, line: u32) -> At {
        At { path: path.into(), line }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.path, self.line)
    }
}

impl From<At> for String {
    fn from(at: At) -> String {
        at.to_string()
    }
}

impl TryFrom<String> for At {
    type Error = String;

    fn try_from(text: String) -> Result<At, String> {
        let parsed = text
            .rsplit_once(':')
            .and_then(|(path, line)| Some(At { path: path.to_owned(), line: line.parse().ok()? }));
        parsed.ok_or_else(|| format!("`{text}` is not `path:line`"))
    }
}

/// A source line, and what is to be said of it under its caret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spot {
    /// Where.
    pub at: At,
    /// What happened there; may be empty.
    pub label: String,
}

/// Why a case did not pass. What a grading case returns as its error.
///
/// ```
/// use streamlings_grade::{At, Finding, diagnosis};
///
/// let finding = Finding::new(diagnosis::CLOSURE_AFTER_WAIT, "the closure ran on an idle device")
///     .at(At::new("exercises/01_async_launch/src/lib.rs", 41), "waited 12.0 ms here")
///     .note("the closure began 0.1 ms after the kernel had ended");
/// assert_eq!(finding.diagnosis.code, "closure-after-wait");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Which of the known mistakes it is.
    pub diagnosis: &'static Diagnosis,
    /// What happened in this run, with its numbers: one sentence, no full stop.
    pub message: String,
    /// The source lines that it is about; the first is where the learner looks first.
    pub spots: Vec<Spot>,
    /// More that helps.
    pub notes: Vec<String>,
    /// Of a race: the wrong value that a run showed, if one did.
    pub witness: Option<Witness>,
}

/// What the order analysis proves, a run may show: a wrong value.
#[derive(Clone, Debug, PartialEq)]
pub struct Witness {
    /// "the sum came out as 2; 1 is right"
    pub seen: String,
    /// The seed of the run's delays, if it was not the run that the finding is of.
    pub delays: Option<u64>,
}

impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.delays {
            None => write!(f, "in this run {}", self.seen),
            Some(seed) => write!(f, "in a run with other delays (seed {seed}) {}", self.seen),
        }
    }
}

impl Finding {
    /// A finding.
    pub fn new(diagnosis: &'static Diagnosis, message: impl Into<String>) -> Finding {
        let (spots, notes) = (Vec::new(), Vec::new());
        Finding { diagnosis, message: message.into(), spots, notes, witness: None }
    }

    /// Points at a source line. `None` is no line, as a trace gives it for a call without one.
    pub fn at(mut self, at: impl Into<Option<At>>, label: impl Into<String>) -> Finding {
        if let Some(at) = at.into() {
            self.spots.push(Spot { at, label: label.into() });
        }
        self
    }

    /// Adds what came of it in this run, if anything did: "the sum came out as 2; 1 is right".
    pub fn seen(mut self, seen: Option<String>) -> Finding {
        self.witness = seen.map(|seen| Witness { seen, delays: None });
        self
    }

    /// Adds a note.
    pub fn note(mut self, note: impl Into<String>) -> Finding {
        self.notes.push(note.into());
        self
    }
}

/// In a case, `?` on an error that is not the learner's (no memory, a driver that refuses) is an error
/// of the grader.
impl<E: std::error::Error> From<E> for Finding {
    fn from(error: E) -> Finding {
        Finding::new(diagnosis::SETUP_FAILED, format!("the grading case failed: {error}"))
    }
}

/// A number that the report shows beside the case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What it is.
    pub what: String,
    /// How much.
    pub value: f64,
    /// Of what; empty for a ratio's plain number. `of 20` makes the value a count.
    pub unit: String,
}

/// The decimal places that show three digits of a value below 1, and no more than a double has. Counted: a
/// logarithm would need libm.
fn places(value: f64) -> usize {
    let tenths = std::iter::successors(Some(0.1), |tenth| Some(tenth / 10.0));
    3 + tenths.take(12).take_while(|tenth| value < *tenth).count()
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = match self.value.abs() {
            _ if self.unit.starts_with("of ") => 0,
            value if value >= 100.0 => 0,
            value if value >= 10.0 => 1,
            value if value >= 1.0 => 2,
            0.0 => 0,
            value => places(value),
        };
        write!(f, "{} {:.digits$}", self.what, self.value)?;
        if self.unit.is_empty() { Ok(()) } else { write!(f, " {}", self.unit) }
    }
}

/// How a case ended, as its process or its supervisor wrote it down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What the supervisor gave to this run and to no other.
    pub nonce: String,
    /// The case.
    pub case: String,
    /// How it ended.
    pub outcome: Outcome,
    /// The code of the diagnosis, if it did not pass.
    pub diagnosis: Option<String>,
    /// What happened; empty if it passed.
    pub message: String,
    /// Source lines, the first one first.
    pub spots: Vec<Spot>,
    /// More that helps.
    pub notes: Vec<String>,
    /// Numbers to show.
    pub figures: Vec<Figure>,
    /// What it ran on, if it came so far.
    pub device: Option<Device>,
}

impl Verdict {
    /// The verdict on a case that passed.
    pub fn passed(case: &str) -> Verdict {
        Verdict {
            schema: SCHEMA,
            nonce: String::new(),
            case: case.to_owned(),
            outcome: Outcome::Passed,
            diagnosis: None,
            message: String::new(),
            spots: Vec::new(),
            notes: Vec::new(),
            figures: Vec::new(),
            device: None,
        }
    }

    /// The verdict on a case that did not.
    pub fn failed(case: &str, finding: Finding) -> Verdict {
        let witness = finding.witness.map(|witness| witness.to_string());
        Verdict {
            outcome: finding.diagnosis.outcome,
            diagnosis: Some(finding.diagnosis.code.to_owned()),
            message: finding.message,
            spots: finding.spots,
            notes: finding.notes.into_iter().chain(witness).collect(),
            ..Verdict::passed(case)
        }
    }

    /// Where the learner looks first.
    pub fn at(&self) -> Option<&At> {
        self.spots.first().map(|spot| &spot.at)
    }

    /// Writes the file: whole, or not at all.
    ///
    /// # Errors
    /// The file system's.
    pub fn write(&self, path: &Path) -> std::io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer(&mut file, self)?;
        file.flush()?;
        file.persist(path)?;
        Ok(())
    }

    /// Reads the file that a case's process wrote, and takes it only if it is of this very run.
    ///
    /// # Errors
    /// What is wrong with it, as the end of a sentence.
    pub fn read(path: &Path, nonce: &str, case: &str) -> Result<Verdict, NoVerdict> {
        let text = match std::fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(NoVerdict::Missing);
            }
            Err(error) => return Err(NoVerdict::Unreadable(error.to_string())),
        };
        let verdict: Verdict = serde_json::from_slice(&text)
            .map_err(|error| NoVerdict::Unreadable(error.to_string()))?;
        if verdict.schema != SCHEMA || verdict.nonce != nonce || verdict.case != case {
            return Err(NoVerdict::OfAnotherRun);
        }
        let known = match &verdict.diagnosis {
            None => verdict.outcome == Outcome::Passed,
            Some(code) => diagnosis::find(code).is_some_and(|d| d.outcome == verdict.outcome),
        };
        if known { Ok(verdict) } else { Err(NoVerdict::OfAnotherRun) }
    }
}

/// In plain text, as `cargo test -p NAME` shows it.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let diagnosis = self.diagnosis.as_deref().and_then(diagnosis::find);
        let Some(diagnosis) = diagnosis else {
            return write!(f, "{}", self.outcome);
        };
        writeln!(f, "{} [{}]: {}", self.outcome, diagnosis.code, diagnosis.title)?;
        writeln!(f, "  {}", self.message)?;
        for spot in &self.spots {
            let colon = if spot.label.is_empty() { "" } else { ": " };
            writeln!(f, "  at {}{colon}{}", spot.at, spot.label)?;
        }
        for note in &self.notes {
            writeln!(f, "  note: {note}")?;
        }
        writeln!(f, "  rule: {}", diagnosis.rule)?;
        write!(f, "  next: {}", diagnosis.next)
    }
}

/// Why there is no verdict to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoVerdict {
    /// There is no file.
    Missing,
    /// There is one, and it is no verdict.
    Unreadable(String),
    /// It is not of this run, or says what no grader says.
    OfAnotherRun,
}

/// What the supervisor tells a case's process, on its standard input: nothing of it is in the
/// environment, where the learner's code could read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Comes back in the verdict.
    pub nonce: String,
    /// Where the verdict goes.
    pub verdict: PathBuf,
    /// The folder that the traces go to, if they are wanted.
    pub traces: Option<PathBuf>,
    /// What sizes, data and delays are drawn from.
    pub seed: u64,
}

/// The nonce while the learner's code runs: in memory, but not as it reads.
///
/// Code in the same process can get at it all the same if it means to. This only keeps a search of the
/// process's memory for a verdict's parts from finding one.
#[cfg(feature = "run")]
#[derive(Debug)]
pub(crate) struct Sealed {
    bytes: Vec<u8>,
    mask: Vec<u8>,
}

#[cfg(feature = "run")]
impl Sealed {
    /// Takes it away from the job.
    pub(crate) fn of(job: &mut Job) -> Sealed {
        let mut plain = std::mem::take(&mut job.nonce).into_bytes();
        let mask: Vec<u8> = plain.iter().map(|_| crate::supervise::random() as u8).collect();
        let bytes = plain.iter().zip(&mask).map(|(byte, mask)| byte ^ mask).collect();
        wipe(&mut plain);
        Sealed { bytes, mask }
    }

    /// As it reads.
    pub(crate) fn open(&self) -> String {
        let plain = self.bytes.iter().zip(&self.mask).map(|(byte, mask)| byte ^ mask);
        String::from_utf8_lossy(&plain.collect::<Vec<u8>>()).into_owned()
    }
}

/// Overwrites bytes that are about to be given back.
#[cfg(feature = "run")]
pub(crate) fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    // Else the compiler may leave it out.
    std::hint::black_box(bytes);
}

/// One case of a grade binary, as `--describe` lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseInfo {
    /// Its name; that of a mutant's case is `mutant::case`.
    pub name: String,
    /// For a mutant's case, the code of the diagnosis that it must get.
    pub expect: Option<String>,
    /// Whether the exercise passes without it.
    #[serde(default)]
    pub optional: bool,
}

/// What `--describe` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// The cases.
    pub cases: Vec<CaseInfo>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_taken_only_for_its_own_run() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("verdict.json");
        assert_eq!(Verdict::read(&path, "n", "c"), Err(NoVerdict::Missing));

        let mut verdict = Verdict::failed("c", Finding::new(diagnosis::PANICKED, "it panicked"));
        verdict.nonce = "n".to_owned();
        verdict.write(&path).expect("it can be written");
        assert_eq!(Verdict::read(&path, "n", "c"), Ok(verdict.clone()));
        assert_eq!(Verdict::read(&path, "m", "c"), Err(NoVerdict::OfAnotherRun));
        assert_eq!(Verdict::read(&path, "n", "d"), Err(NoVerdict::OfAnotherRun));

        verdict.outcome = Outcome::Passed;
        verdict.write(&path).expect("it can be written");
        assert_eq!(Verdict::read(&path, "n", "c"), Err(NoVerdict::OfAnotherRun));

        std::fs::write(&path, "test result: ok").expect("it can be written");
        assert!(matches!(Verdict::read(&path, "n", "c"), Err(NoVerdict::Unreadable(_))));
    }

    #[cfg(feature = "run")]
    #[test]
    fn a_sealed_nonce_does_not_read_as_itself() {
        let nonce = "0123456789abcdef".repeat(2);
        let mut job = Job { nonce: nonce.clone(), verdict: PathBuf::new(), traces: None, seed: 1 };
        let sealed = Sealed::of(&mut job);
        assert_eq!(job.nonce, "");
        assert_ne!(sealed.bytes, nonce.as_bytes());
        assert_eq!(sealed.open(), nonce);
    }

    #[test]
    fn a_count_has_no_fraction() {
        let show = |value, unit: &str| Figure { what: "n".into(), value, unit: unit.into() };
        assert_eq!(show(9.0, "of 20").to_string(), "n 9 of 20");
        assert_eq!(show(9.0, "ms").to_string(), "n 9.00 ms");
    }

    #[test]
    fn small_figures_have_three_digits_and_zero_has_one() {
        let show = |value| Figure { what: "n".into(), value, unit: String::new() }.to_string();
        for (value, shown) in [
            (0.0, "n 0"),
            (0.36, "n 0.360"),
            (0.0037, "n 0.00370"),
            (0.000_123_4, "n 0.000123"),
            (-0.05, "n -0.0500"),
            (1.0, "n 1.00"),
        ] {
            assert_eq!(show(value), shown);
        }
    }

    #[test]
    fn a_place_is_written_as_path_and_line() {
        let at = At::new("exercises/01_async_launch/src/lib.rs", 41);
        let json = serde_json::to_string(&at).expect("a place is a string");
        assert_eq!(json, "\"exercises/01_async_launch/src/lib.rs:41\"");
        assert_eq!(serde_json::from_str::<At>(&json).expect("it reads back"), at);
        assert!(serde_json::from_str::<At>("\"no line\"").is_err());
    }
}
