//! The report as one JSON document, for programs.
//!
//! `schema` is raised when a field changes its meaning or goes; fields may be added under the same
//! schema.

use serde_json::{Value, json};

use super::{CaseReport, ExerciseReport, Report};

/// The version of the document.
pub const SCHEMA: u32 = 1;

/// The document.
pub fn document(report: &Report) -> Value {
    let device = match &report.device {
        Some(device) => json!({ "kind": device.kind, "name": device.name }),
        None => json!({ "kind": "none", "name": "no device" }),
    };
    json!({
        "schema": SCHEMA,
        "device": device,
        "exercises": report.exercises.iter().map(exercise).collect::<Vec<_>>(),
        "criterion": report.criterion,
    })
}

fn exercise(exercise: &ExerciseReport) -> Value {
    json!({
        "name": exercise.name,
        "number": exercise.number,
        "title": exercise.title,
        "outcome": exercise.outcome,
        "cases": exercise.cases.iter().map(case).collect::<Vec<_>>(),
        "rustc": exercise.rustc.as_deref().map(|text| anstream::adapter::strip_str(text).to_string()),
    })
}

fn case(case: &CaseReport) -> Value {
    let verdict = &case.verdict;
    let output = case.output.text();
    json!({
        "name": verdict.case,
        "outcome": verdict.outcome,
        "optional": case.optional,
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
