//! Many submissions in one table: a row for each, a column for each exercise, and the points.

use comfy_table::{ContentArrangement, Table, presets};
use serde_json::{Value, json};
use streamlings_grade::diagnosis;

use super::Report;
use super::markdown::cell;
use crate::points::Points;

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
pub fn markdown(reports: &[&Report], points: &Points) -> String {
    format!("{}\n", table(reports, points, cell))
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
    line + &nothing_found(report).map_or(String::new(), |why| format!("{name}: {why}\n"))
}

/// How many files are named that were not used.
const NAMED: usize = 3;

/// What a submission has instead, if it has nothing where exercises are.
fn nothing_found(report: &Report) -> Option<String> {
    let submission = report.submission.as_ref()?;
    let mut cases = report.exercises.iter().flat_map(|exercise| &exercise.cases);
    let is_missing = |code: Option<&str>| code == Some(diagnosis::NOT_HANDED_IN.code);
    if !cases.all(|case| is_missing(case.verdict.diagnosis.as_deref())) {
        return None;
    }
    let nothing = "nothing was found in the places where exercises are";
    let files = &submission.ignored;
    let named = files.iter().take(NAMED).map(|path| path.display().to_string());
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
