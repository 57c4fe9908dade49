//! From exercises to a report: builds them, runs their cases, gathers the verdicts.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use streamlings_grade::supervise::Supervisor;
use streamlings_grade::{Description, Finding, Outcome, Verdict, diagnosis};
use streamlings_trace::Device;

use crate::build::{Built, NotBuilt, Package, build};
use crate::cli::RunArguments;
use crate::course::{Course, Exercise};
use crate::criterion;
use crate::progress::Progress;
use crate::report::{CaseReport, ExerciseReport, Report};

/// Whose code is graded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    let progress = Progress::start("building");
    let built = match packages[..] {
        [] => Built::default(),
        _ => build(&course.root, &packages, &["grade"], &progress)?,
    };
    progress.steps(exercises.len());
    let mut device = None;
    let mut reports = Vec::new();
    for (exercise, package) in exercises.iter().zip(&packages) {
        let program = built.program(&course.root, package, "grade");
        if let Ok(program) = &program
            && device.is_none()
        {
            device = Some(probe(program, supervisor));
        }
        reports.push(grade_one(exercise, package, program, supervisor, &progress));
    }
    let (device, remarks) = device.unwrap_or_default();
    let names: Vec<&str> = course.exercises.iter().map(|e| e.name.as_str()).collect();
    let criterion = criterion::of(whose, &names, &reports, device.as_ref());
    let total = course.exercises.len();
    Ok(Report { device, remarks, exercises: reports, criterion, whose, total, submission: None })
}

fn grade_one(
    exercise: &Exercise,
    package: &Package,
    program: Result<PathBuf, NotBuilt>,
    supervisor: &Supervisor,
    progress: &Progress,
) -> ExerciseReport {
    let intended: Vec<String> = exercise.intended.iter().map(|i| i.case.clone()).collect();
    let graded = match program {
        Ok(program) => {
            // A binary that lists no cases, or too few, has been tampered with from within.
            let listed = describe(&program, supervisor).map_or(Vec::new(), |listed| listed.cases);
            let mut names: Vec<String> = listed.into_iter().map(|case| case.name).collect();
            names.extend(intended.into_iter().filter(|n| !names.contains(n)).collect::<Vec<_>>());
            Graded::run(exercise, &names, &program, supervisor, progress)
        }
        Err(NotBuilt::Learner(finding, rustc)) => {
            Graded { rustc: Some(rustc), ..Graded::all_as(&intended, &finding) }
        }
        Err(NotBuilt::Grader(trouble)) => {
            let finding = Finding::new(diagnosis::SETUP_FAILED, "the grade binary was not built");
            Graded { rustc: Some(trouble), ..Graded::all_as(&intended, &finding) }
        }
    };
    progress.step();
    graded.report(exercise, package)
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

    /// Runs these cases of a grade binary.
    pub fn run(
        exercise: &Exercise,
        names: &[String],
        program: &Path,
        supervisor: &Supervisor,
        progress: &Progress,
    ) -> Graded {
        let run = |name: &String| {
            progress.say(format!("{}: {name}", exercise.label()));
            CaseReport::of_run(supervisor.run_case(program, name))
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
