//! `--submission` and `--submissions`: grades one folder, or a folder of them, and writes as it goes.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::ensure;
use streamlings_grade::supervise::Isolation;
use streamlings_grade::{Finding, diagnosis};
use streamlings_trace::Device;

use super::results::Results;
use super::room::Room;
use super::{Grading, handed_in};
use crate::cli::{CheckArguments, Format, Written};
use crate::commands::check;
use crate::course::{Course, Exercise};
use crate::exit::{Exit, UsageError};
use crate::grading::{Graded, Whose, supervisor};
use crate::points::Points;
use crate::progress::Progress;
use crate::report::{self, Report, Submitted, class};
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
        (Some(one), _) => {
            ensure!(one.is_dir(), UsageError(format!("there is no folder {}", one.display())));
            vec![one.clone()]
        }
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
    let run = ClassRun {
        points: shown,
        written: &arguments.written,
        jobs: arguments.jobs,
        device: grading.device(),
        isolation: grading.isolation(),
        results: Some(grading.results()),
        reports: Some(grading.folder().join("rooms/*").join(grading.report_name())),
    };
    grading.results().begin(folders.len() * grading.exercises.len());
    let grade = |folder: &PathBuf| grade(&grading, shown, folder);
    match &folders[..] {
        [one] if arguments.submission.is_some() => run.one(&course.root, &grade(one)),
        all => run.all(all, grade),
    }
}

/// What submissions are graded for, wherever they come from.
pub struct ClassRun<'a> {
    /// What cases are worth.
    pub points: &'a Points,
    /// How and where it is written.
    pub written: &'a Written,
    /// How many submissions are graded at a time.
    pub jobs: NonZeroUsize,
    /// What cases run on.
    pub device: Option<&'a Device>,
    /// What submissions are kept from.
    pub isolation: Isolation,
    /// What earlier runs have kept, where anything is.
    pub results: Option<&'a Results>,
    /// Where the full report of each submission is.
    pub reports: Option<PathBuf>,
}

impl ClassRun<'_> {
    /// Reports on a single submission.
    ///
    /// # Errors
    /// Where the report cannot be written.
    pub fn one(&self, root: &Path, report: &Report) -> anyhow::Result<Exit> {
        check::tell(root, report, Some(self.points), self.written)
    }

    /// Grades each submission, writes a line as it comes, and then the table.
    ///
    /// # Errors
    /// Where the table cannot be written.
    pub fn all<S: Sync>(
        &self,
        submissions: &[S],
        grade: impl Fn(&S) -> Report + Sync,
    ) -> anyhow::Result<Exit> {
        let progress = Progress::start("grading");
        progress.steps(submissions.len());
        let next = Mutex::new(submissions.iter());
        let done = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.get().min(submissions.len().max(1)) {
                scope.spawn(|| {
                    loop {
                        let Some(submission) = lock(&next).next() else { break };
                        let began = Instant::now();
                        let report = grade(submission);
                        let seconds = began.elapsed().as_secs_f64();
                        progress.step();
                        let mut done = lock(&done);
                        // Who reads the lines no more still gets the table's exit code.
                        let _ =
                            text::print(&self.as_it_comes(self.written.format, &report, seconds));
                        done.push((report, seconds));
                    }
                });
            }
        });
        drop(progress);
        let mut reports = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        let name = |report: &Report| report.submission.as_ref().map(|s| s.name.clone());
        reports.sort_by_key(|(report, _)| name(report));
        let timed = reports;
        let reports: Vec<&Report> = timed.iter().map(|(report, _)| report).collect();
        let Written { format, also } = self.written;
        text::print(&report::render_class(*format, &reports, self)?)?;
        if let Some(kept) = self.kept().filter(|_| *format != Format::Human) {
            anstream::eprintln!("{kept}");
        }
        report::to_files(also, |format| {
            let lines =
                timed.iter().map(|(report, seconds)| self.as_it_comes(format, report, *seconds));
            Ok(lines.collect::<String>() + &report::render_class(format, &reports, self)?)
        })?;
        report::to_github(*format, || class::markdown(&reports, self.points))?;
        // To have graded is what was asked for; only what could not be graded is a failure.
        let untold = reports.iter().flat_map(|report| report.outcomes());
        Ok(Exit::of_outcomes(untold.filter(|outcome| !outcome.is_about_the_code())))
    }

    /// What there is to say of what earlier runs have kept.
    pub fn kept(&self) -> Option<String> {
        self.results?.kept()
    }

    fn as_it_comes(&self, format: Format, report: &Report, seconds: f64) -> String {
        match format {
            Format::Human => class::line(report, self.points, seconds),
            Format::Json => format!("{}\n", report::json::document(report, Some(self.points))),
            Format::Github => report::github::annotations(report),
            Format::Junit | Format::Markdown | Format::Csv => String::new(),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The submissions in a folder, by name.
///
/// # Errors
/// [`UsageError`] where it is no folder, or holds none.
pub fn folders(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let usage = |why: &str| UsageError(format!("{} {why}", folder.display()));
    let entries = folder.read_dir().map_err(|error| usage(&format!("cannot be read: {error}")))?;
    let mut folders = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() && !path.file_name().is_some_and(handed_in::is_passed_over) {
            folders.push(path);
        }
    }
    ensure!(!folders.is_empty(), usage("holds no submission"));
    folders.sort();
    Ok(folders)
}

/// One submission; a fault of the grader's is its own outcome, and ends no other's grading.
fn grade(grading: &Grading<'_>, points: &Points, folder: &Path) -> Report {
    let progress = Progress::start("grading");
    let report = grading.grade(folder, &progress).unwrap_or_else(|error| {
        let finding = Finding::new(diagnosis::SETUP_FAILED, format!("{error:#}"));
        let exercises = grading.exercises.iter().map(|exercise| {
            let graded = Graded::all_as(grading.cases(exercise), &finding);
            graded.report(exercise, &Whose::Learner.package(exercise))
        });
        let exercises: Vec<_> = exercises.collect();
        let device = grading.device().cloned();
        let report = Report::new(grading.course, Whose::Learner, exercises, device, Vec::new());
        let submitted = Submitted {
            name: handed_in::shown(&handed_in::listed(folder)),
            folder: grading.course.root.clone(),
            ignored: Vec::new(),
            isolation: grading.isolation(),
        };
        Report { submission: Some(submitted), ..report }
    });
    if let Some(submission) = &report.submission
        && let Ok(room) = Room::make(grading.folder(), &handed_in::listed(folder))
    {
        let text = report::plain(&submission.folder, &report, points);
        // A convenience: the report itself goes to standard output.
        let _ = std::fs::write(room.report(&grading.report_name()), text);
    }
    report
}
