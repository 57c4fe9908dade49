//! Supervising a case's process: its limits, its output, its end, and what that end means.
//!
//! Each case runs below a guard, a process that knows all that the case starts. It is over when
//! its own process has ended (whoever still holds its pipes), has reached the time limit, or has taken
//! too much; then all that it started is ended. The verdict file is read after that, and believed only
//! if the process ended by its own will.

mod confine;
mod ending;
mod guard;
mod output;

use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

use crate::diagnosis;
use crate::verdict::{Finding, Job, Verdict};
pub use confine::{Confinement, Isolation, Limits};
use ending::{End, conclude};
use guard::{GRACE, Said, Task};
pub use guard::{isolation, main_of_guard};
pub use output::Captured;

/// The time limit of a case, unless told otherwise.
pub const TIME_LIMIT: Duration = Duration::from_secs(30);
/// How much a case may write, in bytes.
pub const OUTPUT_LIMIT: u64 = 16 << 20;

/// How cases are run.
#[derive(Clone, Debug)]
pub struct Supervisor {
    /// After this time a case is ended.
    pub time_limit: Duration,
    /// After this many bytes of output a case is ended.
    pub output_limit: u64,
    /// What else it may take.
    pub limits: Limits,
    /// What sizes, data and delays are drawn from; each case draws anew without it.
    pub seed: Option<u64>,
    /// `STREAMLINGS_DEVICE` for the case; as in this process without it.
    pub device: Option<String>,
    /// An empty folder in which the traces are kept, if they are wanted (see [`CaseRun::traces`]).
    pub keep_traces: Option<PathBuf>,
    /// What is not the grader's own code is confined; the folder of the verdict is open to it besides.
    pub confinement: Option<Confinement>,
    /// All of the process's environment; that of this process without it.
    pub environment: Option<Vec<(OsString, OsString)>>,
    /// Where it runs, if not here.
    pub directory: Option<PathBuf>,
    /// Where the folder of a case is made, if not in the system's temporary folder. A case whose
    /// environment is given has it as its home, too.
    pub scratch: Option<PathBuf>,
    /// How many bytes of output are kept of its beginning, and of its end.
    pub kept: usize,
}

impl Default for Supervisor {
    fn default() -> Supervisor {
        Supervisor {
            time_limit: TIME_LIMIT,
            output_limit: OUTPUT_LIMIT,
            limits: Limits::default(),
            seed: None,
            device: None,
            keep_traces: None,
            confinement: None,
            environment: None,
            directory: None,
            scratch: None,
            kept: output::KEPT,
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

/// A run of a program that is no case.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Whether it ended by itself, with exit status 0.
    pub success: bool,
    /// If it did not end by itself: what it did, as the end of a sentence.
    pub ended: Option<String>,
    /// What it wrote.
    pub output: Captured,
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
        let folder = CaseFolder::new(self.scratch.as_deref())?;
        let nonce = format!("{:016x}{:016x}", random(), random());
        let path = folder.path().join("verdict.json");
        let job = Job {
            nonce: nonce.clone(),
            verdict: path.clone(),
            traces: self.keep_traces.clone(),
            seed,
        };

        let arguments = ["--case", case].map(OsString::from);
        let input = serde_json::to_string(&job)?;
        let (end, output) = self.run(program, &arguments, input, Some(folder.path()))?;
        let verdict = conclude(end, case, Verdict::read(&path, &nonce, case), &output, self);
        Ok((verdict, output))
    }

    /// What a grade binary answers to `--describe` or `--device`, within the limits.
    ///
    /// # Errors
    /// Where it cannot be run, or ends badly.
    pub fn ask(&self, program: &Path, question: &str) -> std::io::Result<String> {
        let (end, output) = self.run(program, &[question.into()], String::new(), None)?;
        match end {
            End::Exited(status) if status.success() => Ok(output.text()),
            end => Err(std::io::Error::other(format!(
                "{} did not answer {question}: {end:?}",
                program.display()
            ))),
        }
    }

    /// Runs any program within the limits and the confinement: whether it succeeded, what it wrote, and
    /// why it was ended if it was.
    ///
    /// # Errors
    /// Where it cannot be run.
    pub fn run_program(&self, program: &Path, arguments: &[OsString]) -> std::io::Result<Ran> {
        let (end, output) = self.run(program, arguments, String::new(), None)?;
        let ended = match &end {
            End::Exited(status) => status.signal().map(|number| {
                let name = Signal::try_from(number).map_or("a signal", Signal::as_str);
                format!("died of {name}")
            }),
            End::TimedOut => {
                Some(format!("was still running after {} s", self.time_limit.as_secs_f64()))
            }
            End::OverLimit(what) => Some(what.clone()),
            End::Unguarded => Some("lost the process that watched over it".to_owned()),
        };
        let success = matches!(end, End::Exited(status) if status.success());
        Ok(Ran { success, ended, output })
    }

    /// Runs a program below a guard, and returns when all that it started has ended.
    fn run(
        &self,
        program: &Path,
        arguments: &[OsString],
        input: String,
        open: Option<&Path>,
    ) -> std::io::Result<(End, Captured)> {
        let mut confinement = self.confinement.clone();
        if let Some(confinement) = &mut confinement {
            confinement.read.push(program.to_owned());
            confinement.write.extend(open.map(Path::to_owned));
            confinement.write.extend(self.keep_traces.clone());
        }
        let mut command = guard::command(&Task {
            supervisor: nix::unistd::getpid().as_raw(),
            program: program.to_owned(),
            arguments: arguments.to_vec(),
            limits: self.limits,
            confinement,
        })?;
        if let Some(environment) = &self.environment {
            command.env_clear().envs(environment.iter().cloned());
            for name in ["HOME", "TMPDIR"] {
                command.envs(open.map(|folder| (name, folder)));
            }
        }
        if let Some(device) = &self.device {
            command.env("STREAMLINGS_DEVICE", device);
        }
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        let (news, told) = channel();
        let (reader, writer) = std::io::pipe()?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(writer).process_group(0);
        let mut group = Group::spawn(&mut command)?;
        // The command holds the writing end of the pipe, which only the child may keep.
        drop(command);
        let limit = self.output_limit;
        let output = output::collect(reader, limit, self.kept, {
            let news = news.clone();
            move || drop(news.send(News::OverLimit))
        });
        let said = group.child.stdout.take().map(listen);
        watch_for_end(group.pid, news);
        if let Some(mut stdin) = group.child.stdin.take() {
            // A process that ends before it reads its job shows as such below.
            std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
        }
        let (stopped, status) = group.wait(&told, self.time_limit)?;
        // The guard has ended, and nobody else has its end of the pipe.
        let said = said.and_then(|said| said.join().ok()).unwrap_or_default();
        let end = match (stopped, said.last()) {
            (Some(News::OverLimit), _) => {
                End::OverLimit(format!("wrote more than {} MiB of output", limit >> 20))
            }
            (Some(News::Ended), _) => End::TimedOut,
            (None, Some(Said::Ended(status))) => End::Exited(ExitStatus::from_raw(*status)),
            (None, Some(Said::OverLimit(what))) => End::OverLimit(what.clone()),
            (None, Some(Said::NotStarted(why))) => return Err(std::io::Error::other(why.clone())),
            (None, Some(Said::Started(pid))) => {
                // Its process group is all that is known of it.
                let _ = killpg(Pid::from_raw(*pid), Signal::SIGKILL);
                End::Unguarded
            }
            // It died with its guard.
            (None, None) if status.signal().is_some() => End::Unguarded,
            (None, None) => return Err(std::io::Error::other("its guard did not start")),
        };
        Ok((end, output.finish()))
    }
}

/// What the guard says, to its end.
fn listen(stdout: ChildStdout) -> std::thread::JoinHandle<Vec<Said>> {
    std::thread::spawn(move || {
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        lines.filter_map(|line| serde_json::from_str(&line).ok()).collect()
    })
}

/// Waits for the guard without reaping it, so that its number stays its own until the supervisor is done
/// with it.
fn watch_for_end(pid: Pid, news: Sender<News>) {
    std::thread::spawn(move || {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
        while waitid(Id::Pid(pid), flags) == Err(nix::errno::Errno::EINTR) {}
        // Nobody listens any more if the supervisor has given up on it.
        let _ = news.send(News::Ended);
    });
}

/// The guards that are running now, for [`end_all`].
static GUARDS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// Ends every case that was started and has not ended, and waits for it: for a handler of Ctrl-C, which
/// does not reach other process groups by itself. Nothing can be started any more.
pub fn end_all() {
    let guards = GUARDS.lock().unwrap_or_else(PoisonError::into_inner);
    for pid in guards.iter() {
        let _ = kill(*pid, Signal::SIGTERM);
    }
    let until = Instant::now() + GRACE;
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    for pid in guards.iter() {
        while waitid(Id::Pid(*pid), flags) == Ok(WaitStatus::StillAlive) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    // A command that is about to start would start nothing that ends with this process.
    std::mem::forget(guards);
    // And nobody is left who needs these.
    let folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    for folder in folders.iter() {
        let _ = std::fs::remove_dir_all(folder);
    }
    std::mem::forget(folders);
}

/// The folders of the cases that are running now, for [`end_all`].
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A folder for one case, which goes with it, or when [`end_all`] ends the case.
struct CaseFolder(tempfile::TempDir);

impl CaseFolder {
    fn new(scratch: Option<&Path>) -> std::io::Result<CaseFolder> {
        // Held over the making, so that a folder is either not made or known.
        let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = match scratch {
            Some(scratch) => tempfile::tempdir_in(scratch)?,
            None => tempfile::tempdir()?,
        };
        folders.push(folder.path().to_owned());
        Ok(CaseFolder(folder))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for CaseFolder {
    fn drop(&mut self) {
        let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
        folders.retain(|folder| folder != self.0.path());
    }
}

/// A guard; it and what it guards end with this value.
struct Group {
    child: Child,
    pid: Pid,
}

impl Group {
    fn spawn(command: &mut std::process::Command) -> std::io::Result<Group> {
        // Held over the start, so that a guard is either not started or known to `end_all`.
        let mut guards = GUARDS.lock().unwrap_or_else(PoisonError::into_inner);
        let child = command.spawn()?;
        let pid = Pid::from_raw(child.id().cast_signed());
        guards.push(pid);
        Ok(Group { child, pid })
    }

    /// Waits for the end of the guard; what made the supervisor end it if it did not end by itself:
    /// [`News::Ended`] stands for the time.
    fn wait(
        &mut self,
        told: &Receiver<News>,
        limit: Duration,
    ) -> std::io::Result<(Option<News>, ExitStatus)> {
        let over = match told.recv_timeout(limit) {
            Ok(News::Ended) | Err(RecvTimeoutError::Disconnected) => None,
            Ok(News::OverLimit) => Some(News::OverLimit),
            Err(RecvTimeoutError::Timeout) => Some(News::Ended),
        };
        if over.is_some() {
            let _ = kill(self.pid, Signal::SIGTERM);
            // A process inside a driver call may take a while to die, or may never.
            let until = Instant::now() + GRACE + Duration::from_secs(1);
            while self.child.try_wait()?.is_none() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(2));
            }
            self.child.kill()?;
        }
        Ok((over, self.child.wait()?))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Only while the process is not reaped is its number surely its own.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = kill(self.pid, Signal::SIGTERM);
        }
        GUARDS.lock().unwrap_or_else(PoisonError::into_inner).retain(|pid| *pid != self.pid);
    }
}

/// A number that nobody can guess.
pub fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
