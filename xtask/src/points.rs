//! Points: what each case is worth, and what a report has earned.
//!
//! Without a file each case that an exercise needs is worth one point, and an optional one none. A file
//! changes that:
//!
//! ```toml
//! required = 1      # what a case is worth that is not named below
//! optional = 0.5    # the same for an optional one
//!
//! [event_timing]    # an exercise, by name or number
//! two_way = 3       # a case of it
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::Serialize;
use streamlings_grade::Outcome;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::course::Course;
use crate::exit::UsageError;
use crate::report::{CaseReport, ExerciseReport, Report};

/// What a case can be worth: sums of it are exact enough to be shown.
const MOST: f64 = 1e6;

/// What cases are worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    required: f64,
    optional: f64,
    /// By exercise and case.
    exercises: BTreeMap<String, BTreeMap<String, f64>>,
}

impl Default for Points {
    fn default() -> Points {
        Points { required: 1.0, optional: 0.0, exercises: BTreeMap::new() }
    }
}

/// A file of points names something that there is not, or is no such file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WrongPoints(String);

/// What is wrong with a text, and in which line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wrong {
    line: Option<usize>,
    why: String,
}

impl Wrong {
    fn at(text: &str, offset: usize, why: String) -> Wrong {
        let before = text.as_bytes().iter().take(offset);
        Wrong { line: Some(1 + before.filter(|byte| **byte == b'\n').count()), why }
    }
}

/// A value of the text, if it is one that something can be worth.
fn worth(text: &str, name: &str, value: &Spanned<DeValue<'_>>) -> Result<f64, Wrong> {
    let number = match value.get_ref() {
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse().ok(),
        DeValue::Float(number) => number.as_str().parse().ok(),
        _ => None,
    };
    let number: Option<f64> = number;
    let at = |why: String| Wrong::at(text, value.span().start, why);
    match number {
        None => Err(at(format!("`{name}` has to be a number, such as 1 or 0.5"))),
        Some(worth) if (0.0..=MOST).contains(&worth) => Ok(worth),
        Some(worth) => Err(at(format!("`{name}` cannot be worth {worth}, only 0 to {MOST}"))),
    }
}

/// What was earned of what could be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Score {
    /// For cases that passed.
    pub earned: f64,
    /// What all cases are worth.
    pub of: f64,
    /// What those are worth of which nothing is known, for want of a device or by a fault of the
    /// grader's: neither earned nor lost.
    pub open: f64,
}

impl std::ops::Add for Score {
    type Output = Score;

    fn add(self, other: Score) -> Score {
        Score {
            earned: self.earned + other.earned,
            of: self.of + other.of,
            open: self.open + other.open,
        }
    }
}

impl std::iter::Sum for Score {
    fn sum<I: Iterator<Item = Score>>(scores: I) -> Score {
        scores.fold(Score::default(), std::ops::Add::add)
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.earned, self.of)?;
        if self.open > 0.0 { write!(f, " ({} open)", self.open) } else { Ok(()) }
    }
}

impl Points {
    /// Reads a file of points.
    ///
    /// # Errors
    /// [`WrongPoints`], or [`UsageError`] where it cannot be read.
    pub fn read(file: &Path, course: &Course) -> anyhow::Result<Points> {
        let text = std::fs::read_to_string(file)
            .map_err(|error| UsageError(format!("--points: {}: {error}", file.display())))?;
        let wrong = |Wrong { line, why }: Wrong| {
            let line = line.map_or(String::new(), |line| format!(":{line}"));
            WrongPoints(format!("{}{line}: {why}", file.display()))
        };
        let exercise = |name: &str| match course.find(name) {
            Ok(exercise) => Ok(exercise.name.clone()),
            Err(unknown) => Err(unknown.to_string()),
        };
        Ok(Points::parse(&text, exercise).map_err(wrong)?)
    }

    /// What a text says; `exercise` gives the name of an exercise, however it is named.
    fn parse(
        text: &str,
        exercise: impl Fn(&str) -> Result<String, String>,
    ) -> Result<Points, Wrong> {
        let table = DeTable::parse(text)
            .map_err(|error| Wrong { line: None, why: error.to_string() })?
            .into_inner();
        let mut points = Points::default();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            let at = |why: String| Wrong::at(text, key.span().start, why);
            match (name, value.get_ref()) {
                ("required", _) => points.required = worth(text, name, &value)?,
                ("optional", _) => points.optional = worth(text, name, &value)?,
                (_, DeValue::Table(cases)) => {
                    let of = points.exercises.entry(exercise(name).map_err(at)?).or_default();
                    for (case, value) in cases {
                        let name = case.get_ref().as_ref();
                        if of.insert(name.to_owned(), worth(text, name, value)?).is_some() {
                            let why = format!("`{name}` is given twice for the same exercise");
                            return Err(Wrong::at(text, case.span().start, why));
                        }
                    }
                }
                _ => {
                    return Err(at(format!(
                        "there is no `{name}`; give `required`, `optional`, or a case below its exercise's `[name]`"
                    )));
                }
            }
        }
        Ok(points)
    }

    /// Makes sure that the file names no case that the exercise has not.
    ///
    /// # Errors
    /// [`WrongPoints`].
    pub fn check(&self, exercise: &str, cases: &[String]) -> Result<(), WrongPoints> {
        let mut named = self.exercises.get(exercise).into_iter().flat_map(BTreeMap::keys);
        match named.find(|name| !cases.contains(name)) {
            Some(name) => Err(WrongPoints(format!(
                "the points name a case `{name}` that {exercise} has not; it has {}",
                cases.join(", ")
            ))),
            None => Ok(()),
        }
    }

    /// What a case is worth.
    pub fn worth(&self, exercise: &str, case: &CaseReport) -> f64 {
        let named = self.exercises.get(exercise).and_then(|cases| cases.get(&case.verdict.case));
        named.copied().unwrap_or(if case.optional { self.optional } else { self.required })
    }

    /// What a case has earned.
    pub fn of_case(&self, exercise: &str, case: &CaseReport) -> Score {
        let worth = self.worth(exercise, case);
        let outcome = case.verdict.outcome;
        let earned = if outcome == Outcome::Passed { worth } else { 0.0 };
        let open = if outcome.is_about_the_code() { 0.0 } else { worth };
        Score { earned, of: worth, open }
    }

    /// What an exercise has earned.
    pub fn of_exercise(&self, exercise: &ExerciseReport) -> Score {
        exercise.cases.iter().map(|case| self.of_case(&exercise.name, case)).sum()
    }

    /// What a report has earned in all.
    pub fn of_report(&self, report: &Report) -> Score {
        report.exercises.iter().map(|exercise| self.of_exercise(exercise)).sum()
    }
}

#[cfg(test)]
mod tests {
    use streamlings_grade::{Finding, Verdict, diagnosis};

    use super::*;

    fn case(verdict: Verdict, optional: bool) -> CaseReport {
        CaseReport { optional, ..CaseReport::not_run(verdict) }
    }

    fn parse(text: &str) -> Result<Points, Wrong> {
        Points::parse(text, |name| match name {
            "a" | "1" | "01" => Ok("a".to_owned()),
            _ => Err(format!("there is no exercise `{name}`")),
        })
    }

    fn failed(name: &str, diagnosis: &'static streamlings_grade::Diagnosis) -> Verdict {
        Verdict::failed(name, Finding::new(diagnosis, "so"))
    }

    #[test]
    fn cases_are_worth_what_the_file_says() {
        let points = parse("optional = 0.5\n[01]\none = 3\n").expect("it is a file of points");
        let passed = |name, optional| points.of_case("a", &case(Verdict::passed(name), optional));
        assert_eq!(passed("one", false), Score { earned: 3.0, of: 3.0, open: 0.0 });
        assert_eq!(passed("two", false), Score { earned: 1.0, of: 1.0, open: 0.0 });
        assert_eq!(passed("three", true), Score { earned: 0.5, of: 0.5, open: 0.0 });
        assert_eq!(parse("required = 1_000").map(|points| points.required), Ok(1000.0));
        assert_eq!(points.check("a", &["one".to_owned()]), Ok(()));
        assert_eq!(
            points.check("a", &["two".to_owned()]).map_err(|wrong| wrong.to_string()),
            Err("the points name a case `one` that a has not; it has two".to_owned())
        );
    }

    #[test]
    fn what_is_not_known_is_neither_earned_nor_lost() {
        let points = Points::default();
        let score: Score = [
            case(Verdict::passed("a"), false),
            case(failed("b", diagnosis::HUNG), false),
            case(failed("c", diagnosis::NO_DEVICE), false),
            case(failed("d", diagnosis::GRADER_PANICKED), false),
            case(failed("e", diagnosis::NOT_DONE), true),
        ]
        .iter()
        .map(|case| points.of_case("x", case))
        .sum();
        assert_eq!(score, Score { earned: 1.0, of: 4.0, open: 2.0 });
        assert_eq!(score.to_string(), "1 of 4 (2 open)");
    }

    #[test]
    fn files_that_are_wrong_say_why() {
        for (text, line, why) in [
            ("[a]\none = -1", 2, "`one` cannot be worth -1"),
            ("required = nan", 1, "`required` cannot be worth NaN"),
            ("# All.\n\n[a]\ntwo = 1\none = 'much'", 5, "`one` has to be a number"),
            ("a = 3", 1, "there is no `a`; give `required`, `optional`, or"),
            ("\nrequird = 2", 2, "there is no `requird`"),
            ("required = inf", 1, "`required` cannot be worth inf, only 0 to 1000000"),
            ("[a]\none = 1e7", 2, "`one` cannot be worth 10000000"),
            ("[a]\none = 0x10", 2, "`one` has to be a number"),
            ("\n[b]\none = 1", 2, "there is no exercise `b`"),
            ("[a]\none = 1\n[1]\none = 2", 0, "`one` is given twice for the same exercise"),
        ] {
            let Wrong { line: at, why: error } = parse(text).expect_err("it is wrong");
            // Of two tables for one exercise, either may be the first.
            assert!(line == 0 || at == Some(line), "{text}: {at:?}");
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
