//! The completion criterion of the course, as far as the exercises that are here go.
//!
//! It is met when 02 passes with its gap shown on a GPU, and every snippet of 06 is marked right.

use serde::Serialize;
use streamlings_grade::Outcome;
use streamlings_trace::{Device, DeviceKind};

use crate::grading::Whose;
use crate::report::ExerciseReport;

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
    /// More, in a sentence; may be empty.
    pub detail: String,
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
    let passed = |name: &str| {
        let exercise = exercises.iter().find(|exercise| exercise.name == name)?;
        if !exercise.outcome.is_about_the_code() {
            return None;
        }
        Some((exercise, exercise.outcome == Outcome::Passed))
    };
    let unchecked = |name: &str| match course.contains(&name) {
        true => State::NotChecked,
        false => State::NotInThisVersion,
    };
    let on_gpu = device.is_some_and(|device| device.kind == DeviceKind::Gpu);
    let mut parts = Vec::new();

    let (state, detail) = match passed("event_timing") {
        None => (unchecked("event_timing"), String::new()),
        Some((_, false)) => (State::NotMet, String::new()),
        Some((exercise, true)) => {
            let figures = exercise.cases.iter().flat_map(|case| &case.verdict.figures);
            let gap = figures.filter(|figure| figure.what == "gap").map(ToString::to_string).next();
            let state = if on_gpu { State::Met } else { State::MetOnTheEmulatedDevice };
            (state, gap.unwrap_or_default())
        }
    };
    parts.push(Part { what: "02 event_timing passes with the gap shown, on a GPU", state, detail });

    let state = match passed("accidental_syncs") {
        None => unchecked("accidental_syncs"),
        Some((_, false)) => State::NotMet,
        Some((_, true)) => State::Met,
    };
    let what = "06 accidental_syncs has every snippet marked right";
    parts.push(Part { what, state, detail: String::new() });

    let all_met = parts.iter().all(|part| part.state == State::Met);
    // The reference solutions complete nobody's unit.
    Criterion { met: whose == Whose::Learner && all_met, parts }
}
