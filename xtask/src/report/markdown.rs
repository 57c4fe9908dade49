//! The report in Markdown: one table, a row for each case.

use std::fmt::Write;

use streamlings_grade::Outcome;

use super::Report;
use super::human::NO_DEVICE;
use crate::points::Points;
use crate::submission::handed_in::shown;

/// The report; with points, in a column of their own and in all.
pub fn render(report: &Report, points: Option<&Points>) -> String {
    let mut out = String::new();
    let title = report.submission.as_ref().map_or("streamlings", |submission| &submission.name);
    let solved = report.outcomes().filter(|outcome| *outcome == Outcome::Passed).count();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "## {}\n", cell(title));
    let _ = write!(out, "{solved} of {} exercises solved", report.exercises.len());
    if let Some(points) = points {
        let _ = write!(out, ", {} points", points.of_report(report));
    }
    let on = match (&report.device, report.device_name()) {
        (Some(device), _) => format!(", on {}", cell(&device.name)),
        (None, NO_DEVICE) => format!(", {NO_DEVICE}"),
        // Nothing ran.
        (None, _) => String::new(),
    };
    let _ = writeln!(out, "{on}.\n");
    if let Some(submission) = &report.submission {
        let _ = writeln!(out, "Isolation: {}.\n", submission.isolation);
        for remark in &submission.remarks {
            let _ = writeln!(out, "Note: {}.\n", cell(remark));
        }
        if !submission.ignored.is_empty() {
            let files = submission
                .ignored
                .iter()
                .take(12)
                .map(|path| format!("`{}`", shown(path.as_os_str())));
            let files: Vec<String> = files.collect();
            let more = match submission.ignored.len().saturating_sub(files.len()) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let _ = writeln!(out, "Not used: {}{more}.\n", files.join(", "));
        }
    }
    let header = if points.is_some() { " points |" } else { "" };
    let rule = if points.is_some() { "---:|" } else { "" };
    let _ = writeln!(out, "| exercise | case | outcome |{header} what happened |");
    let _ = writeln!(out, "|---|---|---|{rule}---|");
    for exercise in &report.exercises {
        for case in &exercise.cases {
            let verdict = &case.verdict;
            let earned = points.map_or(String::new(), |points| {
                format!(" {} |", points.of_case(&exercise.name, case))
            });
            let optional = if case.optional { " (optional)" } else { "" };
            let at = verdict.at().map_or(String::new(), |at| format!(" (`{at}`)"));
            let _ = writeln!(
                out,
                "| {} | {}{optional} | {} |{earned} {}{at} |",
                exercise.label(),
                cell(&verdict.case),
                verdict.outcome,
                cell(&verdict.message),
            );
        }
    }
    out
}

/// Text that stays within its cell, and is not taken for HTML.
pub fn cell(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('|', "\\|")
        .replace('<', "&lt;")
        .replace(['\n', '\r'], " ")
        .trim()
        .to_owned()
}
