//! Grading what others hand in.
//!
//! Of a submission only `src/` of each exercise is used. It is copied into a scratch folder, beside the
//! grading cases of this checkout, built there with this checkout's own libraries, and run there. Neither
//! rustc nor the program can reach anything else, as far as the kernel can see to that.
//!
//! ```text
//! DIR ── handed_in ──> sources ── room ──> scratch folder ── kit ──> program ── grading ──> report
//! ```

pub mod class;
pub mod handed_in;
pub mod kit;
pub mod results;
pub mod room;
pub mod sources;

use std::path::Path;

use anyhow::Context;
use streamlings_grade::supervise::{Isolation, Supervisor};
use streamlings_grade::{Finding, diagnosis};
use streamlings_trace::Device;

use crate::build::NotBuilt;
use crate::course::{Course, Exercise};
use crate::criterion;
use crate::grading::{self, Graded, Whose};
use crate::progress::Progress;
use crate::report::{ExerciseReport, Report, Submitted};
use handed_in::HandedIn;
use kit::Kit;
use results::Results;
use room::Room;

/// What all submissions of a run have in common.
pub struct Grading<'a> {
    /// The course, in the grader's own checkout.
    pub course: &'a Course,
    /// The exercises to grade.
    pub exercises: Vec<&'a Exercise>,
    /// How cases run.
    pub supervisor: Supervisor,
    kit: Kit,
    results: Results,
    device: Option<Device>,
    remarks: Vec<String>,
    isolation: Isolation,
}

impl<'a> Grading<'a> {
    /// Builds what submissions are built with, and finds out on what they will run.
    ///
    /// # Errors
    /// Where cargo cannot be run, or this checkout does not compile.
    pub fn prepare(
        course: &'a Course,
        exercises: Vec<&'a Exercise>,
        supervisor: Supervisor,
        fresh: bool,
    ) -> anyhow::Result<Grading<'a>> {
        let progress = Progress::start("building what submissions are built with");
        let kit = Kit::prepare(course, &exercises, &supervisor, &progress)?;
        let isolation =
            streamlings_grade::supervise::isolation().context("a case cannot be confined")?;
        let (device, remarks) = match kit.any_program() {
            Some(program) => grading::probe(program, &supervisor),
            None => (None, Vec::new()),
        };
        let results =
            Results::open(kit.folder(), &kit.fingerprint(course, &supervisor, &device)?, fresh)?;
        Ok(Grading { course, exercises, supervisor, kit, results, device, remarks, isolation })
    }

    /// The cases of an exercise, as the grader's own checkout has them.
    pub fn cases(&self, exercise: &Exercise) -> &[String] {
        self.kit.cases(exercise)
    }

    /// What the kernel keeps submissions from.
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// Where everything of the submissions is kept.
    pub fn folder(&self) -> &Path {
        self.kit.folder()
    }

    /// The device that cases run on.
    pub fn device(&self) -> Option<&Device> {
        self.device.as_ref()
    }

    /// Grades one submission.
    ///
    /// # Errors
    /// Where the grader itself cannot go on: its scratch folder cannot be written.
    pub fn grade(&self, folder: &Path, progress: &Progress) -> anyhow::Result<Report> {
        let handed_in = HandedIn::find(self.course, folder)?;
        let room = Room::make(self.kit.folder(), &handed_in.name)?;
        let mut exercises = Vec::new();
        for exercise in &self.exercises {
            progress.say(format!("{}: {}", handed_in.name, exercise.label()));
            exercises.push(self.grade_exercise(exercise, &handed_in, &room, progress)?);
        }
        let names: Vec<&str> = self.course.exercises.iter().map(|e| e.name.as_str()).collect();
        let criterion = criterion::of(Whose::Learner, &names, &exercises, self.device.as_ref());
        Ok(Report {
            device: self.device.clone(),
            remarks: self.remarks.clone(),
            exercises,
            criterion,
            whose: Whose::Learner,
            total: self.course.exercises.len(),
            submission: Some(Submitted {
                name: handed_in.name,
                folder: room.workspace().to_owned(),
                ignored: handed_in.ignored,
                isolation: self.isolation,
            }),
        })
    }

    fn grade_exercise(
        &self,
        exercise: &Exercise,
        handed_in: &HandedIn,
        room: &Room,
        progress: &Progress,
    ) -> anyhow::Result<ExerciseReport> {
        let cases = self.kit.cases(exercise);
        let package = Whose::Learner.package(exercise);
        let all_as = |finding: &Finding| Graded::all_as(cases, finding);
        let report = |graded: Graded| graded.report(exercise, &package);
        let sources = match handed_in.sources(exercise) {
            Ok(Some(sources)) => sources,
            Ok(None) => {
                let finding = Finding::new(
                    diagnosis::NOT_HANDED_IN,
                    format!("the submission has no {}/src", package.folder.display()),
                );
                return Ok(report(all_as(&finding)));
            }
            Err(why) => {
                return Ok(report(all_as(&Finding::new(diagnosis::REFUSED, why.to_string()))));
            }
        };
        room.put(self.course, exercise, &sources)?;
        let key = sources.key(exercise);
        if let Some(graded) = self.results.find(&key) {
            return Ok(report(graded));
        }
        let graded = match self.kit.build(exercise, room, &self.supervisor)? {
            Ok(program) => {
                let supervisor = room.confine(&self.supervisor, self.device.as_ref());
                Graded::run(exercise, cases, &program, &supervisor, progress)
            }
            Err(NotBuilt::Learner(finding, rustc)) => {
                Graded { rustc: Some(rustc), ..all_as(&finding) }
            }
            Err(NotBuilt::Grader(trouble)) => Graded {
                rustc: Some(trouble),
                ..all_as(&Finding::new(diagnosis::SETUP_FAILED, "the grade binary was not built"))
            },
        };
        let report = report(graded.clone());
        self.results.keep(&key, &graded)?;
        Ok(report)
    }
}
