//! Results that are kept: what has been graded once, by the same grader, is not graded again.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use streamlings_grade::Outcome;

use crate::grading::Graded;
use crate::text::counted;

/// How many results the run that goes on now is for; 0 where it keeps none.
static WANTED: AtomicUsize = AtomicUsize::new(0);
/// How many of them need not be graded again.
static SETTLED: AtomicUsize = AtomicUsize::new(0);
/// Whether it has thrown away what was kept before.
static FRESH: AtomicBool = AtomicBool::new(false);

/// What there is to say of the results when the run is interrupted; takes no lock.
pub fn interrupted() -> Option<String> {
    let [wanted, settled] = [&WANTED, &SETTLED].map(|count| count.load(Ordering::Relaxed));
    let without = if FRESH.load(Ordering::Relaxed) { " without --fresh" } else { "" };
    match (wanted, settled) {
        (0, _) => None,
        (_, 0) => Some("no result is kept yet".to_owned()),
        _ => Some(format!(
            "{settled} of {} kept, and the same command{without} goes on",
            if wanted == 1 { "1 result is".to_owned() } else { format!("{wanted} results are") },
        )),
    }
}

/// The kept results of one grader.
#[derive(Debug)]
pub struct Results {
    folder: PathBuf,
    /// Those that an earlier run has kept.
    earlier: HashSet<OsString>,
    /// How many were asked for, and how many of them were those.
    asked: AtomicUsize,
    found: AtomicUsize,
}

impl Results {
    /// Those of the grader with this fingerprint; none if they are to be fresh.
    ///
    /// # Errors
    /// The file system's.
    pub fn open(within: &Path, fingerprint: &str, fresh: bool) -> std::io::Result<Results> {
        FRESH.store(fresh, Ordering::Relaxed);
        let folder = within.join("results").join(fingerprint);
        if fresh && folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        let names = folder.read_dir()?.map(|entry| entry.map(|entry| entry.file_name()));
        let earlier = names.collect::<std::io::Result<_>>()?;
        Ok(Results { folder, earlier, asked: AtomicUsize::new(0), found: AtomicUsize::new(0) })
    }

    /// From here on results of so many exercises are wanted, of all submissions together.
    pub fn begin(&self, count: usize) {
        SETTLED.store(0, Ordering::Relaxed);
        WANTED.store(count, Ordering::Relaxed);
    }

    /// One of them is known, and needs no grading another time either.
    pub fn settle(&self) {
        SETTLED.fetch_add(1, Ordering::Relaxed);
    }

    /// What these sources got.
    pub fn find(&self, key: &str) -> Option<Graded> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let text = std::fs::read(self.folder.join(key)).ok()?;
        // One that cannot be read, as half of one cannot, is made anew.
        let graded = serde_json::from_slice(&text).ok()?;
        if self.earlier.contains(OsStr::new(key)) {
            self.found.fetch_add(1, Ordering::Relaxed);
        }
        self.settle();
        Some(graded)
    }

    /// What there is to say of those that an earlier run has kept, if any were of use.
    pub fn kept(&self) -> Option<String> {
        let [found, asked] = [&self.found, &self.asked].map(|count| count.load(Ordering::Relaxed));
        let said = format!("Kept: {found} of {}, from an earlier run", counted(asked, "result"));
        (found > 0).then_some(said)
    }

    /// Keeps what they got, unless it says nothing about them.
    ///
    /// # Errors
    /// The file system's.
    pub fn keep(&self, key: &str, graded: &Graded) -> anyhow::Result<()> {
        let outcomes = graded.cases.iter().map(|case| case.verdict.outcome);
        if !Outcome::of_cases(outcomes).is_about_the_code() {
            return Ok(());
        }
        // Another run may have thrown all of them away.
        std::fs::create_dir_all(&self.folder)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        serde_json::to_writer(&mut file, graded)?;
        file.persist(self.folder.join(key))?;
        self.settle();
        Ok(())
    }
}
