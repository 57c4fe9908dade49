//! What rustc's errors mean for whoever wrote the code.

use std::path::Path;

use cargo_metadata::diagnostic::{Diagnostic, DiagnosticSpan};
use streamlings_grade::{At, Finding, diagnosis};

use super::signatures::{self, Item};
use super::{Error, NotBuilt, rendered};
use crate::sources;
use crate::text::and;

/// How rustc begins to tell of the linker.
const LINKING: &str = "linking with ";

/// How near a name has to be that may be meant.
const NEAR: f64 = 0.85;

/// Of more changes than these only the names are told.
const SHOWN: usize = 3;

/// What rustc's errors, of which there is one at least, mean for whoever wrote the sources in a folder of this
/// workspace.
pub fn not_built(root: &Path, folder: &Path, starter: &Path, errors: &[Error]) -> NotBuilt {
    let said = errors.iter().map(|error| rendered(&error.diagnostic)).collect();
    // Nobody's code can say this of the cases' program.
    let without_linker = |error: &Error| {
        let message = &error.diagnostic.message;
        !error.in_library && message.starts_with("linker `") && message.ends_with("` not found")
    };
    if errors.iter().any(without_linker) {
        return NotBuilt::Grader(said);
    }
    let in_library = errors.iter().any(|error| error.in_library);
    let told: Vec<&Diagnostic> = errors
        .iter()
        .filter(|error| error.in_library == in_library)
        .map(|error| &error.diagnostic)
        .collect();
    let source = root.join(folder).join("src/lib.rs");
    if let Some(why) = nothing_there(&source).filter(|_| !in_library) {
        let finding = Finding::new(diagnosis::SOURCE_MISSING, format!("src/lib.rs {why}"));
        return NotBuilt::Unfit(Box::new(finding), said);
    }
    if told.iter().any(|error| !in_library && error.message.starts_with(LINKING)) {
        return NotBuilt::Learner(Box::new(explain(in_library, &told)), said);
    }
    let changed = changes(root, folder, starter);
    let is_behind = |change: &Change| match in_library {
        true => change.is_behind(&told),
        false => told.iter().any(|error| names(error, change)),
    };
    let (mut behind, others): (Vec<Change>, Vec<Change>) = changed.into_iter().partition(is_behind);
    if behind.is_empty() && !in_library {
        // The type of a field, say, is in none of rustc's words.
        behind = others.into_iter().filter(Change::is_certain).collect();
    }
    match explain_changes(&behind) {
        Some(finding) if !in_library => NotBuilt::Unfit(Box::new(finding), said),
        Some(finding) => NotBuilt::Learner(Box::new(finding), said),
        None => NotBuilt::Learner(Box::new(explain(in_library, &told)), said),
    }
}

/// Why there is no code, where there is none.
fn nothing_there(source: &Path) -> Option<&'static str> {
    if !source.is_file() {
        return Some("is not there");
    }
    let is_empty = std::fs::read_to_string(source).is_ok_and(|text| text.trim().is_empty());
    is_empty.then_some("is empty")
}

/// Something that the starter has, and the learner's code has not, or not so.
struct Change {
    wanted: Item,
    /// What is there instead, with its file, if anything is.
    found: Option<(Item, String)>,
    /// Whether the two may be the same all the same.
    is_doubtful: bool,
    /// What may be meant, and is missing under its own name, with its place.
    renamed: Option<(Item, At)>,
}

/// All of them, in the starter's order; none where there is no starter.
fn changes(root: &Path, folder: &Path, starter: &Path) -> Vec<Change> {
    let read = |folder: &Path| -> Vec<(String, String)> {
        let files = sources::read(folder).unwrap_or_default().into_iter();
        let files = files.filter(|(path, _)| path.extension().is_some_and(|ending| ending == "rs"));
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        files.map(|(path, bytes)| (path.display().to_string(), text(bytes))).collect()
    };
    let files = read(&root.join(folder).join("src"));
    let mine: Vec<(Item, &(String, String))> = files
        .iter()
        .flat_map(|file| signatures::items(&file.1).into_iter().map(move |item| (item, file)))
        .collect();
    let starter = read(starter);
    let wanted: Vec<Item> = starter.iter().flat_map(|(_, text)| signatures::items(text)).collect();
    let within = |file: &(String, String)| folder.join("src").join(&file.0).display().to_string();
    let own: Vec<(&Item, String)> = mine
        .iter()
        .filter(|(item, _)| wanted.iter().all(|wanted| wanted.name != item.name))
        .map(|(item, file)| (item, within(file)))
        .collect();
    let change = |wanted: &Item| {
        let named: Vec<_> = mine.iter().filter(|(item, _)| item.name == wanted.name).collect();
        if named.iter().any(|(item, _)| item.is_public && item.is_like(wanted)) {
            return None;
        }
        let found = named.first().map(|(item, file)| {
            let doubtful = signatures::may_mean_the_same(&file.1, item, wanted);
            (item.clone(), within(file), doubtful)
        });
        let is_doubtful = found.as_ref().is_some_and(|(.., doubtful)| *doubtful);
        Some(Change {
            wanted: wanted.clone(),
            renamed: if found.is_none() { renamed(wanted, &own) } else { None },
            found: found.map(|(item, path, _)| (item, path)),
            is_doubtful,
        })
    };
    wanted.iter().filter(|item| item.is_public).filter_map(change).collect()
}

/// Of the learner's own items the one that may be meant: with the same signature, or else with a name near by.
fn renamed(wanted: &Item, own: &[(&Item, String)]) -> Option<(Item, At)> {
    let near = |item: &Item| strsim::jaro_winkler(&item.name, &wanted.name);
    let is_candidate = |item: &Item| {
        // Structs without a public field would all be the same.
        let same = wanted.is_function && item.is_like(wanted);
        item.is_function == wanted.is_function && (same || near(item) > NEAR)
    };
    let rank = |item: &Item| f64::from(item.is_like(wanted)) + near(item);
    let candidates = own.iter().filter(|(item, _)| is_candidate(item));
    let (item, path) = candidates.max_by(|(a, _), (b, _)| rank(a).total_cmp(&rank(b)))?;
    Some(((*item).clone(), At::new(path, item.lines.start)))
}

impl Change {
    /// Whether it is there, and not as the cases use it.
    fn is_certain(&self) -> bool {
        let is_other = |(item, _): &(Item, String)| !item.is_like(&self.wanted);
        self.found.as_ref().is_some_and(is_other) && !self.is_doubtful
    }

    /// Whether errors in the learner's own code come of it: they are in the function itself, or where it is
    /// used. What is missing, or may be the same, is no reason.
    fn is_behind(&self, errors: &[&Diagnostic]) -> bool {
        let Some((item, path)) = &self.found else { return false };
        let is_within = |span: &DiagnosticSpan| {
            let line = u32::try_from(span.line_start).unwrap_or_default();
            span.file_name == *path && item.lines.contains(&line)
        };
        let is_here = |error: &&Diagnostic| {
            error.spans.iter().any(|span| span.is_primary && is_within(span)) || names(error, self)
        };
        self.is_certain() && errors.iter().any(is_here)
    }
}

/// Whether an error has to do with what was changed: it names that, or the code that it shows does.
fn names(error: &Diagnostic, change: &Change) -> bool {
    let name = change.wanted.last_name();
    let has = |text: &str| {
        text.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == name)
    };
    let shown = error.spans.iter().flat_map(|span| &span.text);
    has(&error.message) || shown.into_iter().any(|line| has(&line.text))
}

/// What has to be as it was, if anything was changed.
fn explain_changes(changes: &[Change]) -> Option<Finding> {
    let names: Vec<String> =
        changes.iter().map(|change| format!("`{}`", change.wanted.name)).collect();
    let (names, are) = (and(&names), if changes.len() == 1 { "is" } else { "are" });
    let is_missing = |change: &Change| match &change.found {
        None => true,
        Some((item, _)) => !item.is_public && item.is_like(&change.wanted),
    };
    let mut finding = if changes.is_empty() {
        return None;
    } else if changes.iter().all(|change| change.found.is_none()) {
        Finding::new(diagnosis::FUNCTION_MISSING, format!("{names} {are} not there"))
    } else if changes.iter().all(is_missing) {
        Finding::new(diagnosis::FUNCTION_MISSING, format!("{names} {are} not public"))
    } else {
        let them = if changes.len() == 1 { "it" } else { "them" };
        let why = format!("{names} {are} not as the grading cases use {them}");
        Finding::new(diagnosis::SIGNATURE_CHANGED, why)
    };
    for Change { wanted, found, renamed, .. } in changes.iter().take(SHOWN) {
        if let Some((item, path)) = found {
            finding = finding.at(At::new(path, item.lines.start), "");
            finding = finding.note(format!("it is `{}`", item.shown));
        }
        finding = finding.note(format!("it has to be `{}`", wanted.offered));
        if let Some((item, at)) = renamed {
            let name = &item.name;
            let what = match item.is_like(wanted) {
                true if item.is_function => "has the same signature",
                _ => "has a name like it",
            };
            finding = finding.note(format!("`{name}` ({}:{}) {what}", at.path, at.line));
        }
    }
    Some(finding)
}

/// What rustc's errors mean for the learner, by what rustc says; they are all in the library, or none is.
fn explain(in_library: bool, errors: &[&Diagnostic]) -> Finding {
    let Some(first) = errors.first() else {
        return Finding::new(diagnosis::DOES_NOT_COMPILE, "rustc rejected it");
    };
    let message = &first.message;
    if in_library {
        return Finding::new(diagnosis::DOES_NOT_COMPILE, format!("rustc: {message}"))
            .at(place(first), "");
    }
    if message.starts_with(LINKING) {
        return Finding::new(diagnosis::DOES_NOT_COMPILE, not_linked(first));
    }
    // The library compiles, and the grading cases do not find in it what they call.
    let code = first.code.as_ref().map(|code| code.code.as_str());
    match code {
        Some("E0425" | "E0432" | "E0433" | "E0603") => {
            Finding::new(diagnosis::FUNCTION_MISSING, format!("rustc, of the cases: {message}"))
        }
        _ => Finding::new(diagnosis::SIGNATURE_CHANGED, format!("rustc, of the cases: {message}")),
    }
}

/// What a linker's error means: as a rule, that a function is declared and is nowhere.
fn not_linked(diagnostic: &Diagnostic) -> String {
    let said = std::iter::once(&diagnostic.message)
        .chain(diagnostic.children.iter().map(|child| &child.message));
    let missing = said.flat_map(|text| text.lines()).find_map(|line| {
        let rest = ["undefined symbol: ", "undefined reference to "]
            .iter()
            .find_map(|phrase| Some(line.split_once(phrase)?.1))?;
        let name = rest.trim_matches(|c: char| !(c.is_alphanumeric() || c == '_'));
        Some(name.to_owned())
    });
    match missing {
        Some(name) => {
            format!("it compiles and does not link: `{name}` is declared and nowhere defined")
        }
        None => "it compiles, and the linker rejects it".to_owned(),
    }
}

fn place(diagnostic: &Diagnostic) -> Option<At> {
    let span = diagnostic.spans.iter().find(|span| span.is_primary)?;
    Some(At::new(span.file_name.replace('\\', "/"), u32::try_from(span.line_start).ok()?))
}
