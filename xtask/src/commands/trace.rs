//! `cargo xtask trace`: a picture of one case's run, and of the solution's below it.
//!
//! The case runs as `check` runs it, and leaves a trace of each of its runs. The solution's run is of the
//! same seed, with or without delays as the learner's. Its lines are not shown beside the learner's; `--solutions` shows them.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;
use streamlings_grade::supervise::{CaseRun, Supervisor};
use streamlings_grade::{Outcome, Verdict};
use streamlings_trace::format::{MAGIC, Reader};
use streamlings_trace::{Header, Item, Trace};

use crate::build::{Built, NotBuilt, build};
use crate::cli::{PictureFormat, TraceArguments};
use crate::course::{Course, Exercise};
use crate::exit::{Exit, UsageError};
use crate::grading::{Whose, describe, supervisor};
use crate::progress::Progress;
use crate::text::{print, warn, wrapped};
use crate::timeline::model::Timeline;
use crate::timeline::{Picture, Run, html, perfetto, text};

/// Draws a trace file, or a case of an exercise.
///
/// # Errors
/// Where the exercise or the case is not known, or files cannot be read or written.
pub fn run(root: &Path, arguments: &TraceArguments) -> anyhow::Result<Exit> {
    if arguments.open && arguments.format != PictureFormat::Html {
        anyhow::bail!(UsageError("--open is for the page: leave --format out".to_owned()));
    }
    let (picture, name) = match trace_file(Path::new(&arguments.name))? {
        Some(bytes) => of_file(&bytes, Path::new(&arguments.name))?,
        None => match of_exercise(root, arguments)? {
            Drawn::Picture(picture, name) => (picture, name),
            Drawn::Nothing(exit) => return Ok(exit),
        },
    };
    write(root, arguments, &picture, &name)?;
    Ok(Exit::Success)
}

/// The bytes, if that is a trace file.
fn trace_file(path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    if !path.is_file() {
        return Ok(None);
    }
    let bytes = fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    // Any other file is one of an exercise's, as its editor names it.
    Ok(bytes.starts_with(&MAGIC).then_some(bytes))
}

fn of_file(bytes: &[u8], path: &Path) -> anyhow::Result<(Picture, String)> {
    let (trace, cut) = read(bytes).with_context(|| format!("{} cannot be read", path.display()))?;
    let mut run = drawn("the recorded run", None, Vec::new(), &trace.header, Timeline::of(&trace));
    run.remarks.extend(cut);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok((Picture { title: stem.clone(), runs: vec![run] }, stem))
}

/// The trace, and a remark if the file ends too early.
fn read(bytes: &[u8]) -> anyhow::Result<(Trace, Option<String>)> {
    let (trace, cut) = Reader::new(bytes)?.into_prefix();
    Ok((trace, cut.map(|cut| format!("{cut}; what comes before is drawn."))))
}

fn drawn(
    whose: &str,
    run: Option<&CaseRun>,
    remarks: Vec<String>,
    header: &Header,
    timeline: Timeline,
) -> Run {
    let figures = run.map_or(&[][..], |run| &run.verdict.figures[..]);
    Run {
        whose: whose.to_owned(),
        outcome: run.map(|run| run.verdict.outcome.to_string()),
        remarks,
        figures: figures.iter().map(ToString::to_string).collect(),
        device: header.device.clone(),
        timeline,
    }
}

enum Drawn {
    Picture(Picture, String),
    /// Why there is none has been said.
    Nothing(Exit),
}

fn of_exercise(root: &Path, arguments: &TraceArguments) -> anyhow::Result<Drawn> {
    let course = Course::read(root)?;
    let exercise = course.find(&arguments.name)?;
    let whose: &[Whose] = match arguments.solutions {
        true => &[Whose::Solution],
        false => &[Whose::Learner, Whose::Solution],
    };
    let packages: Vec<_> = whose.iter().map(|whose| whose.package(exercise)).collect();
    let progress = Progress::start("building");
    let built = build(&course.root, &packages, &["grade"], &progress)?;
    let folder = tempfile::tempdir()?;
    let mut tracer = Tracer {
        root: &course.root,
        exercise,
        built,
        supervisor: supervisor(&arguments.run),
        folder: folder.path(),
        progress,
    };

    let first = match tracer.program(whose[0]) {
        Ok(program) => tracer.pick(&program, arguments.case.as_deref())?,
        Err(NotBuilt::Learner(finding, rustc)) => {
            drop(tracer);
            print(&format!(
                "{rustc}\n{}\n",
                wrapped(&Verdict::failed("", *finding).to_string(), "  ")
            ))?;
            return Ok(Drawn::Nothing(Exit::DoesNotCompile));
        }
        Err(NotBuilt::Grader(trouble)) => {
            anyhow::bail!("the grade binary was not built: {trouble}")
        }
    };
    let (label, case) = (exercise.label(), first.verdict.case.clone());
    // What failed shows in the last run; of those that all went well the first is without delays.
    let passed = first.verdict.outcome == Outcome::Passed;
    let number = if passed { 1 } else { first.traces.len() };
    let Some(trace) = tracer.trace(&first, number)? else {
        drop(tracer);
        let text = format!("{label}: {case} ended without a trace\n{}\n", first.text());
        print(&wrapped(&text, "  "))?;
        return Ok(Drawn::Nothing(match Exit::of_outcomes([first.verdict.outcome]) {
            Exit::Success => Exit::GraderError,
            exit => exit,
        }));
    };
    let name = if arguments.solutions { "the solution's run" } else { "your run" };
    let timeline = Timeline::of(&trace);
    let mut runs =
        vec![drawn(name, Some(&first), remarks(&first, number), &trace.header, timeline)];
    if !arguments.solutions {
        // So that sizes and data are the same.
        tracer.supervisor.seed = Some(first.seed);
        match tracer.solution(&case, trace.header.seed.is_some(), number) {
            Ok(run) => runs.push(run),
            Err(error) => warn(&format!("the solution's run is not drawn: {error:#}")),
        }
    }
    Ok(Drawn::Picture(Picture { title: format!("{label}: {case}"), runs }, exercise.name.clone()))
}

fn remarks(run: &CaseRun, number: usize) -> Vec<String> {
    let message = &run.verdict.message;
    let mut remarks: Vec<String> = message.lines().map(sentence).collect();
    let of = run.traces.len();
    let seed = run.seed;
    remarks.push(match of {
        1 => format!("Seed {seed}."),
        _ => format!("This is run {number} of the {of} that the case made, with seed {seed}."),
    });
    remarks
}

/// A clause of a verdict as a sentence of its own.
fn sentence(clause: &str) -> String {
    let clause = clause.trim().trim_end_matches('.');
    let mut rest = clause.chars();
    let first = rest.next().into_iter().flat_map(char::to_uppercase);
    format!("{}{}.", first.collect::<String>(), rest.as_str())
}

/// Runs cases and keeps their traces.
struct Tracer<'a> {
    root: &'a Path,
    exercise: &'a Exercise,
    built: Built,
    supervisor: Supervisor,
    /// Where the traces go.
    folder: &'a Path,
    progress: Progress,
}

impl Tracer<'_> {
    fn program(&self, whose: Whose) -> Result<PathBuf, NotBuilt> {
        self.built.program(self.root, &whose.package(self.exercise), "grade")
    }

    fn run(&self, program: &Path, case: &str) -> anyhow::Result<CaseRun> {
        self.progress.say(format!("{}: {case}", self.exercise.label()));
        let traces = tempfile::tempdir_in(self.folder)?.keep();
        let supervisor = Supervisor { keep_traces: Some(traces), ..self.supervisor.clone() };
        Ok(supervisor.run_case(program, case))
    }

    /// Runs the case that was asked for; else each in turn up to one that does not pass and has a
    /// trace. If there is none, the first with a trace, or the first.
    fn pick(&self, program: &Path, wanted: Option<&str>) -> anyhow::Result<CaseRun> {
        let listed = describe(program, &self.supervisor)?.cases;
        let names: Vec<&str> = listed.iter().map(|case| case.name.as_str()).collect();
        if let Some(wanted) = wanted {
            if !names.contains(&wanted) {
                let (label, all) = (self.exercise.label(), names.join(", "));
                anyhow::bail!(UsageError(format!("{label} has no case `{wanted}`; it has {all}")));
            }
            return self.run(program, wanted);
        }
        let mut best: Option<CaseRun> = None;
        for name in &names {
            let run = self.run(program, name)?;
            let undone =
                run.verdict.outcome == Outcome::NotDone && self.exercise.passes_without(name);
            if !run.traces.is_empty() && run.verdict.outcome != Outcome::Passed && !undone {
                return Ok(run);
            }
            if best.as_ref().is_none_or(|best| best.traces.is_empty() && !run.traces.is_empty()) {
                best = Some(run);
            }
        }
        best.with_context(|| format!("{} has no cases", self.exercise.label()))
    }

    /// The trace of that run of the case, counted from 1.
    fn trace(&self, run: &CaseRun, number: usize) -> anyhow::Result<Option<Trace>> {
        let path = number.checked_sub(1).and_then(|index| run.traces.get(index));
        let Some(path) = path else { return Ok(None) };
        let bytes = fs::read(path).context("the trace cannot be read")?;
        let mut trace = read(&bytes)?.0;
        shorten_paths(&mut trace, self.root);
        Ok(Some(trace))
    }

    /// The run of a case that is most like another's: with or without delays as that one, and of the
    /// same number, or near it. (A case may try again before it goes on to the runs with delays.)
    fn alike(
        &self,
        run: &CaseRun,
        delayed: bool,
        number: usize,
    ) -> anyhow::Result<Option<(usize, Trace)>> {
        let mut best: Option<(usize, Trace)> = None;
        let far = |other: usize| other.abs_diff(number);
        for other in 1..=run.traces.len() {
            let Some(trace) = self.trace(run, other)? else { continue };
            let is_alike = trace.header.seed.is_some() == delayed;
            if is_alike && best.as_ref().is_none_or(|(best, _)| far(other) < far(*best)) {
                best = Some((other, trace));
            }
        }
        match best {
            None => Ok(self.trace(run, run.traces.len())?.map(|trace| (run.traces.len(), trace))),
            best => Ok(best),
        }
    }

    fn solution(&self, case: &str, delayed: bool, number: usize) -> anyhow::Result<Run> {
        let program = self.program(Whose::Solution).map_err(|error| match error {
            NotBuilt::Learner(_, rustc) => anyhow::anyhow!(rustc),
            NotBuilt::Grader(trouble) => anyhow::anyhow!(trouble),
        })?;
        let run = self.run(&program, case)?;
        let (number, mut trace) = self.alike(&run, delayed, number)?.context("it left no trace")?;
        let timeline = Timeline::without_lines(&mut trace);
        let mut remarks = remarks(&run, number);
        remarks.push(
            "Its source lines are left out: `cargo xtask solution` shows them when you have passed."
                .to_owned(),
        );
        Ok(drawn("the solution's run", Some(&run), remarks, &trace.header, timeline))
    }
}

/// Lines as reports name them: within the workspace.
fn shorten_paths(trace: &mut Trace, root: &Path) {
    for item in &mut trace.items {
        let Item::Stack { stack, .. } = item else { continue };
        for file in stack.frames.iter_mut().filter_map(|frame| frame.file.as_mut()) {
            if let Ok(inside) = Path::new(&*file).strip_prefix(root) {
                *file = inside.display().to_string();
            }
        }
    }
}

fn write(
    root: &Path,
    arguments: &TraceArguments,
    picture: &Picture,
    name: &str,
) -> anyhow::Result<()> {
    let (contents, extension) = match arguments.format {
        PictureFormat::Html => (html::page(picture), "html"),
        PictureFormat::Perfetto => (perfetto::document(picture).to_string(), "json"),
        PictureFormat::Text => (text::page(picture), "txt"),
    };
    let path = match &arguments.output {
        None if arguments.format == PictureFormat::Text => return Ok(print(&contents)?),
        Some(path) => path.clone(),
        None => root.join("target/trace").join(format!("{name}.{extension}")),
    };
    let unwritable = || format!("{} cannot be written", path.display());
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).with_context(unwritable)?;
    }
    fs::write(&path, contents).with_context(unwritable)?;
    // Where it can be clicked on.
    let shown = path.canonicalize().unwrap_or_else(|_| path.clone());
    print(&format!("{}\n", shown.display()))?;
    if arguments.open {
        open(&shown);
    }
    Ok(())
}

/// Opens a browser; where none can be, the path has been printed.
fn open(path: &Path) {
    let display = ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"];
    if !display.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty())) {
        warn("there is no display here, so open the page yourself");
        return;
    }
    match open::that_detached(path) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {
            warn("no program was found that opens the page, so open it yourself");
        }
        Err(error) => warn(&format!("the page could not be opened: {error}")),
    }
}
