//! `cargo xtask trace`: a picture of one case's run, and of the solution's below it.
//!
//! The case runs as `check` runs it, and leaves a trace of each of its runs. The solution's run is of the
//! same seed, with or without delays as the learner's. Its lines are not shown beside the learner's;
//! `--solutions` shows them.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;
use streamlings_grade::supervise::{CaseRun, Supervisor};
use streamlings_grade::{Finding, Outcome, Verdict};
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
use crate::timeline::{Figure, Picture, Run, html, perfetto, text};

/// Draws trace files, or a case of an exercise.
///
/// # Errors
/// Where the exercise or the case is not known, or files cannot be read or written.
pub fn run(root: &Path, arguments: &TraceArguments) -> anyhow::Result<Exit> {
    if arguments.open && arguments.format != PictureFormat::Html {
        anyhow::bail!(UsageError("--open is for the page: leave --format out".to_owned()));
    }
    if let Some(folder) = arguments.output.as_ref().filter(|output| output.is_dir()) {
        anyhow::bail!(UsageError(format!("--output: {} is a folder", folder.display())));
    }
    let files = arguments.names.iter().map(|name| trace_file(Path::new(name)));
    let files: Option<Vec<_>> = files.collect::<anyhow::Result<_>>()?;
    let (picture, name) = match (files, &arguments.names[..]) {
        (Some(files), _) => of_files(root, &files)?,
        (None, [name]) => match of_exercise(root, name, arguments)? {
            Drawn::Picture(picture, name) => (picture, name),
            Drawn::Nothing(exit) => return Ok(exit),
        },
        (None, names) => {
            let paths: Vec<&Path> = names.iter().map(Path::new).collect();
            // As `trace_file` tells them apart.
            let other = paths.iter().find(|path| !matches!(trace_file(path), Ok(Some(_))));
            anyhow::bail!(match other.filter(|path| path.is_file()) {
                Some(path) => no_trace(path),
                None => UsageError("name one exercise, or else trace files alone".to_owned()),
            })
        }
    };
    write(root, arguments, &picture, &name)?;
    Ok(Exit::Success)
}

/// A trace file's path and bytes, if it is one.
fn trace_file(path: &Path) -> anyhow::Result<Option<(&Path, Vec<u8>)>> {
    let is_named_so = path.extension().is_some_and(|extension| extension == "trace");
    if !path.is_file() {
        // No exercise's name or number has a dot in it.
        if is_named_so || !path.exists() && path.extension().is_some() {
            anyhow::bail!(UsageError(format!("there is no file {}", path.display())));
        }
        return Ok(None);
    }
    let bytes = fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    // Any other file is one of an exercise's, as its editor names it.
    Ok((bytes.starts_with(&MAGIC) || is_named_so).then_some((path, bytes)))
}

/// What to do about a file that is neither a trace nor one of an exercise's.
fn no_trace(path: &Path) -> UsageError {
    let next = match path.extension().and_then(OsStr::to_str) {
        Some("json") => "open what `trace --format perfetto` wrote in ui.perfetto.dev",
        Some("html") => "open a page in a browser",
        _ => "name an exercise, or recorded traces",
    };
    UsageError(format!("{} is there, and is no recorded trace; {next}", path.display()))
}

fn of_files(root: &Path, files: &[(&Path, Vec<u8>)]) -> anyhow::Result<(Picture, String)> {
    let mut runs = Vec::new();
    let mut stems = Vec::new();
    for (path, bytes) in files {
        let read = read(bytes).with_context(|| format!("{} cannot be read", path.display()));
        let (mut trace, cut) = read?;
        shorten_paths(&mut trace, root);
        let whose = match files {
            [_] => "the recorded run".to_owned(),
            _ => path.display().to_string(),
        };
        let mut run = drawn(&whose, None, Vec::new(), &trace.header, Timeline::of(&trace));
        run.remarks.extend(cut);
        runs.push(run);
        stems.push(path.file_stem().unwrap_or_default().to_string_lossy().into_owned());
    }
    let name = stems.first().cloned().unwrap_or_default();
    Ok((Picture { title: stems.join(" and "), runs }, name))
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
        figures: figures.iter().map(shown).collect(),
        device: header.device.clone(),
        timeline,
    }
}

fn shown(figure: &streamlings_grade::Figure) -> Figure {
    let whole = figure.to_string();
    let value = whole.strip_prefix(&figure.what).unwrap_or(&whole).trim_start();
    Figure { what: figure.what.clone(), value: value.to_owned() }
}

enum Drawn {
    Picture(Picture, String),
    /// Why there is none has been said.
    Nothing(Exit),
}

fn of_exercise(root: &Path, name: &str, arguments: &TraceArguments) -> anyhow::Result<Drawn> {
    let course = Course::read(root)?;
    let exercise = match course.find(name) {
        Err(_) if Path::new(name).is_file() => anyhow::bail!(no_trace(Path::new(name))),
        found => found?,
    };
    let whose: &[Whose] = match arguments.solutions {
        true => &[Whose::Solution],
        false => &[Whose::Learner, Whose::Solution],
    };
    let packages: Vec<_> = whose.iter().map(|whose| whose.package(exercise)).collect();
    let progress = Progress::told("building", "crates");
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
            print(&format!("{rustc}\n"))?;
            return not_drawn(*finding);
        }
        Err(NotBuilt::Unfit(finding, _)) => {
            drop(tracer);
            return not_drawn(*finding);
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
    let name = match &arguments.case {
        Some(case) => format!("{}-{case}", exercise.name),
        None => exercise.name.clone(),
    };
    Ok(Drawn::Picture(Picture { title: format!("{label}: {case}"), runs }, name))
}

/// Says why code that was not built is not drawn.
fn not_drawn(finding: Finding) -> anyhow::Result<Drawn> {
    let exit = Exit::of_outcomes([finding.diagnosis.outcome]);
    print(&format!("{}\n", wrapped(&Verdict::failed("", finding).to_string(), "  ")))?;
    Ok(Drawn::Nothing(exit))
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
        let program =
            self.program(Whose::Solution).map_err(|error| anyhow::anyhow!(error.said()))?;
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
            if let Some(shown) = shortened(file, root) {
                *file = shown;
            }
        }
    }
}

/// A file's path within the workspace; that of another checkout's file if the same is here.
fn shortened(file: &str, root: &Path) -> Option<String> {
    let path = Path::new(file);
    if path.is_relative() {
        return None;
    }
    let mut inside = path.strip_prefix(root).ok();
    if inside.is_none() {
        let mut rest = path.components();
        while inside.is_none() && rest.next().is_some() {
            let path = rest.as_path();
            // A name alone could be any file's.
            let is_here = path.components().count() > 2 && root.join(path).is_file();
            inside = is_here.then_some(path);
        }
    }
    inside.map(|inside| inside.display().to_string())
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

/// What there is to open a page with, as the environment tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Screen {
    /// A display, or a program of the learner's choice.
    Here,
    /// Windows' own, around WSL.
    Windows,
    /// It is on the machine at the other end of ssh.
    FarAway,
    /// There is none.
    Nowhere,
}

impl Screen {
    fn of(environment: impl Fn(&str) -> Option<OsString>) -> Screen {
        let any = |names: &[&str]| {
            let mut values = names.iter().filter_map(|name| environment(name));
            values.any(|value| !value.is_empty())
        };
        if any(&["WSL_DISTRO_NAME"]) {
            Screen::Windows
        } else if any(&["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"]) {
            Screen::Here
        } else if any(&["SSH_CONNECTION", "SSH_TTY"]) {
            Screen::FarAway
        } else {
            Screen::Nowhere
        }
    }
}

/// Opens a browser. The page is there whether that works or not, and its path has been printed: so this only
/// warns, and it waits for no program that stays.
fn open(path: &Path) {
    let screen = Screen::of(|name| std::env::var_os(name));
    match screen {
        Screen::FarAway => {
            let name = path.file_name().unwrap_or_default().display();
            return warn(&format!(
                "there is no display here: fetch the page with `scp HOST:PATH {name}` and open it there; it \
                 needs no other file"
            ));
        }
        Screen::Nowhere => {
            return warn("there is no display here, so open the page on a machine that has one");
        }
        Screen::Here | Screen::Windows => {}
    }
    let Err(error) = open::that_detached(path) else { return };
    let why = match error.kind() {
        ErrorKind::NotFound => "no program was found that opens the page (xdg-open)".to_owned(),
        _ => format!("the page could not be opened ({error})"),
    };
    let windows = std::env::var_os("WSL_DISTRO_NAME").filter(|_| screen == Screen::Windows);
    warn(&match windows {
        Some(distribution) => format!(
            "{why}, so open it yourself; to Windows it is \\\\wsl.localhost\\{}{}",
            distribution.display(),
            path.display().to_string().replace('/', "\\")
        ),
        None => format!("{why}, so open it yourself"),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_tells_where_a_page_can_be_seen() {
        let screen = |set: &[&str]| {
            Screen::of(|name| set.contains(&name).then(|| OsString::from("something")))
        };
        assert_eq!(screen(&["DISPLAY"]), Screen::Here);
        assert_eq!(screen(&["WAYLAND_DISPLAY", "SSH_TTY"]), Screen::Here);
        // As an editor's remote window has it.
        assert_eq!(screen(&["BROWSER", "SSH_CONNECTION"]), Screen::Here);
        // Some have a display there, too; Windows' own browser is the better one.
        assert_eq!(screen(&["WSL_DISTRO_NAME", "DISPLAY"]), Screen::Windows);
        assert_eq!(screen(&["SSH_CONNECTION"]), Screen::FarAway);
        assert_eq!(screen(&[]), Screen::Nowhere);
        assert_eq!(Screen::of(|_| Some(OsString::new())), Screen::Nowhere);
    }

    #[test]
    fn a_clause_becomes_a_sentence() {
        assert_eq!(sentence("the first reading says 2 ms"), "The first reading says 2 ms.");
        assert_eq!(sentence("`x` is read. "), "`x` is read.");
        assert_eq!(sentence(""), ".");
    }

    #[test]
    fn files_of_another_machine_are_named_as_here() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let inside = root.path().join("exercises/01_one/src");
        std::fs::create_dir_all(&inside).expect("folders");
        std::fs::write(inside.join("lib.rs"), "//! One.\n").expect("a file");
        let here = inside.join("lib.rs").display().to_string();
        for (file, shown) in [
            (&here[..], Some("exercises/01_one/src/lib.rs")),
            ("/build/streamlings/exercises/01_one/src/lib.rs", Some("exercises/01_one/src/lib.rs")),
            ("exercises/01_one/src/lib.rs", None),
            ("/opt/registry/cudarc/src/lib.rs", None),
        ] {
            assert_eq!(shortened(file, root.path()).as_deref(), shown, "{file}");
        }
    }
}
