//! A folder that somebody handed in: where the sources of each exercise are, and what is not used.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use super::sources::{Refused, Sources};
use crate::course::{Course, Exercise};

/// How many files at most are compared with the checkout's own.
const MAX_COMPARED: usize = 20_000;

/// A submission.
#[derive(Clone, Debug)]
pub struct HandedIn {
    /// Its folder's name.
    pub name: String,
    /// Files that were changed or added and are not used, by their path in the submission.
    pub ignored: Vec<PathBuf>,
    folder: PathBuf,
    /// The `src/` of each exercise that it has, by the name of the exercise's folder.
    found: BTreeMap<String, PathBuf>,
}

impl HandedIn {
    /// Looks through a submission: a copy of the workspace, a folder of exercises, or one exercise.
    ///
    /// # Errors
    /// Where there is no such folder, or it cannot be read.
    pub fn find(course: &Course, folder: &Path) -> anyhow::Result<HandedIn> {
        let folder =
            folder.canonicalize().with_context(|| format!("no submission {}", folder.display()))?;
        ensure!(folder.is_dir(), "{} is not a folder", folder.display());
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut found = BTreeMap::new();
        for exercise in &course.exercises {
            let itself = [&exercise.folder, &exercise.name].contains(&&name);
            let places = [
                Some(folder.join("exercises").join(&exercise.folder)),
                Some(folder.join(&exercise.folder)),
                Some(folder.join(&exercise.name)),
                itself.then(|| folder.clone()),
            ];
            let mut places = places.into_iter().flatten().map(|place| place.join("src"));
            if let Some(src) = places.find(|src| src.symlink_metadata().is_ok()) {
                found.insert(exercise.folder.clone(), src);
            }
        }
        let mut handed_in = HandedIn { name, ignored: Vec::new(), folder, found };
        handed_in.ignored = handed_in.unused(course);
        Ok(handed_in)
    }

    /// The sources for an exercise; none if it has none.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn sources(&self, exercise: &Exercise) -> Result<Option<Sources>, Refused> {
        let Some(src) = self.found.get(&exercise.folder) else { return Ok(None) };
        if src.canonicalize().is_ok_and(|target| !target.starts_with(&self.folder)) {
            return Err(Refused::new("src/ is a link that leaves the submission"));
        }
        Sources::read(src).map(Some)
    }

    /// What differs from the checkout's own and is not used.
    fn unused(&self, course: &Course) -> Vec<PathBuf> {
        let mut unused = Vec::new();
        let mut folders = vec![self.folder.clone()];
        let mut compared = 0;
        while let Some(folder) = folders.pop() {
            let Ok(entries) = folder.read_dir() else { continue };
            for entry in entries.flatten() {
                let path = entry.path();
                let Ok(kind) = entry.file_type() else { continue };
                let name = entry.file_name();
                let skipped = name == "target" || name == ".git";
                if self.found.values().any(|src| *src == path) || skipped {
                    continue;
                }
                if kind.is_dir() {
                    folders.push(path);
                    continue;
                }
                compared += 1;
                let within = path.strip_prefix(&self.folder).unwrap_or(&path);
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
        let exercise =
            course.exercises.iter().find(|e| e.folder == self.name || e.name == self.name);
        let own = [
            Some(course.root.join(within)),
            Some(course.root.join("exercises").join(within)),
            exercise.map(|e| course.root.join("exercises").join(&e.folder).join(within)),
        ];
        own.into_iter().flatten().any(|own| same(&own, path))
    }
}

/// Whether two plain files have the same bytes.
fn same(one: &Path, other: &Path) -> bool {
    let plain = |path: &Path| path.symlink_metadata().ok().filter(std::fs::Metadata::is_file);
    let (Some(a), Some(b)) = (plain(one), plain(other)) else { return false };
    a.len() == b.len()
        && matches!((std::fs::read(one), std::fs::read(other)), (Ok(a), Ok(b)) if a == b)
}
