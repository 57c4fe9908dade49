//! The report as one JSON document, for programs.
//!
//! `schema` is raised when a field changes its meaning or goes; fields may be added under the same
//! schema.

use serde_json::{Value, json};

use super::{CaseReport, ExerciseReport, Report, Submitted};
use crate::points::{Points, Score};

/// The version of the document.
pub const SCHEMA: u32 = 1;

/// The document; points are null where none are asked for.
pub fn document(report: &Report, points: Option<&Points>) -> Value {
    let device = match &report.device {
        Some(device) => json!({ "kind": device.kind, "name": device.name }),
        None => json!({ "kind": "none", "name": report.device_name() }),
    };
    json!({
        "schema": SCHEMA,
        "submission": report.submission.as_ref().map(submission),
        "device": device,
        "exercises": report.exercises.iter().map(|e| exercise(e, points)).collect::<Vec<_>>(),
        "points": points.map(|points| points.of_report(report)),
        "criterion": report.criterion,
    })
}

fn submission(submission: &Submitted) -> Value {
    json!({
        "name": submission.name,
        "ignored": submission.ignored,
        "remarks": submission.remarks,
        "report": submission.report,
        "isolation": submission.isolation,
    })
}

fn exercise(exercise: &ExerciseReport, points: Option<&Points>) -> Value {
    json!({
        "name": exercise.name,
        "number": exercise.number,
        "title": exercise.title,
        "outcome": exercise.outcome,
        "points": points.map(|points| points.of_exercise(exercise)),
        "cases": exercise
            .cases
            .iter()
            .map(|c| case(c, points.map(|points| points.of_case(&exercise.name, c))))
            .collect::<Vec<_>>(),
        "rustc": exercise.rustc.as_deref().map(plain),
        "warnings": exercise.warnings.iter().map(|text| plain(text)).collect::<Vec<_>>(),
    })
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

fn case(case: &CaseReport, points: Option<Score>) -> Value {
    let verdict = &case.verdict;
    let output = case.output.text();
    json!({
        "name": verdict.case,
        "outcome": verdict.outcome,
        "optional": case.optional,
        "points": points,
        "diagnosis": verdict.diagnosis,
        "at": verdict.at(),
        "message": verdict.diagnosis.as_ref().map(|_| &verdict.message),
        "spots": verdict.spots,
        "notes": verdict.notes,
        "figures": verdict.figures,
        "seconds": case.ran.map(|(seconds, _)| seconds),
        "seed": case.ran.map(|(_, seed)| seed),
        "output": if output.is_empty() { Value::Null } else { Value::String(output) },
    })
}
