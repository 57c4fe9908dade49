//! From exercises to a report: builds them, runs their cases, gathers the verdicts.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use streamlings_grade::supervise::Supervisor;
use streamlings_grade::{Description, Finding, Outcome, Verdict, diagnosis};
use streamlings_trace::Device;

use crate::build::{Built, NotBuilt, Package, build};
use crate::cli::RunArguments;
use crate::course::{Course, Exercise};
use crate::progress::Progress;
use crate::report::{CaseReport, ExerciseReport, Report};
use crate::submission::disk;

/// Whose code is graded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Whose {
    /// The learner's, in `exercises/`.
    Learner,
    /// The reference, in `solutions/`.
    Solution,
}

impl Whose {
    /// The package with this code for an exercise.
    pub fn package(self, exercise: &Exercise) -> Package {
        match self {
            Whose::Learner => Package {
                name: exercise.name.clone(),
                folder: Path::new("exercises").join(&exercise.folder),
            },
            Whose::Solution => Package {
                name: format!("{}_solution", exercise.name),
                folder: Path::new("solutions").join(&exercise.folder),
            },
        }
    }
}

/// How cases run, as the command line wants it.
pub fn supervisor(run: &RunArguments) -> Supervisor {
    Supervisor {
        time_limit: run.time_limit,
        seed: run.seed,
        device: run.device.variable().map(str::to_owned),
        ..Supervisor::default()
    }
}

/// Grades exercises.
///
/// # Errors
/// Where cargo cannot be run.
pub fn grade(
    course: &Course,
    exercises: &[&Exercise],
    whose: Whose,
    supervisor: &Supervisor,
) -> anyhow::Result<Report> {
    let packages: Vec<Package> = exercises.iter().map(|e| whose.package(e)).collect();
    let built = build_grade_binaries(course, &packages)?;
    let parts = exercises.iter().copied().zip(parts_of(course, &built, exercises, &packages));
    let mut report = grade_parts(course, &parts.collect::<Vec<_>>(), whose, supervisor);
    for (exercise, package) in report.exercises.iter_mut().zip(&packages) {
        exercise.warnings = built.warnings(package).to_vec();
    }
    Ok(report)
}

/// What is there to grade of an exercise.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Part {
    /// Its grade binary.
    Program(PathBuf),
    /// There is no binary: what it gets all the same.
    Settled(Graded),
}

impl Part {
    /// Of an exercise with these cases.
    pub fn of_build(built: Result<PathBuf, NotBuilt>, cases: &[String]) -> Part {
        let not_built = |finding: &Finding, said| {
            Part::Settled(Graded { rustc: Some(said), ..Graded::all_as(cases, finding) })
        };
        match built {
            Ok(program) => Part::Program(program),
            Err(NotBuilt::Learner(finding, rustc)) => not_built(&finding, rustc),
            Err(NotBuilt::Unfit(finding, _)) => not_built(&finding, String::new()),
            Err(NotBuilt::Grader(trouble)) => {
                let why = "the grade binary was not built";
                not_built(&Finding::new(diagnosis::SETUP_FAILED, why), trouble)
            }
        }
    }
}

/// Builds exercises: a part for each.
///
/// # Errors
/// Where cargo cannot be run.
pub fn build_parts(
    course: &Course,
    exercises: &[&Exercise],
    whose: Whose,
) -> anyhow::Result<Vec<Part>> {
    let packages: Vec<Package> = exercises.iter().map(|e| whose.package(e)).collect();
    let built = build_grade_binaries(course, &packages)?;
    Ok(parts_of(course, &built, exercises, &packages).collect())
}

fn build_grade_binaries(course: &Course, packages: &[Package]) -> anyhow::Result<Built> {
    match packages {
        [] => Ok(Built::default()),
        _ => build(&course.root, packages, &["grade"], &Progress::told("building", "crates")),
    }
}

/// A part for each of the exercises, whose packages are these.
fn parts_of<'a>(
    course: &Course,
    built: &Built,
    exercises: &'a [&Exercise],
    packages: &'a [Package],
) -> impl Iterator<Item = Part> {
    exercises.iter().zip(packages).map(|(exercise, package)| {
        let program = built.program(&course.root, package, "grade");
        Part::of_build(program, &exercise.intended_cases())
    })
}

/// Grades what was built.
pub fn grade_parts(
    course: &Course,
    parts: &[(&Exercise, Part)],
    whose: Whose,
    supervisor: &Supervisor,
) -> Report {
    let progress = Progress::told("grading", "exercises");
    progress.steps(parts.len());
    let mut device = None;
    let mut reports = Vec::new();
    for (exercise, part) in parts {
        let graded = match part {
            Part::Program(program) => {
                device.get_or_insert_with(|| probe(program, supervisor));
                Graded::run(
                    exercise,
                    &cases(exercise, program, supervisor),
                    program,
                    supervisor,
                    disk::LIMIT,
                    &progress,
                )
            }
            Part::Settled(graded) => graded.clone(),
        };
        progress.step();
        reports.push(graded.report(exercise, &whose.package(exercise)));
    }
    let (device, remarks) = device.unwrap_or_default();
    Report::new(course, whose, reports, device, remarks)
}

/// The cases of a grade binary, and those that its exercise must have: one that lists no cases, or too
/// few, has been tampered with from within.
fn cases(exercise: &Exercise, program: &Path, supervisor: &Supervisor) -> Vec<String> {
    let listed = describe(program, supervisor).map_or(Vec::new(), |listed| listed.cases);
    let mut names: Vec<String> = listed.into_iter().map(|case| case.name).collect();
    for intended in exercise.intended_cases() {
        if !names.contains(&intended) {
            names.push(intended);
        }
    }
    names
}

/// What the code of one exercise got.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Graded {
    /// Its cases, in order.
    pub cases: Vec<CaseReport>,
    /// What rustc said, if there is no grade binary.
    pub rustc: Option<String>,
}

impl Graded {
    /// The same finding for all cases, none of which was run.
    pub fn all_as(names: &[String], finding: &Finding) -> Graded {
        let verdict = |name: &String| Verdict::failed(name, finding.clone());
        Graded {
            cases: names.iter().map(|name| CaseReport::not_run(verdict(name))).collect(),
            rustc: None,
        }
    }

    /// Runs these cases of a grade binary; those of a submission, which have a folder to write into, may
    /// have `disk` bytes in it.
    pub fn run(
        exercise: &Exercise,
        names: &[String],
        program: &Path,
        supervisor: &Supervisor,
        disk: u64,
        progress: &Progress,
    ) -> Graded {
        let run = |name: &String| {
            progress.say(format!("{}: {name}", exercise.label()));
            let case = || supervisor.run_case(program, name);
            let Some(folder) = &supervisor.scratch else { return CaseReport::of_run(case()) };
            let (mut run, over) = disk::limited(folder, disk, case);
            if let Some(what) = over {
                let finding = Finding::new(diagnosis::OVER_LIMIT, format!("it {what}"));
                run.verdict = Verdict::failed(name, finding);
                disk::clear(folder);
            }
            CaseReport::of_run(run)
        };
        Graded { cases: names.iter().map(run).collect(), rustc: None }
    }

    /// As the report has it.
    pub fn report(mut self, exercise: &Exercise, package: &Package) -> ExerciseReport {
        for case in &mut self.cases {
            case.optional = exercise.passes_without(&case.verdict.case);
        }
        ExerciseReport {
            number: exercise.number,
            name: exercise.name.clone(),
            title: exercise.title.clone(),
            folder: package.folder.clone(),
            outcome: Outcome::of_cases(CaseReport::required(&self.cases)),
            cases: self.cases,
            rustc: self.rustc,
            warnings: Vec::new(),
        }
    }
}

/// What serves the cases, and what the driver has to say about it.
pub type Probed = (Option<Device>, Vec<String>);

/// Asks a grade binary what would serve its cases.
pub fn probe(program: &Path, supervisor: &Supervisor) -> Probed {
    let answer = supervisor.ask(program, "--device").unwrap_or_default();
    let (device, said): (Vec<_>, Vec<_>) = answer
        .lines()
        .map(|line| serde_json::from_str(line).map_err(|_| line.to_owned()))
        .partition(Result::is_ok);
    let remarks = said.into_iter().filter_map(Result::err).take(10).collect();
    (device.into_iter().flatten().next_back(), remarks)
}

/// The cases of a grade binary, as it lists them itself.
///
/// # Errors
/// Where it does not.
pub fn describe(program: &Path, supervisor: &Supervisor) -> anyhow::Result<Description> {
    let answer = supervisor.ask(program, "--describe")?;
    let last = answer.lines().next_back().unwrap_or_default();
    Ok(serde_json::from_str(last)?)
}
