//! Many submissions in one table: a row for each, a column for each exercise, and the points.

use comfy_table::{ContentArrangement, Table, presets};
use serde_json::{Value, json};

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
    format!("{}: {}; {score} points ({seconds:.1} s)\n", name(report), exercises.join(", "))
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
