//! Bundles: all that a machine with nothing but a driver needs to grade, in one archive.
//!
//! ```text
//! streamlings-bundle/
//!   check            this program; under this name it grades what lies beside it
//!   manifest.json    what is in the bundle, and a digest of every other file
//!   README.txt
//!   course/          exercise.toml and README.md of each exercise, and the sources that are graded
//!   programs/        grade binaries; of a class's, the first of each exercise, and how the others differ from it
//!   submissions/     the sources of each submission, if it is a class's bundle
//!   results/         what ./check has graded of a class already, once it has
//! ```

pub mod archive;
pub mod delta;
pub mod glibc;
pub mod packed;
pub mod scratch;
pub mod unpacked;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::grading::{Part, Whose};

/// The version of the manifest; a bundle of another version is refused.
pub const FORMAT: u32 = 2;
/// The folder that an archive unpacks to.
pub const FOLDER: &str = "streamlings-bundle";
/// The manifest's file name.
pub const MANIFEST: &str = "manifest.json";
/// What this program is called in a bundle.
pub const PROGRAM: &str = "check";
/// Where the programs are.
pub const PROGRAMS: &str = "programs/";
/// The folders in which programs are put together to be run begin like this.
pub const RUNNING: &str = "running-";
/// A grade binary of the grader's own, which says what device there is.
pub const PROBE: &str = "programs/device";

/// What is in a bundle.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT`].
    pub format: u32,
    /// The version of this program.
    pub streamlings: String,
    /// The oldest glibc that all programs run with, as `2.34`; none if none of them says.
    pub glibc: Option<String>,
    /// What is graded.
    pub content: Content,
    /// Every file but the manifest, by its path with `/`.
    pub files: BTreeMap<String, File>,
}

/// What is graded. Paths of programs are within the bundle.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// The exercises or the solutions of the checkout.
    Own {
        /// Which of them.
        whose: Whose,
        /// By the exercise's name.
        exercises: BTreeMap<String, Part>,
    },
    /// What a class handed in.
    Class {
        /// The cases of each exercise, as the grader's own checkout has them.
        cases: BTreeMap<String, Vec<String>>,
        /// By name.
        submissions: Vec<Member>,
        /// The programs that are not in the bundle as they are, by their path.
        deltas: BTreeMap<String, Delta>,
    },
}

/// A program that is described as its difference from another. Paths are within the bundle.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Delta {
    /// The other program.
    pub base: String,
    /// The difference: see [`delta`].
    pub file: String,
    /// What the program is once it has been put together.
    pub whole: File,
}

/// A submission in a class's bundle.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Where its sources are, as a workspace.
    pub folder: PathBuf,
    /// What differed from the checkout and was not used.
    pub ignored: Vec<PathBuf>,
    /// What there is to say of where its exercises were.
    pub remarks: Vec<String>,
    /// By the exercise's name.
    pub exercises: BTreeMap<String, Part>,
}

/// A file of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// In bytes.
    pub size: u64,
    /// SHA-256, in hexadecimal digits.
    pub sha256: String,
}
