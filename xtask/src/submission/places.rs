//! Where the sources of each exercise are in a submission, and what there is to say of it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::handed_in::{is_passed_over, shown};
use crate::course::{Course, Exercise};

/// From here on two names are near.
const NEAR: f64 = 0.92;

/// The places in a submission.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// What paths are within: the submission, or its only folder.
    pub folder: PathBuf,
    /// The `src/` of each exercise that it has, by the name of the exercise's folder.
    pub found: BTreeMap<String, PathBuf>,
    /// What is there instead of an exercise that is graded, by the same name.
    pub hints: BTreeMap<String, String>,
    /// What the report says besides.
    pub remarks: Vec<String>,
}

impl Places {
    /// Looks through a folder for those exercises, of which these are graded.
    pub fn find(course: &Course, graded: &[&Exercise], folder: &Path) -> Places {
        // An archive often unpacks to a folder of its own.
        let folders: Vec<PathBuf> =
            [Some(folder.to_owned()), only_folder(folder)].into_iter().flatten().collect();
        let exact = folders.iter().map(|folder| Places::by_name(course, graded, folder));
        let found = exact.into_iter().find(|places| !places.found.is_empty());
        let mut alone = folders.iter().filter(|folder| has_src(folder));
        let mut places = match (found, alone.next()) {
            (Some(places), _) => places,
            (None, Some(folder)) => Places::alone(course, graded, folder),
            (None, None) => Places { folder: folder.to_owned(), ..Places::default() },
        };
        for folder in &folders {
            places.look_near(course, graded, folder);
            places.look_near(course, graded, &folder.join("exercises"));
        }
        if places.found.is_empty() {
            places.folder = folder.to_owned();
        }
        let hints = places.hints.values().cloned();
        places.remarks.extend(hints);
        places.remarks.dedup();
        places
    }

    /// By the names that folders have in a workspace.
    fn by_name(course: &Course, graded: &[&Exercise], folder: &Path) -> Places {
        let mut places = Places { folder: folder.to_owned(), ..Places::default() };
        let name = folder.file_name().unwrap_or_default();
        for exercise in &course.exercises {
            let itself = *exercise.folder == *name || *exercise.name == *name;
            let all = [
                Some(folder.join("exercises").join(&exercise.folder)),
                Some(folder.join(&exercise.folder)),
                Some(folder.join(&exercise.name)),
                itself.then(|| folder.to_owned()),
            ];
            let mut all = all.into_iter().flatten().filter(|place| has_src(place));
            let Some(taken) = all.next().map(|place| place.join("src")) else { continue };
            let others: Vec<String> = all
                .map(|place| place.join("src"))
                .filter(|src| src.canonicalize().ok() != taken.canonicalize().ok())
                .map(|src| places.named(&src))
                .collect();
            if !others.is_empty() && graded.iter().any(|graded| graded.name == exercise.name) {
                places.remarks.push(format!(
                    "{} is there more than once: {} is graded, and {} is not",
                    exercise.label(),
                    places.named(&taken),
                    crate::text::and(&others),
                ));
            }
            places.found.insert(exercise.folder.clone(), taken);
        }
        places
    }

    /// A folder that is one exercise, and does not have its name.
    fn alone(course: &Course, graded: &[&Exercise], folder: &Path) -> Places {
        let mut places = Places { folder: folder.to_owned(), ..Places::default() };
        let is = |name: &str, exercise: &Exercise| name == exercise.name || name == exercise.folder;
        let package = package(folder);
        let of_package = package
            .as_deref()
            .and_then(|name| course.exercises.iter().find(|exercise| is(name, exercise)));
        let by_name = folder.file_name().and_then(|name| nearest(course, name));
        let exercise = match (of_package, graded) {
            (Some(exercise), _) => Some(exercise),
            (None, [only]) if by_name.is_none_or(|near| near.name == only.name) => {
                let label = only.label();
                places.remarks.push(format!("its src/ is taken for {label}, which was asked for"));
                Some(*only)
            }
            (None, _) => None,
        };
        match (exercise, graded.first()) {
            (Some(exercise), _) => {
                places.found.insert(exercise.folder.clone(), folder.join("src"));
            }
            (None, Some(first)) if by_name.is_none() => places.remarks.push(format!(
                "its src/ is not graded, since nothing says of which exercise it is: put it into a \
                 folder of the exercise's name, such as {}, or name one exercise on the command line",
                first.folder
            )),
            (None, _) => {}
        }
        places
    }

    /// Folders whose names are nearly those of exercises that have not been found.
    fn look_near(&mut self, course: &Course, graded: &[&Exercise], folder: &Path) {
        let inside = folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
        let mut near: Vec<PathBuf> = inside.chain([folder.to_owned()]).collect();
        near.sort();
        for place in near.into_iter().filter(|place| has_src(place)) {
            let src = place.join("src");
            if self.found.values().any(|found| *found == src) {
                continue;
            }
            let Some(name) = place.file_name() else { continue };
            let Some(exercise) = nearest(course, name) else { continue };
            let is_graded = graded.iter().any(|graded| graded.name == exercise.name);
            if is_graded && !self.found.contains_key(&exercise.folder) {
                let folder = &exercise.folder;
                let name = shown(name);
                let hint = format!(
                    "the folder {name} is not graded: if it is this exercise, name it {folder}"
                );
                self.hints.entry(folder.clone()).or_insert(hint);
            }
        }
    }

    fn named(&self, path: &Path) -> String {
        shown(path.strip_prefix(&self.folder).unwrap_or(path).as_os_str())
    }
}

/// The exercise whose name this nearly is, or is with another number or in other letters.
fn nearest<'a>(course: &'a Course, name: &OsStr) -> Option<&'a Exercise> {
    let name = name.to_string_lossy().to_lowercase().replace(['-', ' ', '.'], "_");
    let name = name.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_');
    let likeness = |exercise: &Exercise| strsim::jaro_winkler(name, &exercise.name);
    let nearest = course.exercises.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    nearest.filter(|exercise| likeness(exercise) > NEAR)
}

fn has_src(folder: &Path) -> bool {
    folder.join("src").symlink_metadata().is_ok()
}

/// The package that a folder is, as its manifest says.
fn package(folder: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct Manifest {
        package: Package,
    }
    #[derive(Deserialize)]
    struct Package {
        name: String,
    }
    let file = folder.join("Cargo.toml");
    // Somebody else's file: no device, and not without an end.
    let plain = file.symlink_metadata().ok().filter(|file| file.is_file() && file.len() < 1 << 20);
    let text = plain.and_then(|_| std::fs::read_to_string(file).ok())?;
    Some(toml::from_str::<Manifest>(&text).ok()?.package.name)
}

/// The one folder in a folder, if there is one; links, hidden ones and files beside it do not count.
fn only_folder(folder: &Path) -> Option<PathBuf> {
    let entries = folder.read_dir().ok()?.flatten();
    let mut folders = entries.filter(|entry| {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        is_folder && !is_passed_over(&entry.file_name())
    });
    let only = folders.next()?.path();
    folders.next().is_none().then_some(only)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found in a submission of these files, and what is said.
    fn find(graded: &[usize], files: &[(&str, &str)]) -> (Vec<String>, String) {
        let course = Course::of_two();
        let graded: Vec<&Exercise> = graded.iter().map(|at| &course.exercises[*at]).collect();
        let class = tempfile::tempdir().expect("a temporary folder");
        let ada = class.path().join("ada");
        for (path, text) in files {
            let path = ada.join(path);
            std::fs::create_dir_all(path.parent().expect("it is in ada")).expect("it can be made");
            std::fs::write(path, text).expect("it can be written");
        }
        let places = Places::find(&course, &graded, &ada);
        let found = places.found.iter().map(|(exercise, src)| {
            format!("{exercise}: {}", src.strip_prefix(&ada).expect("it is hers").display())
        });
        (found.collect(), places.remarks.join("\n"))
    }

    #[test]
    fn one_exercise_alone_is_the_one_that_was_asked_for() {
        let file = [("src/lib.rs", "")];
        let (found, said) = find(&[0], &file);
        assert_eq!(found, ["01_async_launch: src"]);
        assert_eq!(said, "its src/ is taken for 01 async_launch, which was asked for");
        let (found, _) = find(&[1], &[("from-a-zip/src/lib.rs", "")]);
        assert_eq!(found, ["02_event_timing: from-a-zip/src"]);
        let (found, said) = find(&[0, 1], &file);
        assert_eq!(found, [""; 0]);
        assert!(said.contains("put it into a folder of the exercise's name"), "{said}");
    }

    #[test]
    fn a_manifest_names_the_exercise() {
        let manifest = ("Cargo.toml", "[package]\nname = \"event_timing\"\n");
        for graded in [&[0][..], &[1], &[0, 1]] {
            let (found, said) = find(graded, &[manifest, ("src/lib.rs", "")]);
            assert_eq!((found, said.as_str()), (vec!["02_event_timing: src".to_owned()], ""));
        }
        let other = ("Cargo.toml", "[package]\nname = \"homework\"\n");
        assert_eq!(find(&[0], &[other, ("src/lib.rs", "")]).0, ["01_async_launch: src"]);
    }

    #[test]
    fn nearly_the_name_is_a_hint() {
        for name in ["02_async_launch", "01_Async_Launch", "1-async-launch", "01_async_lanch"] {
            for within in ["", "exercises/", "from-a-zip/"] {
                let file = format!("{within}{name}/src/lib.rs");
                let (found, said) = find(&[0, 1], &[(&file, "")]);
                assert_eq!(found, [""; 0], "{file}");
                let hint = format!(
                    "the folder {name} is not graded: if it is this exercise, name it 01_async_launch"
                );
                assert_eq!(said, hint, "{file}");
            }
        }
        assert_eq!(find(&[0, 1], &[("notes/src/lib.rs", "")]).0, [""; 0]);
        // It is none of the exercise that was asked for.
        assert_eq!(find(&[0], &[("02-Event-Timing/src/lib.rs", "")]).0, [""; 0]);
    }

    #[test]
    fn of_two_versions_one_is_graded() {
        let files =
            [("exercises/01_async_launch/src/lib.rs", "1"), ("async_launch/src/lib.rs", "2")];
        let (found, said) = find(&[0, 1], &files);
        assert_eq!(found, ["01_async_launch: exercises/01_async_launch/src"]);
        let more = "01 async_launch is there more than once: exercises/01_async_launch/src is graded, and \
                    async_launch/src is not";
        assert_eq!(said, more);
        assert_eq!(find(&[1], &files).1, "");
    }
}
