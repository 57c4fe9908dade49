//! `cargo xtask bench`: runs the programs that measure, times `check` and an edit, and prints one table.
//!
//! A program that measures is an example that prints JSON objects, one a line:
//! `{"what", "figure", "unit", "target", "against", "met"}`, where `met` is a boolean, or null for a
//! figure without a target. Other lines are passed on.

mod edit;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, ensure};
use comfy_table::{ContentArrangement, Table, presets};
use serde::Deserialize;

use crate::course::Course;
use crate::exit::Exit;
use crate::progress::Progress;
use crate::text::WIDTH;

/// The programs: package and example.
const PROGRAMS: &[(&str, &str)] = &[
    ("streamlings", "bench_driver"),
    ("streamlings-trace", "order_rate"),
    ("streamlings-tensor", "bench_allocator"),
];

/// What `check --solutions` may take for the whole course, in seconds.
const CHECK_TARGET: f64 = 15.0;
/// How often it is timed.
const CHECK_RUNS: usize = 3;

/// One figure.
#[derive(Clone, Debug, Deserialize)]
struct Row {
    what: String,
    figure: f64,
    unit: String,
    target: String,
    against: String,
    met: Option<bool>,
}

/// Runs every program and prints its figures.
///
/// # Errors
/// Where a program cannot be run, or ends badly.
pub fn run(root: &Path) -> anyhow::Result<Exit> {
    let progress = Progress::start("measuring");
    let mut rows = Vec::new();
    let mut rest = String::new();
    for (package, example) in PROGRAMS {
        progress.say(format!("building and running {example}"));
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .current_dir(root)
            .args(["run", "--quiet", "--release", "--package", package, "--example", example])
            .stdin(Stdio::null())
            .output()
            .context("cargo could not be run")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{example} failed:\n{said}");
        rest.push_str(&said);
        let (figures, others) = read(&String::from_utf8_lossy(&output.stdout));
        rows.extend(figures);
        rest.push_str(&others);
    }
    progress.say("checking the solutions");
    rows.push(time_check(root)?);
    progress.say("editing and checking a copy");
    rows.extend(edit::time_edits(root)?);
    drop(progress);
    print!("{rest}");
    println!("{}", table(&rows));
    println!("machine: {}", machine());
    let missed = rows.iter().filter(|row| row.met == Some(false)).count();
    println!("{} figures, {missed} off target", rows.len());
    Ok(if missed == 0 { Exit::Success } else { Exit::Unsolved })
}

/// Times `check --solutions`, built, on the emulated device.
fn time_check(root: &Path) -> anyhow::Result<Row> {
    let check = || -> anyhow::Result<f64> {
        let began = Instant::now();
        let output = Command::new(std::env::current_exe()?)
            .args(["check", "--solutions", "--device", "emulated", "--workspace"])
            .arg(root)
            .stdin(Stdio::null())
            .output()?;
        let seconds = began.elapsed().as_secs_f64();
        let said = [&*output.stdout, &*output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        ensure!(output.status.success(), "the solutions do not pass:\n{said}");
        Ok(seconds)
    };
    // The first one builds.
    check()?;
    let mut seconds = (0..CHECK_RUNS).map(|_| check()).collect::<anyhow::Result<Vec<f64>>>()?;
    let figure = median(&mut seconds);
    let count = Course::read(root)?.exercises.len();
    Ok(Row {
        what: format!("check --solutions, built, emulated, {count} exercises"),
        figure,
        unit: "s".to_owned(),
        target: format!("at most {CHECK_TARGET}"),
        against: String::new(),
        met: Some(figure <= CHECK_TARGET),
    })
}

/// The middle one.
fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// The figures among a program's lines, and its other lines.
fn read(text: &str) -> (Vec<Row>, String) {
    let mut rows = Vec::new();
    let mut others = String::new();
    for line in text.lines() {
        match serde_json::from_str(line) {
            Ok(row) => rows.push(row),
            Err(_) => others.push_str(&format!("{line}\n")),
        }
    }
    (rows, others)
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::ASCII_MARKDOWN)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH as u16)
        .set_header(["what", "figure", "target", "measured against", "met"]);
    for row in rows {
        let met = match row.met {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "",
        };
        let figure = format!("{} {}", significant(row.figure), row.unit);
        table.add_row([&row.what, &figure, &row.target, &row.against, met]);
    }
    table
}

/// Three significant digits.
fn significant(value: f64) -> String {
    let digits = match value.abs() {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}

/// This machine, in a line.
fn machine() -> String {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or("unknown processor", |(_, model)| model.trim());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{model}, {cores} cores, {}", std::env::consts::OS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_become_one_table() {
        let (rows, others) = read(concat!(
            r#"{"what":"enqueue of an empty kernel","figure":1.234,"unit":"us","#,
            r#""target":"at most 2","against":"a real launch: 3.6 us on an H200","met":true}"#,
            "\nsomething else\n",
            r#"{"what":"event time of a 5 ms kernel","figure":161.2,"unit":"us off","#,
            r#""target":"at most 50","against":"the kernel's own clock","met":false}"#,
        ));
        assert_eq!(others, "something else\n");
        insta::assert_snapshot!(table(&rows));
    }
}
