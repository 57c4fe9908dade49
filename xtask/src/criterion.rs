//! The completion criterion of the course, as far as the exercises that are here go.
//!
//! It is met when 02 passes with its gap shown on a GPU, and every snippet of 06 is marked right.

use serde::Serialize;
use streamlings_grade::{Figure, Outcome};
use streamlings_trace::{Device, DeviceKind};

use crate::grading::Whose;
use crate::report::{CaseReport, ExerciseReport};

/// Whether the course is completed.
#[derive(Clone, Debug, Serialize)]
pub struct Criterion {
    /// All parts are met, on a GPU where they ask for one.
    pub met: bool,
    /// The parts.
    pub parts: Vec<Part>,
}

impl Criterion {
    /// That of its parts which is farthest from being met, of those that this version has.
    pub fn state(&self) -> State {
        let states = self.parts.iter().map(|part| part.state);
        let mut states = states.filter(|state| *state != State::NotInThisVersion);
        if states.clone().next().is_none() {
            State::NotChecked
        } else if states.clone().all(|state| state == State::Met) {
            State::Met
        } else if states.clone().all(State::is_met_somewhere) {
            State::MetOnTheEmulatedDevice
        } else if states.any(|state| state == State::NotMet) {
            State::NotMet
        } else {
            State::NotChecked
        }
    }
}

/// One part of the criterion.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// What it asks for.
    pub what: &'static str,
    /// How far it is met.
    pub state: State,
    /// The figures in words; may be empty.
    pub detail: String,
    /// What was measured or counted for it.
    pub figures: Vec<Figure>,
}

/// How far a part is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It is.
    Met,
    /// It would be, on a GPU.
    MetOnTheEmulatedDevice,
    /// It is not.
    NotMet,
    /// This check did not look.
    NotChecked,
    /// The course does not have this exercise yet.
    NotInThisVersion,
}

impl State {
    fn is_met_somewhere(self) -> bool {
        matches!(self, State::Met | State::MetOnTheEmulatedDevice)
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            State::Met => "met",
            State::MetOnTheEmulatedDevice => {
                "met on the emulated device; run it on your GPU to complete the unit"
            }
            State::NotMet => "not met",
            State::NotChecked => "not checked",
            State::NotInThisVersion => "not part of this version",
        }
    }
}

/// The state of the criterion after these exercises were graded on this device; `course` names all
/// that there are.
pub fn of(
    whose: Whose,
    course: &[&str],
    exercises: &[ExerciseReport],
    device: Option<&Device>,
) -> Criterion {
    let parts = vec![gap(course, exercises, device), snippets(course, exercises)];
    let all_met = parts.iter().all(|part| part.state == State::Met);
    // The reference solutions complete nobody's unit.
    Criterion { met: whose == Whose::Learner && all_met, parts }
}

/// 02 as a whole, and the figures of its `two_way`.
fn gap(course: &[&str], exercises: &[ExerciseReport], device: Option<&Device>) -> Part {
    let what = "02 event_timing passes with the gap shown, on a GPU";
    let exercise = exercises.iter().find(|exercise| exercise.name == "event_timing");
    let state = match exercise.map(|exercise| exercise.outcome) {
        Some(Outcome::Passed) if device.is_some_and(|d| d.kind == DeviceKind::Gpu) => State::Met,
        Some(Outcome::Passed) => State::MetOnTheEmulatedDevice,
        outcome => not_met(course, "event_timing", outcome),
    };
    let mut figures = Vec::new();
    if state.is_met_somewhere() {
        let known = figures_of(exercise, "two_way");
        let wanted = ["gap", "event time", "bare clock"];
        figures.extend(wanted.iter().filter_map(|what| known.iter().find(|f| f.what == *what)));
    }
    let figures: Vec<Figure> = figures.into_iter().cloned().collect();
    let mut detail: Vec<String> = figures.iter().map(ToString::to_string).collect();
    if let (false, Some(device)) = (figures.is_empty(), device) {
        detail.push(format!("on {}", device.name));
    }
    Part { what, state, detail: detail.join(", "), figures }
}

/// The case `snippets` of 06, whatever becomes of the exercise's others.
fn snippets(course: &[&str], exercises: &[ExerciseReport]) -> Part {
    let what = "06 accidental_syncs has every snippet marked right";
    let exercise = exercises.iter().find(|exercise| exercise.name == "accidental_syncs");
    let case = exercise.and_then(|exercise| case_of(exercise, "snippets"));
    let state = match case.map(|case| case.verdict.outcome) {
        Some(Outcome::Passed) => State::Met,
        outcome => not_met(course, "accidental_syncs", outcome),
    };
    let count = |figure: &&Figure| figure.what == "snippets marked right";
    let figures: Vec<Figure> =
        figures_of(exercise, "snippets").iter().filter(count).cloned().collect();
    // `18 of 20 snippets marked right`: the figure the other way round.
    let detail =
        figures.first().map(|Figure { what, value, unit }| format!("{value} {unit} {what}"));
    Part { what, state, detail: detail.unwrap_or_default(), figures }
}

fn case_of<'a>(exercise: &'a ExerciseReport, name: &str) -> Option<&'a CaseReport> {
    exercise.cases.iter().find(|case| case.verdict.case == name)
}

fn figures_of<'a>(exercise: Option<&'a ExerciseReport>, case: &str) -> &'a [Figure] {
    exercise.and_then(|exercise| case_of(exercise, case)).map_or(&[], |case| &case.verdict.figures)
}

/// The state of a part that is not met, by how what it looks at ended.
fn not_met(course: &[&str], name: &str, outcome: Option<Outcome>) -> State {
    match outcome {
        Some(outcome) if outcome.is_about_the_code() => State::NotMet,
        _ if course.contains(&name) => State::NotChecked,
        _ => State::NotInThisVersion,
    }
}
