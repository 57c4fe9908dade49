//! Panics of the learner's code: what they said, and at which of the learner's lines.

use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::diagnosis;
use crate::verdict::{At, Finding};

/// The first panic since the last [`take`]: a panic that another thread passes on says less.
static FIRST: Mutex<Option<Panic>> = Mutex::new(None);

/// A panic.
#[derive(Clone, Debug)]
pub(crate) struct Panic {
    message: String,
    /// Where it was raised, as rustc names the file.
    raised: String,
    /// The innermost of the learner's lines on its stack.
    learner: Option<At>,
}

/// Where sources are: what is the learner's, and how paths are written in reports.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    /// The workspace's folder.
    pub workspace: PathBuf,
    /// The folders whose code is being graded.
    pub learner: Vec<PathBuf>,
}

impl Sources {
    /// The sources of the package in this folder of the workspace (`exercises/NN_name`).
    pub fn of_package(manifest_dir: &str) -> Sources {
        let package = Path::new(manifest_dir);
        // Where the sources are not at hand any more, a package lies two folders below the workspace.
        let root = package.ancestors().find(|folder| folder.join("Cargo.lock").exists());
        let workspace = root.or(package.ancestors().nth(2)).unwrap_or(package).to_owned();
        // Mutants come by `#[path]` from `tests/`, and rustc leaves the detour in the name.
        let learner = ["src", "mutants", "tests/../mutants"].map(|folder| package.join(folder));
        Sources { workspace, learner: learner.to_vec() }
    }

    /// The learner's line that this is, if it is one of theirs.
    pub fn learner_at(&self, file: &str, line: u32) -> Option<At> {
        let file = self.workspace.join(file);
        self.learner.iter().any(|folder| file.starts_with(folder)).then(|| self.at(&file, line))
    }

    /// A place as reports write it.
    pub fn at(&self, file: &Path, line: u32) -> At {
        let file = self.workspace.join(file);
        let mut path = PathBuf::new();
        for part in file.components() {
            match part {
                std::path::Component::ParentDir => {
                    path.pop();
                }
                part => path.push(part),
            }
        }
        let path = path.strip_prefix(&self.workspace).unwrap_or(&path);
        At::new(path.to_string_lossy().replace('\\', "/"), line)
    }
}

/// Notes every panic from here on, and prints it as before.
pub(crate) fn watch(sources: Sources) {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let panic = look(info, &sources);
        FIRST.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
        print(info);
    }));
}

/// The first panic since the last call.
pub(crate) fn take() -> Option<Panic> {
    FIRST.lock().unwrap_or_else(PoisonError::into_inner).take()
}

fn look(info: &PanicHookInfo<'_>, sources: &Sources) -> Panic {
    let payload = info.payload();
    let message = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        (None, None) => "(a panic without a message)".to_owned(),
    };
    let (raised, learner) = match info.location() {
        Some(location) => (
            format!("{}:{}", location.file(), location.line()),
            sources.learner_at(location.file(), location.line()),
        ),
        None => ("an unknown place".to_owned(), None),
    };
    Panic { message, raised, learner: learner.or_else(|| innermost_line(sources)) }
}

/// The innermost of the learner's lines on this thread's stack.
fn innermost_line(sources: &Sources) -> Option<At> {
    let backtrace = backtrace::Backtrace::new();
    backtrace.frames().iter().flat_map(|frame| frame.symbols()).find_map(|symbol| {
        sources.learner_at(&symbol.filename()?.to_string_lossy(), symbol.lineno()?)
    })
}

impl Panic {
    /// Whether the learner's code has a part in it.
    pub fn is_learners(&self) -> bool {
        self.learner.is_some()
    }

    /// What the learner is told.
    pub fn finding(self) -> Finding {
        let message = self.message.lines().next().unwrap_or_default().to_owned();
        // What `todo!()` and `unimplemented!()` say.
        let undone = ["not yet implemented", "not implemented"];
        if undone.iter().any(|start| message.starts_with(start)) {
            return Finding::new(diagnosis::NOT_DONE, "the code says that it is not written yet")
                .at(self.learner, "not written yet");
        }
        let in_own_line = self.learner.as_ref().is_some_and(|at| at.to_string() == self.raised);
        let mut finding = Finding::new(diagnosis::PANICKED, format!("it panicked: {message}"));
        if !in_own_line {
            finding = finding.note(format!("raised in {}", self.raised));
        }
        finding.at(self.learner, "panicked here")
    }

    /// What is said where it was the case that panicked, and not the learner's code.
    pub fn graders_finding(self) -> Finding {
        Finding::new(
            diagnosis::GRADER_PANICKED,
            format!("the grading case panicked at {}: {}", self.raised, self.message),
        )
    }
}
