//! What is remembered from one command to the next: outcomes, passes, hints revealed.
//!
//! One file, `.streamlings/state.json`. A change is read, made and written under a lock, so that two
//! commands at once lose nothing; the file is written beside itself and renamed, so that it is whole or
//! the old one. A file that cannot be read, or that a newer version wrote, is never overwritten: the
//! next change puts it aside and says where.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use streamlings_grade::Outcome;
use streamlings_trace::Device;

use crate::course::{Course, Exercise};

/// The version of the file.
pub const VERSION: u32 = 1;

/// The folder for all that belongs to this workspace's learner, below the workspace.
pub const FOLDER: &str = ".streamlings";
const FILE: &str = "state.json";
const LOCK: &str = "state.lock";
/// What half-written files are called; one that is found under the lock is nobody's any more.
const HALF: &str = "state.json.half-";

/// All that is remembered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    version: u32,
    /// By the exercise's name.
    exercises: BTreeMap<String, Record>,
}

impl Default for State {
    fn default() -> State {
        State { version: VERSION, exercises: BTreeMap::new() }
    }
}

/// What is remembered of one exercise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// How the last check that said something about the code ended.
    pub outcome: Option<Outcome>,
    /// The digest of the source that it was about.
    pub source: Option<String>,
    /// The last pass.
    pub passed: Option<Pass>,
    /// How many hints have been shown.
    pub hints: usize,
}

/// A pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// When.
    pub at: Timestamp,
    /// On which device.
    pub device: Option<Device>,
}

impl Record {
    /// Takes in how a check ended. What says nothing about the code changes nothing.
    pub fn take_in(&mut self, outcome: Outcome, source: Option<String>, device: Option<Device>) {
        if !outcome.is_about_the_code() {
            return;
        }
        self.outcome = Some(outcome);
        self.source = source;
        if outcome == Outcome::Passed {
            self.passed = Some(Pass { at: Timestamp::now(), device });
        }
    }

    /// Whether the last check passed.
    pub fn is_passed(&self) -> bool {
        self.outcome == Some(Outcome::Passed)
    }
}

impl Pass {
    /// When, by the clock on the wall: `2026-02-03 14:15`.
    pub fn local_time(&self) -> String {
        self.at.to_zoned_datetime(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
    }
}

impl State {
    /// What is remembered of an exercise.
    pub fn of(&self, exercise: &str) -> Record {
        self.exercises.get(exercise).cloned().unwrap_or_default()
    }

    /// The same, to change it.
    pub fn of_mut(&mut self, exercise: &str) -> &mut Record {
        self.exercises.entry(exercise.to_owned()).or_default()
    }

    /// The first exercise of a course that is not passed.
    pub fn next<'a>(&self, course: &'a Course) -> Option<&'a Exercise> {
        course.exercises.iter().find(|exercise| !self.of(&exercise.name).is_passed())
    }

    /// The exercise to go on with after those of these numbers: the first open one behind the last of
    /// them, else the first open one.
    pub fn after<'a>(&self, course: &'a Course, done: &[u32]) -> Option<&'a Exercise> {
        let is_open = |e: &&Exercise| !done.contains(&e.number) && !self.of(&e.name).is_passed();
        let mut open = course.exercises.iter().filter(is_open);
        let last = done.iter().max().copied().unwrap_or(0);
        open.clone().find(|e| e.number > last).or_else(|| open.next())
    }
}

/// Where the state of a workspace is kept.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

/// Something, and what had to be said on the way to it.
#[derive(Debug)]
pub struct Told<T> {
    /// It.
    pub value: T,
    /// A sentence for the learner.
    pub remark: Option<String>,
}

impl<T> Told<T> {
    /// Passes the remark on to standard error.
    pub fn aloud(self) -> T {
        if let Some(remark) = &self.remark {
            crate::text::warn(remark);
        }
        self.value
    }
}

/// Why a file is not our state.
enum Unusable {
    Newer(u32),
    Unreadable(String),
}

impl Store {
    /// That of a workspace.
    pub fn of(root: &Path) -> Store {
        Store { folder: root.join(FOLDER) }
    }

    fn file(&self) -> PathBuf {
        self.folder.join(FILE)
    }

    /// What is remembered. Nothing, with a remark, where the file cannot be used; it stays as it is.
    pub fn read(&self) -> Told<State> {
        match self.load() {
            Ok(state) => Told { value: state, remark: None },
            Err(unusable) => {
                let remark = format!(
                    "{}; your progress is taken as none until then, and nothing is overwritten",
                    self.complaint(&unusable)
                );
                Told { value: State::default(), remark: Some(remark) }
            }
        }
    }

    /// Changes what is remembered.
    ///
    /// # Errors
    /// Where the folder or the file cannot be written: nothing was changed then.
    pub fn update<T>(&self, change: impl FnOnce(&mut State) -> T) -> anyhow::Result<Told<T>> {
        let path = self.file();
        let attempt = || -> anyhow::Result<Told<T>> {
            fs::create_dir_all(&self.folder)?;
            let lock = File::create(self.folder.join(LOCK))?;
            let lock = Flock::lock(lock, FlockArg::LockExclusive).map_err(|(_, error)| error)?;
            let (mut state, remark) = match self.load() {
                Ok(state) => (state, None),
                Err(unusable) => {
                    let kept = self.put_aside()?;
                    let complaint = self.complaint(&unusable);
                    let remark =
                        format!("{complaint}; it is kept as {}, and a new one begins", kept);
                    (State::default(), Some(remark))
                }
            };
            let value = change(&mut state);
            self.write(&state)?;
            drop(lock);
            Ok(Told { value, remark })
        };
        attempt().with_context(|| format!("{} cannot be written", path.display()))
    }

    fn load(&self) -> Result<State, Unusable> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let unreadable = |error: &dyn std::fmt::Display| Unusable::Unreadable(error.to_string());
        let bytes = match fs::read(self.file()) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(State::default()),
            Err(error) => return Err(unreadable(&error)),
        };
        let Versioned { version } =
            serde_json::from_slice(&bytes).map_err(|error| unreadable(&error))?;
        match version {
            VERSION => serde_json::from_slice(&bytes).map_err(|error| unreadable(&error)),
            newer if newer > VERSION => Err(Unusable::Newer(newer)),
            other => Err(unreadable(&format!("there never was a version {other}"))),
        }
    }

    fn complaint(&self, unusable: &Unusable) -> String {
        let file = self.file();
        let file = file.display();
        match unusable {
            Unusable::Newer(version) => format!(
                "{file} is of version {version}, and this program knows versions up to {VERSION}"
            ),
            Unusable::Unreadable(why) => format!("{file} cannot be read ({why})"),
        }
    }

    /// Renames the file to a name that is free, and returns that name.
    fn put_aside(&self) -> anyhow::Result<String> {
        for number in 1..1000 {
            let name = format!("{FILE}.kept-{number}");
            let kept = self.folder.join(&name);
            // Nobody else takes the name between these two: the lock is held.
            if !kept.try_exists()? {
                fs::rename(self.file(), &kept)?;
                return Ok(name);
            }
        }
        bail!("there are a thousand files put aside already")
    }

    /// Writes the file: whole, or not at all. The lock is held.
    fn write(&self, state: &State) -> anyhow::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(HALF) {
                fs::remove_file(entry.path())?;
            }
        }
        let mut file = tempfile::Builder::new().prefix(HALF).tempfile_in(&self.folder)?;
        serde_json::to_writer_pretty(&mut file, state)?;
        file.write_all(b"\n")?;
        file.as_file().sync_all()?;
        file.persist(self.file())?;
        // The new name is on the disk once its folder is.
        File::open(&self.folder)?.sync_all()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use streamlings_trace::DeviceKind;

    use super::*;

    fn store() -> (tempfile::TempDir, Store) {
        let root = tempfile::tempdir().expect("a temporary folder");
        let store = Store::of(root.path());
        (root, store)
    }

    fn device() -> Option<Device> {
        Some(Device { kind: DeviceKind::Emulated, name: "emulated device (no GPU)".to_owned() })
    }

    fn pass(store: &Store, exercise: &str) -> Option<String> {
        let take_in = |state: &mut State| {
            state.of_mut(exercise).take_in(Outcome::Passed, Some("digest".to_owned()), device());
        };
        store.update(take_in).expect("it can be written").remark
    }

    fn names(store: &Store) -> Vec<String> {
        let entries = fs::read_dir(&store.folder).expect("the folder is there");
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let mut names: Vec<String> =
            entries.map(|entry| name(entry.expect("an entry can be read"))).collect();
        names.sort();
        names
    }

    #[test]
    fn what_was_remembered_is_read_back() {
        let (_root, store) = store();
        assert_eq!(store.read().value, State::default());
        assert_eq!(pass(&store, "async_launch"), None);
        let record = store.read().value.of("async_launch");
        assert!(record.is_passed());
        assert_eq!(record.source.as_deref(), Some("digest"));
        assert_eq!(record.passed.and_then(|pass| pass.device), device());
        assert_eq!(store.read().value.of("event_timing"), Record::default());
    }

    #[test]
    fn a_pass_is_remembered_through_later_failures_and_troubles() {
        let mut record = Record::default();
        record.take_in(Outcome::Passed, Some("a".to_owned()), device());
        let first = record.clone();
        record.take_in(Outcome::GraderError, Some("b".to_owned()), None);
        record.take_in(Outcome::NoDevice, Some("b".to_owned()), None);
        assert_eq!(record, first);
        record.take_in(Outcome::Raced, Some("b".to_owned()), None);
        assert!(!record.is_passed());
        assert_eq!(record.source.as_deref(), Some("b"));
        assert_eq!(record.passed, first.passed);
    }

    #[test]
    fn a_half_written_file_is_no_state_and_goes() {
        let (_root, store) = store();
        pass(&store, "one");
        fs::write(store.folder.join(format!("{HALF}abc")), "{\"version\": 1, \"exer")
            .expect("it can be written");
        assert!(store.read().value.of("one").is_passed());
        assert_eq!(pass(&store, "two"), None);
        assert!(store.read().value.of("one").is_passed());
        assert_eq!(names(&store), [FILE, LOCK]);
    }

    #[test]
    fn what_cannot_be_used_is_kept_beside_and_said() {
        for (text, why) in [
            ("{\"version\": 7, \"soul\": []}", "is of version 7"),
            ("{\"version\": 1, \"exercises\": 3}", "cannot be read"),
            ("{\"version\": 0}", "there never was a version 0"),
            ("", "cannot be read"),
        ] {
            let (_root, store) = store();
            pass(&store, "one");
            fs::write(store.file(), text).expect("it can be written");

            // Reading alone changes nothing.
            let read = store.read();
            assert_eq!(read.value, State::default());
            assert!(read.remark.is_some_and(|remark| remark.contains(why)), "{text}");
            assert_eq!(fs::read_to_string(store.file()).ok().as_deref(), Some(text));

            // Twice, so that the second does not take the first one's name.
            for kept in ["state.json.kept-1", "state.json.kept-2"] {
                fs::write(store.file(), text).expect("it can be written");
                let remark = pass(&store, "two").expect("it is said");
                assert!(remark.contains(why) && remark.contains(kept), "{remark}");
                assert_eq!(fs::read_to_string(store.folder.join(kept)).ok().as_deref(), Some(text));
                assert!(store.read().value.of("two").is_passed());
            }
        }
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_an_error_that_names_the_file() {
        let root = tempfile::tempdir().expect("a temporary folder");
        // Even the superuser makes no files there.
        std::os::unix::fs::symlink("/proc/self", root.path().join(FOLDER)).expect("a link");
        let error = Store::of(root.path()).update(|_| ()).expect_err("it cannot be written");
        let error = format!("{error:#}");
        assert!(error.contains("state.json cannot be written: "), "{error}");
    }
}
