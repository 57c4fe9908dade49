//! The report as GitHub Actions takes it: an annotation at the line of each case that did not pass, and one for all
//! that was not handed in.
//!
//! The summary of the job is the [Markdown report](super::markdown), appended to the file that
//! `GITHUB_STEP_SUMMARY` names.

use streamlings_grade::supervise::Isolation;
use streamlings_grade::{Outcome, diagnosis};

use super::{CaseReport, ExerciseReport, Report};

/// The annotations, a line each.
pub fn annotations(report: &Report) -> String {
    let mut out = String::new();
    let missing = report.not_handed_in();
    if let Some(submission) = &report.submission {
        let name = &submission.name;
        for remark in &submission.remarks {
            out += &format!("::notice title={}::{}\n", property(name), data(remark));
        }
        if !missing.is_empty() {
            let title = property(&format!("{name}: not handed in"));
            out += &format!("::error title={title}::{}\n", data(&missing.join(", ")));
        }
    }
    for exercise in report.exercises.iter().filter(|exercise| !exercise.is_not_handed_in()) {
        for case in exercise.cases.iter().filter(|case| case.verdict.outcome != Outcome::Passed) {
            out += &annotation(report, exercise, case);
        }
    }
    out
}

/// What the kernel kept submissions from.
pub fn isolation(isolation: Isolation) -> String {
    format!("::notice title=Isolation::{}\n", data(&isolation.to_string()))
}

fn annotation(report: &Report, exercise: &ExerciseReport, case: &CaseReport) -> String {
    let verdict = &case.verdict;
    let kind = match verdict.outcome {
        Outcome::NoDevice => "notice",
        Outcome::NotDone if case.optional => return String::new(),
        Outcome::GraderError => "warning",
        _ => "error",
    };
    let submission = report.submission.as_ref();
    let whose = submission.map_or(String::new(), |submission| format!("{}: ", submission.name));
    let outcome = verdict.outcome.word();
    let title = format!("{whose}{} {}: {outcome}", exercise.label(), verdict.case);
    // Files of a submission are not those of the repository.
    let place = match verdict.at().filter(|_| submission.is_none()) {
        Some(at) => format!("file={},line={},", property(&at.path), at.line),
        None => String::new(),
    };
    let next = verdict.diagnosis.as_deref().and_then(diagnosis::find).map_or("", |d| d.next);
    let message = data(format!("{}\n{next}", verdict.message).trim_end());
    format!("::{kind} {place}title={}::{message}\n", property(&title))
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
