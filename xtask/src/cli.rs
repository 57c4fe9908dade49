//! The whole command line.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Exercises on CUDA streams, asynchronous copies and honest timing.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,

    /// The workspace to work in, if not the one that this was built from.
    #[arg(long, global = true, hide = true)]
    workspace: Option<PathBuf>,
}

impl Cli {
    /// The workspace's folder.
    pub fn root(&self) -> PathBuf {
        let built_in = Path::new(env!("CARGO_MANIFEST_DIR"));
        self.workspace.clone().unwrap_or_else(|| built_in.parent().unwrap_or(built_in).to_owned())
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Grades exercises: all of them, or those named.
    ///
    /// Exit codes: 0 all passed, 1 unsolved, 2 usage, 3 does not compile, 4 no device, 5 grader error.
    Check(CheckArguments),
    /// Tests the course itself: our crates, and that every starter, solution and mutant is graded as
    /// it should be.
    Verify(VerifyArguments),
    /// Judges scenarios (`.case` files, or folders of them) and recorded traces.
    ///
    /// Exit codes: 0 all is as expected and no trace has a race, 1 something is not.
    Judge(JudgeArguments),
    /// Measures the speed targets and prints one table.
    Bench,
    /// Makes the kernels' PTX anew from their CUDA C++ sources.
    Ptx(PtxArguments),
}

#[derive(Debug, Args)]
pub struct CheckArguments {
    /// Exercises, by number, name or path.
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,

    /// Grades the reference solutions instead of your code.
    #[arg(long)]
    pub solutions: bool,

    /// Grades this submission instead of your code: a copy of the workspace, or of some exercises.
    ///
    /// Only `src/` of each exercise is used, built and run apart from everything else.
    #[arg(long, value_name = "DIR", conflicts_with = "solutions")]
    pub submission: Option<PathBuf>,

    /// Grades each folder in this one as a submission.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["solutions", "submission"])]
    pub submissions: Option<PathBuf>,

    /// How many submissions are graded at a time.
    #[arg(long, value_name = "N", default_value = "1", requires = "submissions")]
    pub jobs: NonZeroUsize,

    /// Grades submissions anew that have been graded before.
    #[arg(long)]
    pub fresh: bool,

    /// Counts points as this file says, and shows them.
    #[arg(long, value_name = "FILE")]
    pub points: Option<PathBuf>,

    #[command(flatten)]
    pub run: RunArguments,

    /// How the report is written to standard output.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub format: Format,
}

/// How cases are run.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// The device: a GPU if there is one (auto), a GPU or nothing, or the emulated device.
    #[arg(long, value_enum, default_value_t = DeviceChoice::Auto)]
    pub device: DeviceChoice,

    /// Time limit for each case, in seconds.
    #[arg(long, value_name = "S", default_value = "30", value_parser = seconds)]
    pub time_limit: Duration,

    /// Draws sizes, data and delays from this seed, to repeat a run; each run draws anew without it.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

#[derive(Debug, Args)]
pub struct VerifyArguments {
    /// Leaves out the tests of our own crates.
    #[arg(long)]
    pub only_exercises: bool,

    /// Grades the hostile submissions, and nothing else.
    #[arg(long, conflicts_with = "only_exercises")]
    pub only_hostile: bool,

    #[command(flatten)]
    pub run: RunArguments,
}

#[derive(Debug, Args)]
pub struct JudgeArguments {
    /// Files to judge.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub struct PtxArguments {
    /// Only compares, and fails if the committed PTX is not what the sources give.
    #[arg(long)]
    pub check: bool,
}

/// A report's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For reading.
    Human,
    /// One JSON document; of several submissions, one a line.
    Json,
    /// JUnit XML.
    Junit,
    /// Annotations for GitHub Actions, and the job's summary.
    Github,
    /// A Markdown table.
    Markdown,
    /// Comma-separated values, a row for each submission.
    Csv,
}

/// What `STREAMLINGS_DEVICE` is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeviceChoice {
    /// A GPU if there is one, else the emulated device.
    Auto,
    /// A GPU, or no device.
    Gpu,
    /// The emulated device.
    Emulated,
}

impl DeviceChoice {
    /// As the driver takes it. `auto` leaves a choice that was made in the environment alone.
    pub fn variable(self) -> Option<&'static str> {
        match self {
            DeviceChoice::Auto => None,
            DeviceChoice::Gpu => Some("gpu"),
            DeviceChoice::Emulated => Some("emulated"),
        }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    text.parse()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|limit| !limit.is_zero())
        .ok_or_else(|| "give a number of seconds above 0".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn time_limits_are_seconds() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["0", "-1", "soon", "inf", "NaN", "1e400"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
