//! Many submissions in one table: a row for each, a column for each exercise, and the points.

use comfy_table::{ContentArrangement, Table, presets};
use serde_json::{Value, json};
use streamlings_grade::supervise::Isolation;

use super::markdown::cell;
use super::{ExerciseReport, Report};
use crate::points::Points;
use crate::submission::handed_in::shown;
use crate::text;

/// What submissions are called that are none: the learner's own exercises.
const OWN: &str = "exercises";

fn name(report: &Report) -> &str {
    report.submission.as_ref().map_or(OWN, |submission| &submission.name)
}

fn words(report: &Report) -> Vec<String> {
    report.outcomes().map(|outcome| outcome.word().to_owned()).collect()
}

fn header(reports: &[&Report]) -> Vec<String> {
    let exercises = reports.first().into_iter().flat_map(|report| &report.exercises);
    let exercises = exercises.map(|exercise| format!("{:02}", exercise.number));
    ["submission".to_owned()].into_iter().chain(exercises).collect()
}

/// For the terminal.
pub fn human(reports: &[&Report], points: &Points) -> String {
    format!("{}\n", table(reports, points, |text| text.to_owned()))
}

/// In Markdown.
pub fn markdown(reports: &[&Report], points: &Points, isolation: Isolation) -> String {
    let mut out = format!("{}\n\nIsolation: {isolation}.\n", table(reports, points, cell));
    let remarks = reports.iter().flat_map(|report| {
        let submission = report.submission.iter();
        submission.flat_map(|s| s.remarks.iter().map(|remark| (&s.name, remark)))
    });
    for (index, (name, remark)) in remarks.enumerate() {
        let before = if index == 0 { "\n" } else { "" };
        out += &format!("{before}- {}: {}\n", cell(name), cell(remark));
    }
    out
}

/// Where the full report of each is.
pub fn full_reports(reports: &[&Report]) -> String {
    let paths = reports.iter().filter_map(|report| report.submission.as_ref()?.report.as_deref());
    let paths: Vec<String> = paths.map(|path| path.display().to_string()).collect();
    match &paths[..] {
        [] => String::new(),
        [one] => format!("Reports: {one}\n"),
        [first, rest @ ..] => format!("Reports: {first}, and {} more\n", rest.len()),
    }
}

fn table(reports: &[&Report], points: &Points, shown: impl Fn(&str) -> String) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::ASCII_MARKDOWN)
        .set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header(reports).into_iter().chain(["points".to_owned()]));
    for report in reports {
        let row = [shown(name(report))].into_iter().chain(words(report));
        table.add_row(row.chain([points.of_report(report).to_string()]));
    }
    table
}

/// One line for a submission that is done.
pub fn line(report: &Report, points: &Points, seconds: f64) -> String {
    let exercises = report.exercises.iter();
    let exercises: Vec<String> =
        exercises.map(|e| format!("{:02} {}", e.number, e.outcome)).collect();
    let score = points.of_report(report);
    let name = name(report);
    let line = format!("{name}: {}; {score} points ({seconds:.1} s)\n", exercises.join(", "));
    let remarks = report.submission.iter().flat_map(|submission| submission.remarks.clone());
    let said = nothing_found(report).into_iter().chain(remarks);
    line + &said
        .map(|said| text::wrapped(&format!("{name}: {said}"), "  ") + "\n")
        .collect::<String>()
}

/// How many files are named that were not used.
const NAMED: usize = 3;

/// What a submission has instead, if it has nothing where exercises are.
fn nothing_found(report: &Report) -> Option<String> {
    let submission = report.submission.as_ref()?;
    if !report.exercises.iter().all(ExerciseReport::is_not_handed_in) {
        return None;
    }
    let nothing = "nothing was found in the places where exercises are";
    let files = &submission.ignored;
    let named = files.iter().take(NAMED).map(|path| shown(path.as_os_str()));
    let named: Vec<String> = named.collect();
    Some(match files.len().saturating_sub(NAMED) {
        _ if files.is_empty() => nothing.to_owned(),
        0 => format!("{nothing}; not used: {}", named.join(", ")),
        more => format!("{nothing}; not used: {}, and {more} more", named.join(", ")),
    })
}

/// The table as a JSON document.
pub fn json(reports: &[&Report], points: &Points) -> Value {
    let row = |report: &&Report| {
        let outcomes = report.exercises.iter().map(|e| (e.name.clone(), json!(e.outcome)));
        json!({
            "submission": name(report),
            "outcomes": outcomes.collect::<serde_json::Map<String, Value>>(),
            "points": points.of_report(report),
        })
    };
    let rows: Vec<Value> = reports.iter().map(row).collect();
    json!({ "schema": super::json::SCHEMA, "class": rows })
}

/// As comma-separated values.
///
/// # Errors
/// None that is known of: it is written to memory.
pub fn csv(reports: &[&Report], points: &Points) -> anyhow::Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let more = ["points", "of", "open", "device"].map(str::to_owned);
    writer.write_record(header(reports).into_iter().chain(more))?;
    for report in reports {
        let score = points.of_report(report);
        let numbers = [score.earned, score.of, score.open].map(|number| number.to_string());
        let device = report.device_name().to_owned();
        let row = [plain(name(report))].into_iter().chain(words(report));
        writer.write_record(row.chain(numbers).chain([device]))?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

/// A name that no spreadsheet takes for a formula.
fn plain(name: &str) -> String {
    if name.starts_with(['=', '+', '-', '@']) { format!("'{name}") } else { name.to_owned() }
}
