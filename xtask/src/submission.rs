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
pub mod disk;
mod early;
pub mod handed_in;
pub mod kit;
mod places;
pub mod results;
pub mod room;
pub mod sources;
mod taken_in;

use std::path::Path;

use anyhow::Context;
use streamlings_grade::supervise::{Isolation, Supervisor};
use streamlings_grade::{Finding, diagnosis};
use streamlings_trace::Device;

use crate::course::{Course, Exercise};
use crate::grading::{self, Graded, Part, Whose};
use crate::progress::Progress;
use crate::report::{ExerciseReport, Report, Submitted};
use handed_in::HandedIn;
use kit::Kit;
use results::Results;
use room::Room;
use sources::Sources;

/// What all submissions of a run have in common.
pub struct Grading<'a> {
    /// The course, in the grader's own checkout.
    pub course: &'a Course,
    /// The exercises to grade.
    pub exercises: Vec<&'a Exercise>,
    /// How cases run.
    pub supervisor: Supervisor,
    /// How many bytes of files a submission may have.
    pub disk: u64,
    kit: Kit,
    results: Results,
    device: Option<Device>,
    remarks: Vec<String>,
    isolation: Isolation,
}

impl<'a> Grading<'a> {
    /// What a submission's full report is called: a run for some exercises alone has one of its own, and
    /// leaves the whole one as it is.
    fn report_name(&self) -> String {
        if self.exercises.len() == self.course.exercises.len() {
            return "report.txt".to_owned();
        }
        let numbers = self.exercises.iter().map(|exercise| format!("-{:02}", exercise.number));
        format!("report{}.txt", numbers.collect::<String>())
    }

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
        let progress = Progress::told("building what submissions are built with", "crates");
        let kit = Kit::prepare(course, &exercises, &supervisor, &progress)?;
        let isolation =
            streamlings_grade::supervise::isolation().context("a case cannot be confined")?;
        let (device, remarks) = match kit.any_program() {
            Some(program) => grading::probe(program, &supervisor),
            None => (None, Vec::new()),
        };
        let results =
            Results::open(kit.folder(), &kit.fingerprint(course, &supervisor, &device)?, fresh)?;
        Ok(Grading {
            course,
            exercises,
            supervisor,
            disk: disk::LIMIT,
            kit,
            results,
            device,
            remarks,
            isolation,
        })
    }

    /// The cases of an exercise, as the grader's own checkout has them.
    pub fn cases(&self, exercise: &Exercise) -> &[String] {
        self.kit.cases(exercise)
    }

    /// A grade binary of the grader's own, which can be asked for the device.
    pub fn any_program(&self) -> Option<&Path> {
        self.kit.any_program()
    }

    /// What earlier runs have kept.
    pub fn results(&self) -> &Results {
        &self.results
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
        let handed_in = HandedIn::find(self.course, &self.exercises, folder)?;
        let room = Room::make(self.kit.folder(), &handed_in.listed)?;
        room.clear()?;
        let mut exercises = Vec::new();
        for exercise in &self.exercises {
            progress.say(format!("{}: {}", handed_in.name, exercise.label()));
            exercises.push(self.grade_exercise(exercise, &handed_in, &room, progress)?);
        }
        let submitted = Submitted {
            remarks: handed_in.remarks().to_vec(),
            name: handed_in.name,
            folder: room.workspace(),
            ignored: handed_in.ignored,
            isolation: self.isolation,
            report: None,
        };
        let (device, remarks) = (self.device.clone(), self.remarks.clone());
        let report = Report::new(self.course, Whose::Learner, exercises, device, remarks);
        Ok(Report { submission: Some(submitted), ..report })
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
        let report = |graded: Graded| graded.report(exercise, &package);
        let sources = match self.sources(exercise, handed_in) {
            Ok(sources) => sources,
            Err(finding) => {
                self.results.settle();
                return Ok(report(Graded::all_as(cases, &finding)));
            }
        };
        room.put(self.course, exercise, &sources)?;
        let key = sources.key(exercise);
        if let Some(graded) = self.results.find(&key) {
            return Ok(report(graded));
        }
        let graded = match self.build(exercise, room)? {
            Part::Program(program) => {
                let supervisor = room.confine(&self.supervisor, self.device.as_ref());
                Graded::run(exercise, cases, &program, &supervisor, self.disk, progress)
            }
            Part::Settled(graded) => graded,
        };
        room.tidy_up();
        let report = report(graded.clone());
        self.results.keep(&key, &graded)?;
        Ok(report)
    }

    /// The sources for an exercise, or why there are none.
    pub fn sources(&self, exercise: &Exercise, handed_in: &HandedIn) -> Result<Sources, Finding> {
        match handed_in.sources(exercise) {
            Ok(Some(sources)) => Ok(sources),
            Ok(None) => {
                let folder = Whose::Learner.package(exercise).folder;
                let hint = handed_in.hint(exercise).map(|hint| format!("; {hint}"));
                let hint = hint.unwrap_or_default();
                let why = format!("the submission has no {}/src{hint}", folder.display());
                Err(Finding::new(diagnosis::NOT_HANDED_IN, why))
            }
            Err(why) => Err(Finding::new(diagnosis::REFUSED, why.to_string())),
        }
    }

    /// Builds the exercise that was put into a room.
    ///
    /// # Errors
    /// Where rustc cannot be run at all.
    pub fn build(&self, exercise: &Exercise, room: &Room) -> std::io::Result<Part> {
        let built = self.kit.build(exercise, room, &self.supervisor)?;
        Ok(Part::of_build(built, self.kit.cases(exercise)))
    }
}
