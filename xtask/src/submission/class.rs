//! `--submission` and `--submissions`: grades one folder, or a folder of them, and writes as it goes.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, ensure};
use streamlings_grade::{Finding, diagnosis};

use super::Grading;
use super::room::Room;
use crate::cli::{CheckArguments, Format};
use crate::course::{Course, Exercise};
use crate::criterion;
use crate::exit::Exit;
use crate::grading::{Graded, Whose, supervisor};
use crate::points::Points;
use crate::progress::Progress;
use crate::report::{self, Report, Submitted, class, human};
use crate::text;

/// Grades what the arguments name.
///
/// # Errors
/// Where the grader's own checkout does not compile, or a folder is not there.
pub fn run(
    course: &Course,
    exercises: Vec<&Exercise>,
    points: Option<&Points>,
    arguments: &CheckArguments,
) -> anyhow::Result<Exit> {
    let folders = match (&arguments.submission, &arguments.submissions) {
        (Some(one), _) => vec![one.clone()],
        (None, Some(many)) => folders(many)?,
        (None, None) => Vec::new(),
    };
    let supervisor = supervisor(&arguments.run);
    let grading = Grading::prepare(course, exercises, supervisor, arguments.fresh)?;
    let default = Points::default();
    let shown = points.unwrap_or(&default);
    for exercise in &grading.exercises {
        shown.check(&exercise.name, grading.cases(exercise))?;
    }
    if arguments.submission.is_some() {
        let report = grade(&grading, &folders[0]);
        text::print(&report::render(arguments.format, &course.root, &report, Some(shown))?)?;
        report::to_github(arguments.format, || {
            crate::report::markdown::render(&report, Some(shown))
        })?;
        return Ok(Exit::of_outcomes(report.outcomes()));
    }

    let progress = Progress::start("grading");
    progress.steps(folders.len());
    let next = Mutex::new(folders.iter());
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..arguments.jobs.get().min(folders.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let Some(folder) = lock(&next).next() else { break };
                    let began = Instant::now();
                    let report = grade(&grading, folder);
                    let seconds = began.elapsed().as_secs_f64();
                    progress.step();
                    let mut done = lock(&done);
                    // Who reads the lines no more still gets the table's exit code.
                    let _ = text::print(&as_it_comes(arguments.format, &report, shown, seconds));
                    done.push(report);
                }
            });
        }
    });
    drop(progress);
    let mut reports = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    let name = |report: &Report| report.submission.as_ref().map(|s| s.name.clone());
    reports.sort_by_key(name);
    let reports: Vec<&Report> = reports.iter().collect();
    text::print(&report::render_class(arguments.format, &reports, shown, &grading)?)?;
    report::to_github(arguments.format, || class::markdown(&reports, shown))?;
    // To have graded is what was asked for; only what could not be graded is a failure.
    let untold = reports.iter().flat_map(|report| report.outcomes());
    Ok(Exit::of_outcomes(untold.filter(|outcome| !outcome.is_about_the_code())))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The folders of a folder, by name.
fn folders(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries =
        folder.read_dir().with_context(|| format!("{} cannot be read", folder.display()))?;
    let mut folders = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if path.is_dir() && !hidden {
            folders.push(path);
        }
    }
    ensure!(!folders.is_empty(), "{} holds no submission", folder.display());
    folders.sort();
    Ok(folders)
}

/// One submission; a fault of the grader's is its own outcome, and ends no other's grading.
fn grade(grading: &Grading<'_>, folder: &Path) -> Report {
    let progress = Progress::start("grading");
    let report = grading.grade(folder, &progress).unwrap_or_else(|error| {
        let finding = Finding::new(diagnosis::SETUP_FAILED, format!("{error:#}"));
        let exercises = grading.exercises.iter().map(|exercise| {
            let graded = Graded::all_as(grading.cases(exercise), &finding);
            graded.report(exercise, &Whose::Learner.package(exercise))
        });
        let exercises: Vec<_> = exercises.collect();
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Report {
            device: grading.device().cloned(),
            remarks: Vec::new(),
            criterion: criterion::of(Whose::Learner, &[], &exercises, grading.device()),
            exercises,
            whose: Whose::Learner,
            total: grading.course.exercises.len(),
            submission: Some(Submitted {
                name,
                folder: grading.course.root.clone(),
                ignored: Vec::new(),
                isolation: grading.isolation(),
            }),
        }
    });
    if let Some(submission) = &report.submission
        && let Ok(room) = Room::make(grading.folder(), &submission.name)
    {
        let text = human::render(&submission.folder, &report);
        // A convenience: the report itself goes to standard output.
        let _ = std::fs::write(room.report(), anstream::adapter::strip_str(&text).to_string());
    }
    report
}

fn as_it_comes(format: Format, report: &Report, points: &Points, seconds: f64) -> String {
    match format {
        Format::Human => class::line(report, points, seconds),
        Format::Json => format!("{}\n", report::json::document(report, Some(points))),
        Format::Github => report::github::annotations(report),
        Format::Junit | Format::Markdown | Format::Csv => String::new(),
    }
}
