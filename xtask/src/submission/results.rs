//! Results that are kept: what has been graded once, by the same grader, is not graded again.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use streamlings_grade::Outcome;

use crate::grading::Graded;
use crate::text::counted;

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
        let folder = within.join("results").join(fingerprint);
        if fresh && folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        let names = folder.read_dir()?.map(|entry| entry.map(|entry| entry.file_name()));
        let earlier = names.collect::<std::io::Result<_>>()?;
        Ok(Results { folder, earlier, asked: AtomicUsize::new(0), found: AtomicUsize::new(0) })
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
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        serde_json::to_writer(&mut file, graded)?;
        file.persist(self.folder.join(key))?;
        Ok(())
    }
}
