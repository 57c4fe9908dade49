//! The report as JUnit XML: a suite for each exercise, a test for each case.
//!
//! The outcome's word is the `type` of a failure. "no device" is a skipped test and "grader error" an
//! error, since neither is a failure of the code.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Report as Document, TestCase, TestCaseStatus, TestSuite};
use streamlings_grade::Outcome;

use super::{CaseReport, ExerciseReport, Report};
use crate::points::Points;

/// The document for these reports; with points, each test has them as properties.
///
/// # Errors
/// Where XML cannot hold it.
pub fn document(reports: &[&Report], points: Option<&Points>) -> anyhow::Result<String> {
    let mut document = Document::new("streamlings");
    for report in reports {
        for exercise in &report.exercises {
            document.add_test_suite(suite(report, exercise, points));
        }
    }
    Ok(document.to_string()?.replace(|c| !is_xml(c), "\u{fffd}"))
}

/// Whether XML 1.0 has this character at all.
fn is_xml(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r') || c >= ' ' && !matches!(c, '\u{fffe}' | '\u{ffff}')
}

fn suite(report: &Report, exercise: &ExerciseReport, points: Option<&Points>) -> TestSuite {
    let label = exercise.label();
    let name = match &report.submission {
        Some(submission) => format!("{}: {label}", submission.name),
        None => label,
    };
    let mut suite = TestSuite::new(name);
    suite.add_property(("device", report.device_name()));
    if let Some(submission) = &report.submission {
        suite.add_property(("isolation", &*submission.isolation.to_string()));
    }
    suite.add_property(("outcome", exercise.outcome.word()));
    if let Some(points) = points {
        suite.add_property(("points", &*points.of_exercise(exercise).to_string()));
    }
    for case in &exercise.cases {
        suite.add_test_case(test(exercise, case, points));
    }
    suite
}

fn test(exercise: &ExerciseReport, case: &CaseReport, points: Option<&Points>) -> TestCase {
    let verdict = &case.verdict;
    let status = match verdict.outcome {
        Outcome::Passed => TestCaseStatus::success(),
        Outcome::NoDevice => TestCaseStatus::skipped(),
        // Nobody has to write it.
        Outcome::NotDone if case.optional => TestCaseStatus::skipped(),
        Outcome::GraderError => TestCaseStatus::non_success(NonSuccessKind::Error),
        _ => TestCaseStatus::non_success(NonSuccessKind::Failure),
    };
    let mut status = status;
    if verdict.outcome != Outcome::Passed {
        status.set_type(verdict.outcome.word()).set_message(verdict.message.as_str());
        if !matches!(status, TestCaseStatus::Skipped { .. }) {
            let rustc = exercise.rustc.as_deref().unwrap_or_default();
            let rustc = anstream::adapter::strip_str(rustc).to_string();
            status.set_description(format!("{verdict}\n{rustc}").trim_end());
        }
    }
    let mut test = TestCase::new(verdict.case.as_str(), status);
    test.set_classname(exercise.name.as_str());
    if let Some((seconds, seed)) = case.ran {
        test.set_time(Duration::from_secs_f64(seconds));
        test.add_property(("seed", &*seed.to_string()));
    }
    if let Some(points) = points {
        test.add_property(("points", &*points.of_case(&exercise.name, case).to_string()));
    }
    let output = case.output.text();
    if !output.is_empty() {
        test.set_system_out(output);
    }
    test
}
