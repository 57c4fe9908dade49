//! What grading cases call: runs of the learner's code, findings, verdicts, and who supervises them.
//!
//! A grade binary (an exercise's `tests/grade.rs`) holds an exercise's cases and [`main`]. Each case
//! runs in a process of its own, the same binary called with `--case NAME`. That process runs the
//! learner's code, judges what the driver recorded, and writes a [`Verdict`] file. Who started it, the
//! command line or the binary itself under `cargo test`, is its [supervisor](supervise): it ends the
//! process at a limit, and takes nothing but the verdict file for a pass.
//!
//! ```text
//! cases.rs ── Finding ──> Verdict (file) ──> supervise ──> report
//!    │  Grader::run
//!    └─> learner's code ──> driver ──> Trace ──> analyses ──> Finding
//! ```
//!
//! Invariants:
//! - a process that ends in any way but by its own verdict has not passed;
//! - the learner's code finds neither the verdict's path nor its nonce in the environment;
//! - without the feature `run`, nothing here links the driver.

#![forbid(unsafe_code)]

pub mod diagnosis;
mod outcome;
pub mod supervise;
mod verdict;

#[cfg(feature = "run")]
mod aftermath;
#[cfg(feature = "run")]
mod cases;
#[cfg(feature = "run")]
pub mod checks;
#[cfg(feature = "run")]
mod entry;
#[cfg(feature = "run")]
mod grader;
#[cfg(feature = "run")]
pub mod marks;
#[cfg(feature = "run")]
mod mutants;
#[cfg(feature = "run")]
mod panics;

pub use diagnosis::Diagnosis;
pub use outcome::Outcome;
pub use verdict::{
    At, CaseInfo, Description, Figure, Finding, Job, NoVerdict, SCHEMA, Spot, Verdict,
};

#[cfg(feature = "run")]
pub use cases::{Case, CaseFn, Cases};
#[cfg(feature = "run")]
pub use entry::{main, mutants_main};
#[cfg(feature = "run")]
pub use grader::{Grader, Run};
#[cfg(feature = "run")]
pub use mutants::Mutant;
