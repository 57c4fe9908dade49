//! The exercises of a workspace: the folders of `exercises/`, in the order of their numbers.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde::Deserialize;
use streamlings_grade::diagnosis;

/// An exercise: a folder `exercises/NN_name`, a package `name`, and its `exercise.toml`.
#[derive(Clone, Debug)]
pub struct Exercise {
    /// Its place in the course, from 1.
    pub number: u32,
    /// Its name, which is that of its package.
    pub name: String,
    /// Its folder's name.
    pub folder: String,
    /// What it teaches, in a line.
    pub title: String,
    /// Every case, and what the starter must get in it. They have to be there, whatever the learner's
    /// binary says, and are what is counted where there is none.
    pub intended: Vec<Intended>,
    /// Hints, each saying a little more than the one before.
    pub hints: Vec<String>,
}

impl Exercise {
    /// `01 async_launch`.
    pub fn label(&self) -> String {
        format!("{:02} {}", self.number, self.name)
    }

    /// The cases that it must have.
    pub fn intended_cases(&self) -> Vec<String> {
        self.intended.iter().map(|intended| intended.case.clone()).collect()
    }

    /// The learner's sources, within the workspace.
    pub fn source(&self) -> PathBuf {
        Path::new("exercises").join(&self.folder).join("src")
    }

    /// The starter's sources, within the workspace: what the learner's were at first.
    pub fn starter(&self) -> PathBuf {
        Path::new("solutions").join(&self.folder).join("starter")
    }
}

/// What the starter must get in one case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Intended {
    /// The case.
    pub case: String,
    /// The code of the diagnosis; without one the starter passes.
    pub diagnosis: Option<String>,
    /// Whether the exercise passes without the case.
    #[serde(default)]
    pub optional: bool,
}

impl Exercise {
    /// Whether the exercise passes without a case. The binary that has the case is not asked: the
    /// learner's code is in it.
    pub fn passes_without(&self, case: &str) -> bool {
        self.intended.iter().any(|intended| intended.case == case && intended.optional)
    }
}

/// An `exercise.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExerciseFile {
    /// What it teaches, in a line.
    title: String,
    /// All cases.
    intended: Vec<Intended>,
    /// Hints, each saying a little more than the one before.
    #[serde(default)]
    hints: Vec<String>,
}

/// A workspace and its exercises.
#[derive(Clone, Debug)]
pub struct Course {
    /// The workspace's folder.
    pub root: PathBuf,
    /// In order.
    pub exercises: Vec<Exercise>,
}

/// Somebody named an exercise that there is not.
#[derive(Debug, PartialEq, Eq)]
pub struct UnknownExercise {
    name: String,
    nearest: Option<String>,
    all: Vec<String>,
}

impl fmt::Display for UnknownExercise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no exercise `{}`", self.name)?;
        match &self.nearest {
            Some(nearest) => write!(f, "; did you mean `{nearest}`?"),
            None => write!(f, "; there are {}", self.all.join(", ")),
        }
    }
}

impl std::error::Error for UnknownExercise {}

impl Course {
    /// Reads the exercises of a workspace, of which there has to be one.
    ///
    /// # Errors
    /// Where there is none, or a folder or an `exercise.toml` is not as it has to be.
    pub fn read(root: &Path) -> anyhow::Result<Course> {
        let course = Course::begun(root)?;
        ensure!(
            !course.exercises.is_empty(),
            "there are no exercises in {}; run `cargo xtask` in a clone that has them",
            root.join("exercises").display()
        );
        Ok(course)
    }

    /// Reads those of a workspace that may have none yet.
    ///
    /// # Errors
    /// Where a folder or an `exercise.toml` is not as it has to be.
    pub fn begun(root: &Path) -> anyhow::Result<Course> {
        let folder = root.join("exercises");
        let mut exercises = Vec::new();
        let entries = if folder.exists() { Some(folder.read_dir()?) } else { None };
        for entry in entries.into_iter().flatten() {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                exercises.push(read_exercise(&entry.path())?);
            }
        }
        exercises.sort_by_key(|exercise| exercise.number);
        Ok(Course { root: root.to_owned(), exercises })
    }

    /// The exercises of these names, in the course's order; all of them for none.
    ///
    /// # Errors
    /// [`UnknownExercise`].
    pub fn select(&self, names: &[String]) -> Result<Vec<&Exercise>, UnknownExercise> {
        let wanted = names.iter().map(|name| self.find(name)).collect::<Result<Vec<_>, _>>()?;
        let is_wanted = |e: &&Exercise| names.is_empty() || wanted.iter().any(|w| w.name == e.name);
        Ok(self.exercises.iter().filter(is_wanted).collect())
    }

    /// An exercise by its number, its name, or a path to it or into it.
    ///
    /// # Errors
    /// [`UnknownExercise`].
    pub fn find(&self, name: &str) -> Result<&Exercise, UnknownExercise> {
        let path = Path::new(name).canonicalize().unwrap_or_else(|_| PathBuf::from(name));
        let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
        let number = name.parse().ok();
        let found = self.exercises.iter().find(|exercise| {
            number == Some(exercise.number)
                || exercise.name == name
                || parts.iter().any(|part| *part == exercise.folder)
        });
        found.ok_or_else(|| self.unknown(name))
    }

    fn unknown(&self, name: &str) -> UnknownExercise {
        let near = |exercise: &Exercise| {
            strsim::jaro_winkler(name, &exercise.name)
                .max(strsim::jaro_winkler(name, &exercise.folder))
        };
        let nearest = self.exercises.iter().max_by(|a, b| near(a).total_cmp(&near(b)));
        UnknownExercise {
            name: name.to_owned(),
            nearest: nearest.filter(|e| near(e) > 0.7).map(|exercise| exercise.name.clone()),
            all: self.exercises.iter().map(Exercise::label).collect(),
        }
    }
}

fn read_exercise(path: &Path) -> anyhow::Result<Exercise> {
    let folder = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (number, name) = folder
        .split_once('_')
        .and_then(|(number, name)| Some((number.parse().ok()?, name.to_owned())))
        .with_context(|| format!("exercises/{folder} is not named like 01_async_launch"))?;
    let file = path.join("exercise.toml");
    let text = std::fs::read_to_string(&file)
        .with_context(|| format!("{} cannot be read", file.display()))?;
    let ExerciseFile { title, intended, hints } = toml::from_str(&text)
        .with_context(|| format!("{} is not as it has to be", file.display()))?;
    ensure!(!intended.is_empty(), "{}: the starter must fail some case", file.display());
    let required = |intended: &Intended| !intended.optional && intended.diagnosis.is_some();
    let required = intended.iter().any(required);
    ensure!(required, "{}: the starter must fail a case that is required", file.display());
    for code in intended.iter().filter_map(|intended| intended.diagnosis.as_ref()) {
        let known = diagnosis::find(code).is_some();
        ensure!(known, "{}: there is no diagnosis `{code}`", file.display());
    }
    Ok(Exercise { number, name, folder, title, intended, hints })
}

#[cfg(test)]
impl Course {
    /// One for tests: 01_async_launch and 02_event_timing, in no folder.
    pub fn of_two() -> Course {
        let exercise = |number, name: &str| Exercise {
            number,
            name: name.to_owned(),
            folder: format!("{number:02}_{name}"),
            title: String::new(),
            intended: Vec::new(),
            hints: Vec::new(),
        };
        let exercises = vec![exercise(1, "async_launch"), exercise(2, "event_timing")];
        Course { root: PathBuf::new(), exercises }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course() -> Course {
        Course::of_two()
    }

    fn names(arguments: &[&str]) -> Result<Vec<String>, String> {
        let arguments: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
        let course = course();
        let selected = course.select(&arguments).map_err(|unknown| unknown.to_string())?;
        Ok(selected.into_iter().map(Exercise::label).collect())
    }

    #[test]
    fn exercises_are_named_by_number_name_or_path() {
        let second = Ok(vec!["02 event_timing".to_owned()]);
        for name in [
            "2",
            "02",
            "event_timing",
            "02_event_timing",
            "exercises/02_event_timing",
            "./exercises/02_event_timing/",
            "exercises/02_event_timing/src/lib.rs",
            "/home/me/streamlings/exercises/02_event_timing",
        ] {
            assert_eq!(names(&[name]), second, "{name}");
        }
    }

    #[test]
    fn all_for_none_and_each_once_in_order() {
        let both = Ok(vec!["01 async_launch".to_owned(), "02 event_timing".to_owned()]);
        assert_eq!(names(&[]), both);
        assert_eq!(names(&["2", "1", "event_timing"]), both);
    }

    #[test]
    fn an_unknown_name_gets_the_nearest() {
        assert_eq!(
            names(&["event_timeing"]),
            Err("there is no exercise `event_timeing`; did you mean `event_timing`?".to_owned())
        );
        assert_eq!(
            names(&["7"]),
            Err("there is no exercise `7`; there are 01 async_launch, 02 event_timing".to_owned())
        );
    }

    #[test]
    fn an_exercise_is_read_from_its_folder() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let folder = root.path().join("exercises/03_pinned_copies");
        std::fs::create_dir_all(&folder).expect("it can be made");
        let write = |text: &str| {
            std::fs::write(folder.join("exercise.toml"), text).expect("it can be written");
            Course::read(root.path())
        };

        let course = write(
            "title = 'T'\nintended = [{ case = 'a', diagnosis = 'not-done' }]\nhints = ['look']",
        );
        let course = course.expect("it is as it has to be");
        assert_eq!(course.exercises[0].label(), "03 pinned_copies");
        assert_eq!(course.exercises[0].intended[0].diagnosis.as_deref(), Some("not-done"));
        assert_eq!(course.exercises[0].hints, ["look"]);
        assert!(!course.exercises[0].passes_without("a"));

        let optional = "{ case = 'b', diagnosis = 'not-done', optional = true }";
        let course = write(&format!(
            "title = 'T'\nintended = [{{ case = 'a', diagnosis = 'hung' }}, {optional}]"
        ));
        let course = course.expect("it is as it has to be");
        assert!(course.exercises[0].passes_without("b"));
        assert!(write(&format!("title = 'T'\nintended = [{optional}]")).is_err());
        assert!(write("title = 'T'\nintended = [{ case = 'passes' }]").is_err());

        let unknown = write("title = 'T'\nintended = [{ case = 'a', diagnosis = 'no-such' }]");
        let unknown = unknown.expect_err("there is no such code").to_string();
        assert!(unknown.ends_with("there is no diagnosis `no-such`"), "{unknown}");
        assert!(write("title = 'T'\nintended = []").is_err());
        let typo = "title = 'T'\nhint = []\nintended = [{ case = 'a', diagnosis = 'hung' }]";
        assert!(write(typo).is_err());
    }
}
