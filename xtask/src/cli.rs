//! The whole command line of `cargo xtask`. That of a bundle is in `bundled.rs`, what options take in `values.rs`.

mod bundled;
mod values;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

pub use self::bundled::BundledCheck;
pub use self::values::{Also, Answer, DeviceChoice, Format, PictureFormat, check_output};
use self::values::{seconds, seed};

/// Exercises on CUDA streams, asynchronous copies and honest timing.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,

    /// The workspace to work in, if not the one that cargo runs this in.
    #[arg(long, global = true, hide = true)]
    workspace: Option<PathBuf>,
}

impl Cli {
    /// The workspace's folder.
    pub fn root(&self) -> PathBuf {
        let folder = || workspace_of(&package_folder(|name| std::env::var_os(name)));
        self.workspace.clone().unwrap_or_else(folder)
    }
}

/// This package's folder. cargo takes this program for fresh in a clone that was copied or moved with its target
/// folder, so the folder that it was built in is only asked for where cargo has not started it.
fn package_folder(variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
    let is_this = variable("CARGO_PKG_NAME").is_some_and(|name| name == env!("CARGO_PKG_NAME"));
    let running = variable("CARGO_MANIFEST_DIR").filter(|_| is_this);
    running.map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from)
}

fn workspace_of(package: &Path) -> PathBuf {
    package.parent().unwrap_or(package).to_owned()
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Grades exercises: all of them, or those named.
    ///
    /// Exit codes: 0 all passed, 1 unsolved, 2 usage, 3 does not compile, 4 no device, 5 grader error.
    Check(CheckArguments),
    /// Grades an exercise whenever you save it, and goes on to the next one when it passes.
    Watch(WatchArguments),
    /// Lists the exercises: how each stands, and when and on which device it passed.
    List(ListArguments),
    /// Says which exercise is next, and how to begin.
    Next(NextArguments),
    /// Shows one more hint for an exercise.
    Hint(HintArguments),
    /// Explains a diagnosis (the code in brackets), or lists those of an outcome.
    ///
    /// Without a code it lists all of them.
    Explain(ExplainArguments),
    /// Shows how the reference solution differs from your code.
    Solution(SolutionArguments),
    /// Draws a run of your code, and the solution's below: who did what when, and what waited for what.
    ///
    /// Takes recorded traces, too. Exit codes: 0 drawn (also where --open opens nothing), 3 does not
    /// compile, 4 no device, 5 grader error; 1 where the case ended without a trace.
    Trace(TraceArguments),
    /// Puts an exercise's starter back, and keeps your code beside.
    Reset(ResetArguments),
    /// Shows snippets, and asks which lines hold the host or lack a wait; ends with your score.
    Quiz(QuizArguments),
    /// Looks at the device, the driver and the toolchain, and says what to do about each fault.
    ///
    /// Exit codes: 0 all is usable, 1 something is not.
    Doctor(DoctorArguments),
    /// Prints completions for a shell, so that it completes `cargo xtask`.
    ///
    /// bash: write it to a file, and source that from ~/.bashrc. fish: write it to
    /// ~/.config/fish/conf.d/streamlings.fish. zsh: write it to a file _cargo-xtask in a folder of fpath
    /// that has cargo's _cargo, too (rustup completions zsh cargo).
    Completions(CompletionsArguments),
    /// Tests the course itself: our crates, and that every starter, solution and mutant is graded as
    /// it should be.
    Verify(VerifyArguments),
    /// Packs what a machine without Rust needs to grade: this program, and grade binaries built here.
    ///
    /// There, unpack it and run ./check, which takes the options of check.
    Bundle(BundleArguments),
    /// Judges scenarios (`.case` files, or folders of them) and recorded traces.
    ///
    /// Exit codes: 0 all is as expected and no trace has a race, 1 something is not, 2 a file is not there.
    Judge(JudgeArguments),
    /// Makes a new exercise that `verify` accepts, with marked gaps to fill.
    New(NewArguments),
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

    #[command(flatten)]
    pub written: Written,

    /// Leaves out what is next and the completion criterion, for `watch`.
    #[arg(long, hide = true)]
    pub findings_only: bool,

    /// Fits the report into so many columns, for `watch`.
    #[arg(long, hide = true, value_name = "N")]
    pub columns: Option<usize>,
}

#[derive(Debug, Args)]
pub struct BundleArguments {
    /// Exercises, by number, name or path.
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,

    /// Where the archive is written.
    #[arg(long, value_name = "FILE", default_value = "streamlings-bundle.tar.gz")]
    pub output: PathBuf,

    /// Packs the reference solutions instead of your code.
    #[arg(long)]
    pub solutions: bool,

    /// Packs each folder in this one as a submission, built as `check --submissions` builds it.
    #[arg(long, value_name = "DIR", conflicts_with = "solutions")]
    pub submissions: Option<PathBuf>,
}

/// How and where a report is written.
#[derive(Clone, Debug, Args)]
pub struct Written {
    /// How the report is written to standard output.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub format: Format,

    /// Writes the report to a file too, in this format. May be given more than once.
    #[arg(long, value_name = "FORMAT=FILE")]
    pub also: Vec<Also>,
}

#[derive(Debug, Args)]
pub struct WatchArguments {
    /// An exercise, by number, name or path; the first that has not passed without it.
    #[arg(value_name = "NAME")]
    pub name: Option<String>,

    /// Looks at the files twice a second; for folders that do not tell of changes, as on a network.
    #[arg(long)]
    pub poll: bool,

    #[command(flatten)]
    pub run: RunArguments,
}

#[derive(Debug, Args)]
pub struct ListArguments {
    /// How the list is written to standard output.
    #[arg(long, value_enum, default_value_t = Answer::Human)]
    pub format: Answer,
}

#[derive(Debug, Args)]
pub struct NextArguments {
    /// None is taken; whoever gives one is told which command does.
    #[arg(hide = true)]
    pub names: Vec<String>,
}

#[derive(Debug, Args)]
pub struct HintArguments {
    /// An exercise, by number, name or path; the one that `next` names without it.
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

#[derive(Debug, Args)]
pub struct ExerciseArgument {
    /// An exercise, by number, name or path.
    pub name: String,
}

#[derive(Debug, Args)]
pub struct ExplainArguments {
    /// The code of a diagnosis, or an outcome: the word before the brackets.
    pub code: Vec<String>,
}

#[derive(Debug, Args)]
pub struct SolutionArguments {
    #[command(flatten)]
    pub exercise: ExerciseArgument,

    /// Shows it although the exercise has not passed.
    #[arg(long)]
    pub spoil: bool,
}

#[derive(Debug, Args)]
pub struct TraceArguments {
    /// An exercise, by number, name or path; or trace files, which are drawn one below the other.
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,

    /// The case to draw; the first that does not pass without it, or the first of all.
    #[arg(long)]
    pub case: Option<String>,

    /// Draws the reference solution alone, with its lines.
    #[arg(long)]
    pub solutions: bool,

    /// What is written: a page, a file for Perfetto (ui.perfetto.dev) or chrome://tracing, or text for
    /// the terminal.
    #[arg(long, value_enum, default_value_t = PictureFormat::Html)]
    pub format: PictureFormat,

    /// Where it goes; target/trace/NAME.html or .json without it (NAME-CASE with --case), and text to
    /// standard output.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Opens the page in a browser, where there is a display; else says what to do.
    #[arg(long)]
    pub open: bool,

    #[command(flatten)]
    pub run: RunArguments,
}

#[derive(Debug, Args)]
pub struct ResetArguments {
    #[command(flatten)]
    pub exercise: ExerciseArgument,

    /// Does not ask.
    #[arg(long)]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub struct QuizArguments {
    /// Asks the snippets from this seed on; the seeds of a sitting follow each other.
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,

    /// Ends after so many.
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,
}

#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// How the findings are written to standard output.
    #[arg(long, value_enum, default_value_t = Answer::Human)]
    pub format: Answer,
}

#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell.
    pub shell: clap_complete::Shell,
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
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,
}

impl RunArguments {
    /// The same, for a command line.
    pub fn as_arguments(&self) -> Vec<String> {
        let device = self.device.variable().unwrap_or("auto");
        let limit = self.time_limit.as_secs_f64();
        let mut arguments = vec![format!("--device={device}"), format!("--time-limit={limit}")];
        arguments.extend(self.seed.map(|seed| format!("--seed={seed}")));
        arguments
    }
}

#[derive(Debug, Args)]
pub struct VerifyArguments {
    /// Exercises, by number, name or path: only these, and no tests of our own crates.
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,

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
pub struct NewArguments {
    /// Its name, which is that of its crate: lower-case words with underscores.
    pub name: String,

    /// Its place in the course; behind the last exercise without it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=99))]
    pub number: Option<u32>,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
        BundledCheck::command().debug_assert();
    }

    #[test]
    fn the_workspace_is_the_one_that_cargo_runs_this_in() {
        let root = |package: &str| {
            let folder = package_folder(|name| match name {
                "CARGO_PKG_NAME" => Some(package.into()),
                "CARGO_MANIFEST_DIR" => Some("/copied/xtask".into()),
                _ => None,
            });
            workspace_of(&folder)
        };
        let built_in = workspace_of(Path::new(env!("CARGO_MANIFEST_DIR")));
        assert_eq!(root("xtask"), Path::new("/copied"));
        // Somebody else's `cargo run`, whose program starts this one.
        assert_eq!(root("another"), built_in);
        assert_eq!(workspace_of(&package_folder(|_| None)), built_in);
    }

    #[test]
    fn a_run_can_be_passed_on() {
        let parse = |arguments: &[String]| {
            let check = ["cargo xtask".to_owned(), "check".to_owned()];
            match Cli::parse_from(check.iter().chain(arguments)).command {
                Command::Check(check) => check.run.as_arguments(),
                other => panic!("{other:?}"),
            }
        };
        let given = ["--device=emulated", "--time-limit=0.25", "--seed=18446744073709551615"];
        assert_eq!(parse(&given.map(str::to_owned)), given);
        assert_eq!(parse(&[]), ["--device=auto", "--time-limit=30"]);
    }
}
