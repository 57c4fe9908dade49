//! What a check found, before it is written in one format or another.

mod backtrace;
pub mod class;
pub mod github;
pub mod human;
pub mod json;
pub mod junit;
pub mod markdown;
mod snippet;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};
use streamlings_grade::supervise::{Captured, CaseRun, Isolation};
use streamlings_grade::{Outcome, Verdict, diagnosis};
use streamlings_trace::Device;

use crate::cli::{Also, Format, check_output};
use crate::course::{Course, Exercise};
use crate::criterion::{self, Criterion};
use crate::exit::UsageError;
use crate::grading::Whose;
use crate::points::Points;
use crate::submission::class::ClassRun;

/// The report in one format; `root` is the workspace whose files it names.
///
/// # Errors
/// Where the format cannot hold it.
pub fn render(
    format: Format,
    root: &Path,
    report: &Report,
    points: Option<&Points>,
) -> anyhow::Result<String> {
    let root = report.submission.as_ref().map_or(root, |submission| &submission.folder);
    Ok(match format {
        Format::Human => human_with_points(root, report, points),
        Format::Json => format!("{:#}\n", json::document(report, points)),
        Format::Junit => junit::document(&[report], points)?,
        Format::Github => {
            let isolation = report.submission.as_ref().map(|s| github::isolation(s.isolation));
            github::annotations(report) + &isolation.unwrap_or_default()
        }
        Format::Markdown => markdown::render(report, points),
        Format::Csv => class::csv(&[report], points.unwrap_or(&Points::default()))?,
    })
}

fn human_with_points(root: &Path, report: &Report, points: Option<&Points>) -> String {
    let points = points.map(|points| points.of_report(report));
    let points = points.map_or(String::new(), |score| format!("Points: {score}\n"));
    human::render(root, report) + &points
}

/// The full report on a submission whose files are there, for a file: without colours.
pub fn plain(root: &Path, report: &Report, points: &Points) -> String {
    let text = human_with_points(root, report, Some(points));
    anstream::adapter::strip_str(&text).to_string()
}

/// The end of a report on many submissions, behind what was written of each as it came.
///
/// # Errors
/// Where the format cannot hold it.
pub fn render_class(
    format: Format,
    reports: &[&Report],
    run: &ClassRun<'_>,
) -> anyhow::Result<String> {
    let points = run.points;
    Ok(match format {
        Format::Human => {
            let kept = run.kept().map(|kept| kept + "\n");
            format!(
                "\n{}\nDevice: {}\n{}Isolation: {}\n{}{}",
                class::human(reports, points),
                human::device_name(run.device),
                human::of_device(reports),
                run.isolation,
                kept.unwrap_or_default(),
                class::full_reports(reports),
            )
        }
        Format::Json => format!("{}\n", class::json(reports, points)),
        Format::Junit => junit::document(reports, Some(points))?,
        Format::Github => github::isolation(run.isolation),
        Format::Markdown => class::markdown(reports, points, run.isolation),
        Format::Csv => class::csv(reports, points)?,
    })
}

/// Sees to it, before anything is graded, that the files can be written.
///
/// # Errors
/// Where there is no folder for one, it is a folder itself, or two reports would go into it.
pub fn check_files(also: &[Also]) -> Result<(), UsageError> {
    let mut places: Vec<PathBuf> = Vec::new();
    for Also { format: _, file } in also {
        check_output("--also", file)?;
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let whole = folder.join(file.file_name().unwrap_or_default());
        // One report would overwrite the other; into a pipe or a device both go.
        let is_plain = !file.exists() || file.is_file();
        if is_plain && places.contains(&whole) {
            let shown = file.display();
            return Err(UsageError(format!("--also: {shown} is given twice; give each a file")));
        }
        places.push(whole);
    }
    Ok(())
}

/// Writes a report to files, in plain text.
///
/// # Errors
/// Where one cannot be written, or the format cannot hold the report.
pub fn to_files(
    also: &[Also],
    render: impl Fn(Format) -> anyhow::Result<String>,
) -> anyhow::Result<()> {
    for Also { format, file } in also {
        let text = anstream::adapter::strip_str(&render(*format)?).to_string();
        std::fs::write(file, text)
            .with_context(|| format!("{} cannot be written", file.display()))?;
    }
    Ok(())
}

/// For GitHub, adds this text to the summary of the job that runs.
///
/// # Errors
/// Where the summary's file cannot be written.
pub fn to_github(format: Format, text: impl FnOnce() -> String) -> std::io::Result<()> {
    match std::env::var_os("GITHUB_STEP_SUMMARY") {
        Some(path) if format == Format::Github => {
            let mut file = std::fs::File::options().append(true).create(true).open(path)?;
            file.write_all(text().as_bytes())
        }
        _ => Ok(()),
    }
}

/// One check.
#[derive(Clone, Debug)]
pub struct Report {
    /// What the cases ran on; `None` if nothing ran or there is no device: see
    /// [`Report::device_name`].
    pub device: Option<Device>,
    /// What the driver had to say about the choice of the device.
    pub remarks: Vec<String>,
    /// What was asked for, in the course's order.
    pub exercises: Vec<ExerciseReport>,
    /// The completion criterion.
    pub criterion: Criterion,
    /// Whose code it was.
    pub whose: Whose,
    /// How many exercises the course has.
    pub total: usize,
    /// The submission, if it is one that was graded.
    pub submission: Option<Submitted>,
    /// What the learner goes on with once all that was checked has passed.
    pub next: Option<Exercise>,
    /// Whether the code was packed elsewhere, and cannot be changed here.
    pub packed: bool,
}

/// A submission, for the report.
#[derive(Clone, Debug)]
pub struct Submitted {
    /// Its name.
    pub name: String,
    /// Where its sources were put to be graded; paths in verdicts are within this folder.
    pub folder: PathBuf,
    /// What differs from the grader's own checkout and was not used.
    pub ignored: Vec<PathBuf>,
    /// What there is to say of where its exercises were.
    pub remarks: Vec<String>,
    /// What it was kept from.
    pub isolation: Isolation,
    /// Where its full report was written, if it was.
    pub report: Option<PathBuf>,
}

impl Report {
    /// On exercises of this course; of no submission.
    pub fn new(
        course: &Course,
        whose: Whose,
        exercises: Vec<ExerciseReport>,
        device: Option<Device>,
        remarks: Vec<String>,
    ) -> Report {
        let names: Vec<&str> = course.exercises.iter().map(|e| e.name.as_str()).collect();
        let criterion = criterion::of(whose, &names, &exercises, device.as_ref());
        let total = course.exercises.len();
        Report {
            device,
            remarks,
            exercises,
            criterion,
            whose,
            total,
            submission: None,
            next: None,
            packed: false,
        }
    }

    /// The device's name, for people. "No device" is a trouble of the machine's; what does not compile
    /// has used none.
    pub fn device_name(&self) -> &str {
        let cases = self.exercises.iter().flat_map(|exercise| &exercise.cases);
        let mut outcomes = cases.map(|case| case.verdict.outcome);
        match &self.device {
            Some(device) => &device.name,
            None if outcomes.any(|outcome| outcome == Outcome::NoDevice) => human::NO_DEVICE,
            None => "not used",
        }
    }

    /// Where the full report of a submission has gone.
    pub fn wrote(&mut self, file: Option<PathBuf>) {
        if let Some(submission) = &mut self.submission {
            submission.report = file;
        }
    }

    /// Why there is no device, as the first case says that wanted one.
    pub fn why_no_device(&self) -> Option<&str> {
        let mut cases = self.exercises.iter().flat_map(|exercise| &exercise.cases);
        let found = cases.find(|case| case.verdict.outcome == Outcome::NoDevice);
        found.map(|case| case.verdict.message.as_str())
    }

    /// The exercises of which a submission has no sources.
    pub fn not_handed_in(&self) -> Vec<String> {
        let missing = self.exercises.iter().filter(|exercise| exercise.is_not_handed_in());
        missing.map(ExerciseReport::label).collect()
    }

    /// The outcomes of the exercises.
    pub fn outcomes(&self) -> impl Iterator<Item = Outcome> {
        self.exercises.iter().map(|exercise| exercise.outcome)
    }
}

/// One exercise.
#[derive(Clone, Debug)]
pub struct ExerciseReport {
    /// Its number.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// What it teaches.
    pub title: String,
    /// The graded package's folder, within the workspace.
    pub folder: PathBuf,
    /// That of its cases.
    pub outcome: Outcome,
    /// Its cases, in order.
    pub cases: Vec<CaseReport>,
    /// What rustc said, if there is no grade binary.
    pub rustc: Option<String>,
    /// What rustc warns of in the exercise's own library, as it renders it. (Of a submission, nothing.)
    pub warnings: Vec<String>,
}

impl ExerciseReport {
    /// `01 async_launch`.
    pub fn label(&self) -> String {
        format!("{:02} {}", self.number, self.name)
    }

    /// Whether it is of a submission that has no sources for it.
    pub fn is_not_handed_in(&self) -> bool {
        let code = Some(diagnosis::NOT_HANDED_IN.code);
        let mut cases = self.cases.iter();
        cases.len() > 0 && cases.all(|case| case.verdict.diagnosis.as_deref() == code)
    }
}

/// One case.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CaseReport {
    /// How it ended.
    pub verdict: Verdict,
    /// What it wrote.
    pub output: Captured,
    /// How long it ran, in seconds, and with which seed, if it did.
    pub ran: Option<(f64, u64)>,
    /// Whether the exercise passes without it.
    pub optional: bool,
}

impl CaseReport {
    /// A case that could not be run.
    pub fn not_run(verdict: Verdict) -> CaseReport {
        CaseReport { verdict, output: Captured::default(), ran: None, optional: false }
    }

    /// A case that was.
    pub fn of_run(run: CaseRun) -> CaseReport {
        let ran = Some((run.elapsed.as_secs_f64(), run.seed));
        CaseReport { verdict: run.verdict, output: run.output, ran, optional: false }
    }

    /// The outcomes that decide about the exercise.
    pub fn required(cases: &[CaseReport]) -> impl Iterator<Item = Outcome> {
        cases.iter().filter(|case| !case.optional).map(|case| case.verdict.outcome)
    }
}
