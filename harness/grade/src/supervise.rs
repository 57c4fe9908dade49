//! Supervising a case's process: its limits, its output, its end, and what that end means.
//!
//! The process leads a process group of its own. It is over when it has ended (whoever still holds its
//! pipes), has reached the time limit, or has written too much; then the whole group is ended. The
//! verdict file is read after that, and believed only if the process ended by its own will.

mod output;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

use crate::diagnosis;
use crate::verdict::{Finding, Job, NoVerdict, Verdict};
pub use output::Captured;

/// The time limit of a case, unless told otherwise.
pub const TIME_LIMIT: Duration = Duration::from_secs(30);
/// How much a case may write, in bytes.
pub const OUTPUT_LIMIT: u64 = 16 << 20;
/// How long a process that was told to end is waited for.
const GRACE: Duration = Duration::from_secs(5);

/// How cases are run.
#[derive(Clone, Debug)]
pub struct Supervisor {
    /// After this time a case is ended.
    pub time_limit: Duration,
    /// After this many bytes of output a case is ended.
    pub output_limit: u64,
    /// What sizes, data and delays are drawn from; each case draws anew without it.
    pub seed: Option<u64>,
    /// `STREAMLINGS_DEVICE` for the case; as in this process without it.
    pub device: Option<String>,
    /// An empty folder in which the traces are kept, if they are wanted (see [`CaseRun::traces`]).
    pub keep_traces: Option<PathBuf>,
}

impl Default for Supervisor {
    fn default() -> Supervisor {
        Supervisor {
            time_limit: TIME_LIMIT,
            output_limit: OUTPUT_LIMIT,
            seed: None,
            device: None,
            keep_traces: None,
        }
    }
}

/// One run of a case.
#[derive(Clone, Debug)]
pub struct CaseRun {
    /// How it ended.
    pub verdict: Verdict,
    /// What it wrote to its standard output and error.
    pub output: Captured,
    /// How long the process ran.
    pub elapsed: Duration,
    /// The seed that it ran with.
    pub seed: u64,
    /// The trace files, if they were to be kept: one for each run of the learner's code that came to
    /// its end, in order.
    pub traces: Vec<PathBuf>,
}

impl CaseRun {
    /// The verdict and the output, in plain text.
    pub fn text(&self) -> String {
        let output = self.output.text();
        let output = if output.is_empty() { output } else { format!("\n--- output\n{output}") };
        format!("{}{output}", self.verdict)
    }
}

/// Where a folder keeps the trace of the learner's run of that number, from 1.
pub(crate) fn trace_file(folder: &Path, run: usize) -> PathBuf {
    folder.join(format!("{run}.trace"))
}

fn kept_traces(folder: &Path) -> Vec<PathBuf> {
    (1..).map(|run| trace_file(folder, run)).take_while(|path| path.exists()).collect()
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Exited(ExitStatus),
    TimedOut,
    OverLimit,
}

/// What the supervisor is told by its threads.
enum News {
    Ended,
    OverLimit,
}

impl Supervisor {
    /// Runs one case of a grade binary, in a process group of its own, and waits for its end.
    pub fn run_case(&self, program: &Path, case: &str) -> CaseRun {
        let began = Instant::now();
        let seed = self.seed.unwrap_or_else(random);
        match self.try_run_case(program, case, seed) {
            Ok((verdict, output)) => {
                let traces = self.keep_traces.as_deref().map_or(Vec::new(), kept_traces);
                CaseRun { verdict, output, elapsed: began.elapsed(), seed, traces }
            }
            Err(error) => CaseRun {
                verdict: Verdict::failed(
                    case,
                    Finding::new(
                        diagnosis::SETUP_FAILED,
                        format!("{} could not be run: {error}", program.display()),
                    ),
                ),
                output: Captured::default(),
                elapsed: began.elapsed(),
                seed,
                traces: Vec::new(),
            },
        }
    }

    fn try_run_case(
        &self,
        program: &Path,
        case: &str,
        seed: u64,
    ) -> std::io::Result<(Verdict, Captured)> {
        let folder = tempfile::tempdir()?;
        let nonce = format!("{:016x}{:016x}", random(), random());
        let path = folder.path().join("verdict.json");
        let job = Job {
            nonce: nonce.clone(),
            verdict: path.clone(),
            traces: self.keep_traces.clone(),
            seed,
        };

        let command = self.command(program, &["--case", case]);
        let (end, output) = self.run(command, serde_json::to_string(&job)?)?;
        let verdict = conclude(end, case, Verdict::read(&path, &nonce, case), &output, self);
        Ok((verdict, output))
    }

    /// What a grade binary answers to `--describe` or `--device`, within the limits.
    ///
    /// # Errors
    /// Where it cannot be run, or ends badly.
    pub fn ask(&self, program: &Path, question: &str) -> std::io::Result<String> {
        let (end, output) = self.run(self.command(program, &[question]), String::new())?;
        match end {
            End::Exited(status) if status.success() => Ok(output.text()),
            end => Err(std::io::Error::other(format!(
                "{} did not answer {question}: {end:?}",
                program.display()
            ))),
        }
    }

    fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments);
        if let Some(device) = &self.device {
            command.env("STREAMLINGS_DEVICE", device);
        }
        command
    }

    /// Runs a command in a process group of its own, within the limits, and ends what is left of it.
    fn run(&self, mut command: Command, input: String) -> std::io::Result<(End, Captured)> {
        let (news, told) = channel();
        let (reader, writer) = std::io::pipe()?;
        command.stdin(Stdio::piped()).stdout(writer.try_clone()?).stderr(writer).process_group(0);
        let mut group = Group::spawn(&mut command)?;
        // The command holds the writing ends of the pipe, which only the child may keep.
        drop(command);
        let limit = self.output_limit;
        let output = output::collect(reader, limit, {
            let news = news.clone();
            move || drop(news.send(News::OverLimit))
        });
        watch_for_end(group.pid, news);
        if let Some(mut stdin) = group.child.stdin.take() {
            // A process that ends before it reads its job shows as such below.
            std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
        }
        let end = group.wait(&told, self.time_limit)?;
        Ok((end, output.finish()))
    }
}

/// Waits for the process without reaping it, so that its group's number stays its own until the whole
/// group has been ended.
fn watch_for_end(pid: Pid, news: Sender<News>) {
    std::thread::spawn(move || {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
        while waitid(Id::Pid(pid), flags) == Err(nix::errno::Errno::EINTR) {}
        // Nobody listens any more if the supervisor has given up on it.
        let _ = news.send(News::Ended);
    });
}

/// The process groups that are running now, for [`end_all`].
static GROUPS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// Ends every process group that was started and has not ended: for a handler of Ctrl-C, which does not
/// reach other process groups by itself.
pub fn end_all() {
    for pid in GROUPS.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        let _ = killpg(*pid, Signal::SIGKILL);
    }
}

/// A process and its group; both end with this value.
struct Group {
    child: Child,
    pid: Pid,
}

impl Group {
    fn spawn(command: &mut Command) -> std::io::Result<Group> {
        // Held over the start, so that a group is either not started or known to `end_all`.
        let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
        let child = command.spawn()?;
        let pid = Pid::from_raw(child.id().cast_signed());
        groups.push(pid);
        Ok(Group { child, pid })
    }

    fn wait(&mut self, told: &Receiver<News>, limit: Duration) -> std::io::Result<End> {
        let over = match told.recv_timeout(limit) {
            Ok(News::Ended) | Err(RecvTimeoutError::Disconnected) => None,
            Ok(News::OverLimit) => Some(End::OverLimit),
            Err(RecvTimeoutError::Timeout) => Some(End::TimedOut),
        };
        self.end();
        match over {
            None => Ok(End::Exited(self.child.wait()?)),
            Some(end) => {
                // A process inside a driver call may take a while to die, or may never.
                let until = Instant::now() + GRACE;
                while self.child.try_wait()?.is_none() && Instant::now() < until {
                    std::thread::sleep(Duration::from_millis(2));
                }
                Ok(end)
            }
        }
    }

    fn end(&self) {
        // No such group: all of it has ended already.
        let _ = killpg(self.pid, Signal::SIGKILL);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Only while the process is not reaped is its number surely its own.
        if matches!(self.child.try_wait(), Ok(None)) {
            self.end();
        }
        GROUPS.lock().unwrap_or_else(PoisonError::into_inner).retain(|pid| *pid != self.pid);
    }
}

/// What the end of a case's process means.
fn conclude(
    end: End,
    case: &str,
    verdict: Result<Verdict, NoVerdict>,
    output: &Captured,
    supervisor: &Supervisor,
) -> Verdict {
    let finding = match (end, verdict) {
        (End::TimedOut, _) => Finding::new(
            diagnosis::HUNG,
            format!("it was still running after {} s", supervisor.time_limit.as_secs_f64()),
        ),
        (End::OverLimit, _) => Finding::new(
            diagnosis::OVER_LIMIT,
            format!("it wrote more than {} MiB of output", supervisor.output_limit >> 20),
        ),
        (End::Exited(status), verdict) => match (status.signal(), verdict) {
            (None, Ok(verdict)) if status.success() || verdict.diagnosis.is_some() => {
                return verdict;
            }
            // It had failed already when it died: the finding says more than the signal.
            (Some(_), Ok(verdict)) if verdict.diagnosis.is_some() => return verdict,
            (Some(signal), _) => died(signal, output),
            (None, Ok(_)) => Finding::new(
                diagnosis::CRASHED,
                format!("the process ended with {status} after the case was judged"),
            ),
            (None, Err(NoVerdict::Missing)) => Finding::new(
                diagnosis::NO_VERDICT,
                format!("the process ended itself ({status}) before the case was judged"),
            ),
            (None, Err(NoVerdict::Unreadable(why))) => Finding::new(
                diagnosis::NO_VERDICT,
                format!("the verdict file cannot be read ({why})"),
            ),
            (None, Err(NoVerdict::OfAnotherRun)) => Finding::new(
                diagnosis::NO_VERDICT,
                "the verdict file is not the grader's own of this run",
            ),
        },
    };
    Verdict::failed(case, finding)
}

/// What to say of a process that a signal ended.
fn died(number: i32, output: &Captured) -> Finding {
    let name = Signal::try_from(number).map_or_else(|_| number.to_string(), |s| s.to_string());
    let text = output.text();
    let what = if text.contains("has overflowed its stack") {
        format!("it overflowed its stack ({name})")
    } else if text.contains("panic in a destructor during cleanup") {
        format!("it panicked while it dropped a value after another panic ({name})")
    } else {
        format!("the process died of {name}")
    };
    Finding::new(diagnosis::CRASHED, what)
}

/// In a case's process: no core dumps, and no life after the supervisor's.
pub fn be_supervised() {
    // Both are a courtesy to the machine: where the system refuses, the case can run all the same.
    let _ = nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_CORE, 0, 0);
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_pdeathsig(Signal::SIGKILL);
}

/// A number that nobody can guess.
pub fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
