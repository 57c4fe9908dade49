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
use crate::text::{self, warn};

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
        (None, Some(many)) => folders(course, many)?,
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
        report::to_github(*format, || class::markdown(&reports, self.points, self.isolation))?;
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

/// The submissions in a folder, by name. What else is there is told of.
///
/// # Errors
/// [`UsageError`] where it is no folder, or holds none.
pub fn folders(course: &Course, folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let shown_folder = handed_in::shown(folder.as_os_str());
    let usage = |why: &str| UsageError(format!("{shown_folder} {why}"));
    let entries = folder.read_dir().map_err(|error| usage(&format!("cannot be read: {error}")))?;
    let (mut folders, mut others) = (Vec::new(), Vec::new());
    for entry in entries {
        let path = entry?.path();
        if path.file_name().is_some_and(handed_in::is_passed_over) {
            continue;
        }
        if path.is_dir() { folders.push(path) } else { others.push(path) }
    }
    folders.sort();
    others.sort();
    if !others.is_empty() {
        warn(&format!("not graded, since they are no folders: {}", named(&others)));
    }
    ensure!(!folders.is_empty(), usage("holds no submission"));
    let is_part = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name == "exercises"
            || course.exercises.iter().any(|e| *e.folder == *name || *e.name == *name)
    };
    if folders.iter().all(is_part) || folders.iter().any(|path| path.ends_with("exercises")) {
        warn(&format!(
            "{shown_folder} seems to be one submission, and its folders are graded as one each: for \
             one, give `--submission {shown_folder}`"
        ));
    }
    Ok(folders)
}

/// How many of the files are named that are no submissions.
const NAMED: usize = 5;

fn named(others: &[PathBuf]) -> String {
    let mut named: Vec<String> = Vec::new();
    for path in others.iter().take(NAMED) {
        let name = handed_in::shown(path.file_name().unwrap_or_default());
        let leads_nowhere = !path.exists() && path.is_symlink();
        named.push(if leads_nowhere { format!("{name} (a link to nothing)") } else { name });
    }
    let more = others.len().saturating_sub(NAMED);
    if more > 0 {
        named.push(format!("{more} more"));
    }
    text::and(&named)
}

/// One submission; a fault of the grader's is its own outcome, and ends no other's grading.
fn grade(grading: &Grading<'_>, points: &Points, folder: &Path) -> Report {
    let progress = Progress::start("grading");
    let mut report = grading.grade(folder, &progress).unwrap_or_else(|error| {
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
            remarks: Vec::new(),
            isolation: grading.isolation(),
            report: None,
        };
        Report { submission: Some(submitted), ..report }
    });
    if let Some(folder_of_sources) = report.submission.as_ref().map(|s| s.folder.clone())
        && let Ok(room) = Room::make(grading.folder(), &handed_in::listed(folder))
    {
        let text = report::plain(&folder_of_sources, &report, points);
        let file = room.report(&grading.report_name());
        // A convenience: the report itself goes to standard output.
        let written = std::fs::write(&file, text).is_ok();
        report.wrote(written.then_some(file));
    }
    report
}
