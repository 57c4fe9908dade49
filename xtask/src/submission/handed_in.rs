//! A folder that somebody handed in: where the sources of each exercise are, and what is not used.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use super::places::Places;
use super::sources::{Refused, Sources};
use crate::course::{Course, Exercise};

/// How many files at most are compared with the checkout's own.
const MAX_COMPARED: usize = 20_000;

/// A submission.
#[derive(Clone, Debug)]
pub struct HandedIn {
    /// Its folder's name, as reports show it.
    pub name: String,
    /// The same as it is, which no other submission of a class has.
    pub listed: OsString,
    /// Files that were changed or added and are not used, by their path in the submission.
    pub ignored: Vec<PathBuf>,
    places: Places,
}

impl HandedIn {
    /// Looks through a submission for what these exercises are graded by: a copy of the workspace, a folder of
    /// exercises, or one exercise.
    ///
    /// # Errors
    /// Where there is no such folder, or it cannot be read.
    pub fn find(course: &Course, graded: &[&Exercise], folder: &Path) -> anyhow::Result<HandedIn> {
        let listed = listed(folder);
        let folder =
            folder.canonicalize().with_context(|| format!("no submission {}", folder.display()))?;
        ensure!(folder.is_dir(), "{} is not a folder", folder.display());
        let mut handed_in = HandedIn {
            name: shown(&listed),
            listed,
            ignored: Vec::new(),
            places: Places::find(course, graded, &folder),
        };
        handed_in.ignored = handed_in.unused(course);
        Ok(handed_in)
    }

    /// What there is to say of where its exercises are.
    pub fn remarks(&self) -> &[String] {
        &self.places.remarks
    }

    /// What it has instead of an exercise.
    pub fn hint(&self, exercise: &Exercise) -> Option<&str> {
        self.places.hints.get(&exercise.folder).map(String::as_str)
    }

    /// The sources for an exercise; none if it has none.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn sources(&self, exercise: &Exercise) -> Result<Option<Sources>, Refused> {
        let Some(src) = self.places.found.get(&exercise.folder) else { return Ok(None) };
        if src.canonicalize().is_ok_and(|target| !target.starts_with(&self.places.folder)) {
            return Err(Refused::new("src/ is a link that leaves the submission"));
        }
        Sources::read(src).map(Some)
    }

    /// What differs from the checkout's own and is not used.
    fn unused(&self, course: &Course) -> Vec<PathBuf> {
        let mut unused = Vec::new();
        let mut folders = vec![self.places.folder.clone()];
        let mut compared = 0;
        while let Some(folder) = folders.pop() {
            let Ok(entries) = folder.read_dir() else { continue };
            for entry in entries.flatten() {
                let path = entry.path();
                let Ok(kind) = entry.file_type() else { continue };
                let name = entry.file_name();
                let skipped =
                    ["target", ".git", ARCHIVERS_OWN].iter().any(|skipped| name == *skipped);
                if self.places.found.values().any(|src| *src == path) || skipped {
                    continue;
                }
                if kind.is_dir() {
                    folders.push(path);
                    continue;
                }
                compared += 1;
                let within = path.strip_prefix(&self.places.folder).unwrap_or(&path);
                if !self.is_own(course, within, &path) {
                    unused.push(within.to_owned());
                }
                if compared == MAX_COMPARED {
                    folders.clear();
                    break;
                }
            }
        }
        unused.sort();
        unused
    }

    /// Whether a file is just as the grader's checkout has it.
    fn is_own(&self, course: &Course, within: &Path, path: &Path) -> bool {
        // In a folder of exercises, or in one, paths begin further down.
        let name = self.places.folder.file_name().unwrap_or_default();
        let itself = self.places.folder.join("src");
        let is_this = |e: &&Exercise| {
            *e.folder == *name
                || *e.name == *name
                || self.places.found.get(&e.folder).is_some_and(|src| *src == itself)
        };
        let exercise = course.exercises.iter().find(is_this);
        let own = [
            Some(course.root.join(within)),
            Some(course.root.join("exercises").join(within)),
            exercise.map(|e| course.root.join("exercises").join(&e.folder).join(within)),
        ];
        own.into_iter().flatten().any(|own| same(&own, path))
    }
}

/// What some archivers add.
const ARCHIVERS_OWN: &str = "__MACOSX";

/// Whether a folder of this name is no submission.
pub fn is_passed_over(name: &OsStr) -> bool {
    name == ARCHIVERS_OWN || name.as_bytes().starts_with(b".")
}

/// A folder's own name, and not that of what a link leads to.
pub fn listed(folder: &Path) -> OsString {
    let named = folder.file_name().map(OsStr::to_owned);
    // `.` and `..` are listed nowhere.
    let meant = || Some(folder.canonicalize().ok()?.file_name()?.to_owned());
    named.or_else(meant).unwrap_or_default()
}

/// A name as reports show it, in one line: of two that differ, no two are shown alike.
pub fn shown(name: &OsStr) -> String {
    let mut shown = String::new();
    for chunk in name.as_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => shown += "\\\\",
                c if c.is_control() || is_unseen(c) => shown.extend(c.escape_default()),
                c => shown.push(c),
            }
        }
        shown.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    shown
}

/// Whether a character breaks a line, or turns its direction.
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether two plain files have the same bytes.
fn same(one: &Path, other: &Path) -> bool {
    let plain = |path: &Path| path.symlink_metadata().ok().filter(std::fs::Metadata::is_file);
    let (Some(a), Some(b)) = (plain(one), plain(other)) else { return false };
    a.len() == b.len()
        && matches!((std::fs::read(one), std::fs::read(other)), (Ok(a), Ok(b)) if a == b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_no_text_are_told_apart() {
        assert_eq!(shown(OsStr::from_bytes(b"ada\xff")), "ada\\xff");
        assert_eq!(shown(OsStr::from_bytes(b"ada\xfe")), "ada\\xfe");
        assert_eq!(shown(OsStr::new("Jos\u{e9}")), "Jos\u{e9}");
        assert_eq!(shown(OsStr::new("a\\xff")), "a\\\\xff");
        assert_eq!(shown(OsStr::new("a\nb\x1b[2J\u{202e}c")), "a\\nb\\u{1b}[2J\\u{202e}c");
    }

    #[test]
    fn a_link_has_a_name_of_its_own() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/usr", &link).expect("it can be made");
        assert_eq!(listed(&link), "link");
        assert_eq!(listed(Path::new("/usr/bin/..")), "usr");
    }
}
