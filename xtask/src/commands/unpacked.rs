//! `./check` of a bundle: grades what lies beside this program.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, ensure};
use streamlings_grade::supervise::{Isolation, Supervisor, isolation};
use streamlings_grade::{Finding, diagnosis};
use streamlings_trace::Device;

use super::check;
use crate::bundle::scratch::Scratch;
use crate::bundle::unpacked::Unpacked;
use crate::bundle::{Content, Member, PROBE, PROGRAM, PROGRAMS, RUNNING};
use crate::cli::BundledCheck;
use crate::course::{Course, Exercise};
use crate::exit::{Exit, UsageError};
use crate::grading::{self, Graded, Part, Whose, grade_parts, supervisor};
use crate::points::Points;
use crate::progress::Progress;
use crate::report::{self, Report, Submitted};
use crate::submission::class::ClassRun;
use crate::submission::disk;
use crate::submission::kit::conditions;
use crate::submission::results::Results;
use crate::submission::room::Room;
use crate::text::warn;

/// The folders in which programs run begin like this, among the system's temporary ones.
const ROOMS: &str = "streamlings-rooms-";

/// The folders that are written while a class is graded.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn folders() -> MutexGuard<'static, Vec<PathBuf>> {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes out what a grading has written beside its reports, when it is interrupted.
pub fn interrupt() {
    let folders = folders();
    for folder in folders.iter() {
        // A program may be put together right now, which gives the folder one file more.
        let _gone = (0..10).any(|_| std::fs::remove_dir_all(folder).is_ok() || !folder.exists());
    }
    // From here on nothing is begun.
    std::mem::forget(folders);
}

/// Grades what was asked for, and writes the report to standard output.
///
/// # Errors
/// Where the bundle is not whole, or has not what was asked for.
pub fn run(folder: &Path, arguments: &BundledCheck) -> anyhow::Result<Exit> {
    report::check_files(&arguments.written.also)?;
    let bundle = Unpacked::open(folder)?;
    if let [program, file] = &arguments.put_together[..] {
        bundle.put_together(&program.to_string_lossy(), file)?;
        return Ok(Exit::Success);
    }
    let course = Course::read(&folder.join("course"))?;
    let points = arguments.points.as_ref().map(|file| Points::read(file, &course)).transpose()?;
    match &bundle.manifest.content {
        Content::Own { whose, exercises } => {
            let of_class = !arguments.submission.is_empty()
                || arguments.share.is_some()
                || arguments.fresh
                || arguments.reports.is_some();
            let why = "this bundle holds no submissions, but the exercises of one checkout";
            ensure!(!of_class, UsageError(why.to_owned()));
            let selected = select(&course, &arguments.names, exercises)?;
            let parts = selected.iter();
            let parts = parts.map(|(exercise, part)| (*exercise, in_bundle(folder, part)));
            let parts: Vec<(&Exercise, Part)> = parts.collect();
            verify(&bundle, selected.iter().map(|(_, part)| *part))?;
            let mut report = grade_parts(&course, &parts, *whose, &supervisor(&arguments.run));
            report.packed = true;
            check::check_points(points.as_ref(), &report)?;
            check::tell(&course.root, &report, points.as_ref(), &arguments.written)
        }
        Content::Class { cases, submissions, .. } => {
            let exercises = select(&course, &arguments.names, cases)?;
            let members = members(submissions, arguments)?;
            let parts = members.iter().flat_map(|member| {
                exercises.iter().filter_map(|(exercise, _)| member.exercises.get(&exercise.name))
            });
            verify(&bundle, parts)?;
            let points = points.unwrap_or_default();
            for (exercise, cases) in &exercises {
                points.check(&exercise.name, cases)?;
            }
            grade_class(&bundle, &course, &exercises, &members, &points, arguments)
        }
    }
}

/// What the bundle has for these exercises; for all that it has without names.
fn select<'a, T>(
    course: &'a Course,
    names: &[String],
    packed: &'a BTreeMap<String, T>,
) -> anyhow::Result<Vec<(&'a Exercise, &'a T)>> {
    let mut selected = Vec::new();
    for exercise in course.select(names)? {
        match packed.get(&exercise.name) {
            Some(part) => selected.push((exercise, part)),
            None if names.is_empty() => {}
            None => {
                let known: Vec<&str> = packed.keys().map(String::as_str).collect();
                let why = format!("has no {}; it has {}", exercise.label(), known.join(", "));
                return Err(UsageError(format!("this bundle {why}")).into());
            }
        }
    }
    Ok(selected)
}

/// The submissions that were asked for.
fn members<'a>(all: &'a [Member], arguments: &BundledCheck) -> Result<Vec<&'a Member>, UsageError> {
    for name in &arguments.submission {
        if !all.iter().any(|member| member.name == *name) {
            return Err(UsageError(format!("this bundle has no submission `{name}`")));
        }
    }
    let wanted = |place: usize, member: &Member| {
        let named = arguments.submission.is_empty() || arguments.submission.contains(&member.name);
        named && arguments.share.is_none_or(|share| share.has(place))
    };
    let members = all.iter().enumerate().filter(|(place, member)| wanted(*place, member));
    Ok(members.map(|(_, member)| member).collect())
}

/// A part with the path of its program as it is on this machine.
fn in_bundle(folder: &Path, part: &Part) -> Part {
    match part {
        Part::Program(path) => Part::Program(folder.join(path)),
        Part::Settled(graded) => Part::Settled(graded.clone()),
    }
}

/// Sees to it that what is about to run, and what reports show, is what was packed.
fn verify<'a>(bundle: &Unpacked, parts: impl IntoIterator<Item = &'a Part>) -> anyhow::Result<()> {
    let programs: Vec<&str> = parts
        .into_iter()
        .filter_map(|part| match part {
            Part::Program(path) => path.to_str(),
            Part::Settled(_) => None,
        })
        .collect();
    let files: BTreeSet<&str> =
        programs.iter().flat_map(|program| bundle.files_of(program)).collect();
    bundle.verify(|path| {
        let is_program = path.starts_with(PROGRAMS) && path != PROBE;
        // This program has come so far already.
        path != PROGRAM && (!is_program || files.contains(path))
    })
}

fn grade_class(
    bundle: &Unpacked,
    course: &Course,
    exercises: &[(&Exercise, &Vec<String>)],
    members: &[&Member],
    points: &Points,
    arguments: &BundledCheck,
) -> anyhow::Result<Exit> {
    let supervisor = supervisor(&arguments.run);
    let (device, remarks) = grading::probe(&bundle.folder.join(PROBE), &supervisor);
    let isolation = isolation().context("a case cannot be confined")?;
    let reports = arguments.reports.as_deref();
    if let Some(folder) = reports {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("{} cannot be written", folder.display()))?;
    }
    let conditions = conditions(&supervisor, device.as_ref());
    // Where nothing can be written, nothing is kept.
    let fingerprint = bundle.fingerprint(&conditions)?;
    let results = Results::open(&bundle.folder, &fingerprint, arguments.fresh).ok();
    if let Some(results) = &results {
        results.begin(members.len() * exercises.len());
    }
    let run = ClassRun {
        points,
        written: &arguments.written,
        jobs: arguments.jobs,
        device: device.as_ref(),
        isolation,
        results: results.as_ref(),
    };
    let rooms = Scratch::make(&std::env::temp_dir(), ROOMS)?;
    // Here programs can be run, since this one is; but it may not be possible to write.
    let programs = Scratch::make(&bundle.folder, RUNNING);
    let programs = programs.or_else(|_| Scratch::make(&std::env::temp_dir(), ROOMS))?;
    folders().extend([rooms.path().to_owned(), programs.path().to_owned()]);
    let class = Class {
        bundle,
        course,
        exercises,
        supervisor,
        device: device.as_ref(),
        remarks,
        isolation,
        results: results.as_ref(),
        rooms: rooms.path(),
        programs: programs.path(),
    };
    run.all(members, |member| {
        let mut report = class.grade(member);
        if let Some(folder) = reports {
            let file = folder.join(format!("{}.txt", own_name(member)));
            let text = report::plain(&class.sources(member), &report, points);
            match std::fs::write(&file, text) {
                Ok(()) => report.wrote(Some(file)),
                Err(error) => warn(&format!("{} cannot be written: {error}", file.display())),
            }
        }
        report
    })
}

/// A plain name that no other submission of the bundle has.
fn own_name(member: &Member) -> String {
    member.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// What the submissions of a bundle have in common.
struct Class<'a> {
    bundle: &'a Unpacked,
    course: &'a Course,
    /// With their cases.
    exercises: &'a [(&'a Exercise, &'a Vec<String>)],
    supervisor: Supervisor,
    device: Option<&'a Device>,
    remarks: Vec<String>,
    isolation: Isolation,
    /// What this bundle has graded already; none where nothing can be kept.
    results: Option<&'a Results>,
    rooms: &'a Path,
    /// Where programs are that are about to run.
    programs: &'a Path,
}

impl Class<'_> {
    /// Where the sources of a submission are.
    fn sources(&self, member: &Member) -> PathBuf {
        self.bundle.folder.join(&member.folder)
    }

    fn grade(&self, member: &Member) -> Report {
        let progress = Progress::start("grading");
        let exercises = self.exercises.iter().map(|(exercise, cases)| {
            progress.say(format!("{}: {}", member.name, exercise.label()));
            let graded = self.grade_exercise(member, exercise, cases, &progress);
            let graded = graded.unwrap_or_else(|why| {
                Graded::all_as(cases, &Finding::new(diagnosis::SETUP_FAILED, why))
            });
            graded.report(exercise, &Whose::Learner.package(exercise))
        });
        let exercises = exercises.collect();
        let (device, remarks) = (self.device.cloned(), self.remarks.clone());
        let report = Report::new(self.course, Whose::Learner, exercises, device, remarks);
        let submitted = Submitted {
            name: member.name.clone(),
            folder: self.sources(member),
            ignored: member.ignored.clone(),
            remarks: member.remarks.clone(),
            isolation: self.isolation,
            report: None,
        };
        Report { submission: Some(submitted), ..report }
    }

    fn grade_exercise(
        &self,
        member: &Member,
        exercise: &Exercise,
        cases: &[String],
        progress: &Progress,
    ) -> Result<Graded, String> {
        match member.exercises.get(&exercise.name) {
            Some(Part::Program(path)) => {
                let key = path.file_name().unwrap_or_default().to_string_lossy();
                if let Some(graded) = self.results.and_then(|results| results.find(&key)) {
                    return Ok(graded);
                }
                drop(folders());
                let folder = self.rooms.join(own_name(member));
                let room = Room::around(self.sources(member), folder)
                    .map_err(|error| format!("the scratch folder cannot be made: {error}"))?;
                let supervisor = room.confine(&self.supervisor, self.device);
                // Two submissions may have the same program.
                let own = tempfile::tempdir_in(self.programs)
                    .map_err(|error| format!("a program cannot be put together: {error}"))?;
                let program = self.bundle.program(&path.to_string_lossy(), own.path());
                let program = program.map_err(|error| format!("{error:#}"))?;
                let graded =
                    Graded::run(exercise, cases, &program, &supervisor, disk::LIMIT, progress);
                if let Some(results) = self.results
                    && let Err(error) = results.keep(&key, &graded)
                {
                    warn(&format!("a result cannot be kept: {error:#}"));
                }
                Ok(graded)
            }
            Some(Part::Settled(graded)) => {
                self.results.inspect(|results| results.settle());
                Ok(graded.clone())
            }
            None => Err("the bundle has nothing for it".to_owned()),
        }
    }
}
