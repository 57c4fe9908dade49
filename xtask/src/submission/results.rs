//! Results that are kept: what has been graded once, by the same grader, is not graded again.

use std::path::{Path, PathBuf};

use streamlings_grade::Outcome;

use crate::grading::Graded;

/// The kept results of one grader.
#[derive(Clone, Debug)]
pub struct Results {
    folder: PathBuf,
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
        Ok(Results { folder })
    }

    /// What these sources got.
    pub fn find(&self, key: &str) -> Option<Graded> {
        let text = std::fs::read(self.folder.join(key)).ok()?;
        // One that cannot be read, as half of one cannot, is made anew.
        serde_json::from_slice(&text).ok()
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
