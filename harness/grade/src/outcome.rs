//! The ways in which a case can end, each with a word of its own.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a case, or a whole exercise, ended. The words are the same in every report format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Outcome {
    /// It does what the lesson asks.
    #[serde(rename = "passed")]
    Passed,
    /// A value or a figure is not right.
    #[serde(rename = "wrong")]
    Wrong,
    /// Two accesses to the same bytes were not ordered.
    #[serde(rename = "raced")]
    Raced,
    /// A call held the host where none may.
    #[serde(rename = "blocked")]
    Blocked,
    /// Ordered, but only by giving up the overlap.
    #[serde(rename = "serialized")]
    Serialized,
    /// A clock or an event pair stands around something else than what it claims to time.
    #[serde(rename = "mis-timed")]
    MisTimed,
    /// It is not written yet, or not handed in.
    #[serde(rename = "not done")]
    NotDone,
    /// It panicked, died of a signal, or went over its limits.
    #[serde(rename = "crashed")]
    Crashed,
    /// It ran past the time limit.
    #[serde(rename = "hung")]
    Hung,
    /// The process ended without the grader's verdict.
    #[serde(rename = "no verdict")]
    NoVerdict,
    /// rustc rejected it.
    #[serde(rename = "does not compile")]
    DoesNotCompile,
    /// Its sources were not taken: a submission may not hold what they hold.
    #[serde(rename = "refused")]
    Refused,
    /// There is no device to run it on. Neither a pass nor the learner's failure.
    #[serde(rename = "no device")]
    NoDevice,
    /// The grader itself failed. Neither a pass nor the learner's failure.
    #[serde(rename = "grader error")]
    GraderError,
}

impl Outcome {
    /// All of them, in the order in which they are listed above.
    pub const ALL: [Outcome; 14] = [
        Outcome::Passed,
        Outcome::Wrong,
        Outcome::Raced,
        Outcome::Blocked,
        Outcome::Serialized,
        Outcome::MisTimed,
        Outcome::NotDone,
        Outcome::Crashed,
        Outcome::Hung,
        Outcome::NoVerdict,
        Outcome::DoesNotCompile,
        Outcome::Refused,
        Outcome::NoDevice,
        Outcome::GraderError,
    ];

    /// Its word in reports.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Passed => "passed",
            Outcome::Wrong => "wrong",
            Outcome::Raced => "raced",
            Outcome::Blocked => "blocked",
            Outcome::Serialized => "serialized",
            Outcome::MisTimed => "mis-timed",
            Outcome::NotDone => "not done",
            Outcome::Crashed => "crashed",
            Outcome::Hung => "hung",
            Outcome::NoVerdict => "no verdict",
            Outcome::DoesNotCompile => "does not compile",
            Outcome::Refused => "refused",
            Outcome::NoDevice => "no device",
            Outcome::GraderError => "grader error",
        }
    }

    /// Whether it says something about the learner's code at all.
    pub fn is_about_the_code(self) -> bool {
        !matches!(self, Outcome::NoDevice | Outcome::GraderError)
    }

    /// The outcome of an exercise from those of its cases: a trouble of the grader's or the machine's
    /// first, else the first case that did not pass. An exercise without cases has no verdict.
    pub fn of_cases(cases: impl IntoIterator<Item = Outcome>) -> Outcome {
        let cases: Vec<Outcome> = cases.into_iter().collect();
        let first = |wanted: &dyn Fn(Outcome) -> bool| cases.iter().copied().find(|o| wanted(*o));
        if cases.is_empty() {
            return Outcome::NoVerdict;
        }
        first(&|outcome| outcome == Outcome::GraderError)
            .or_else(|| first(&|outcome| outcome == Outcome::NoDevice))
            .or_else(|| first(&|outcome| outcome != Outcome::Passed))
            .unwrap_or(Outcome::Passed)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_uses_the_same_words() {
        for outcome in Outcome::ALL {
            let json = serde_json::to_value(outcome).expect("an outcome is a string");
            assert_eq!(json, outcome.word());
        }
    }

    #[test]
    fn an_exercise_passes_only_if_all_its_cases_do() {
        use Outcome::*;
        assert_eq!(Outcome::of_cases([Passed, Passed]), Passed);
        assert_eq!(Outcome::of_cases([Passed, Raced, Wrong]), Raced);
        assert_eq!(Outcome::of_cases([Raced, GraderError]), GraderError);
        assert_eq!(Outcome::of_cases([Hung, NoDevice]), NoDevice);
        assert_eq!(Outcome::of_cases([]), NoVerdict);
    }
}
