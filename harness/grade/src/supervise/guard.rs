//! The guard: a process between the supervisor and a case's process, which leaves nothing behind.
//!
//! The supervisor starts its own program again with [`GUARD`], and that process starts it once more with
//! [`CONFINE`], which limits itself and becomes the case's program:
//!
//! ```text
//! supervisor ──> guard ──> confine = the case ──> whatever it starts
//! ```
//!
//! Whatever a case starts has the guard for its parent in the end, even if it leaves the process group or
//! lets itself be adopted. So the guard can count it, weigh it, and end all of it when the case's own
//! process has ended, when a limit is reached, or when the supervisor says so or is gone. The guard says
//! what happened in lines of JSON on its standard output, which the case does not have; the case has the
//! guard's standard error for both of its outputs.

use std::ffi::OsString;
use std::io::{BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpid, getppid};
use serde::{Deserialize, Serialize};

use super::confine::{Confinement, Isolation, Limits, confine, limit};

/// The argument that makes a process a guard; the next one is its [`Task`].
const GUARD: &str = "--guard";
/// The argument that makes a process confine itself and become the task's program.
const CONFINE: &str = "--confine";
/// The argument that makes a process confine itself and say what came of it.
const ISOLATION: &str = "--isolation";
/// How often the guard looks at what the case uses.
const LOOK: Duration = Duration::from_millis(25);
/// How long processes that were told to end are waited for.
pub(super) const GRACE: Duration = Duration::from_secs(5);
/// A page of memory, on x86-64.
const PAGE: u64 = 4096;

/// What a guard runs, and how.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Task {
    pub supervisor: i32,
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    pub limits: Limits,
    pub confinement: Option<Confinement>,
}

/// What a guard says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Said {
    /// The process, which leads a group of its own.
    Started(i32),
    /// The process exited with this status, as the system gives it.
    Ended(i32),
    /// A limit was reached: as the end of a sentence that begins with "it".
    OverLimit(String),
    /// The program could not be run.
    NotStarted(String),
}

/// The command that makes this program again a guard.
pub(super) fn command(task: &Task) -> std::io::Result<Command> {
    own_program(GUARD, &serde_json::to_string(task)?)
}

/// This program, even where its file has been replaced since it was started.
fn own_program(role: &str, task: &str) -> std::io::Result<Command> {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("streamlings-guard").arg(role).arg(task);
    Ok(command)
}

/// What of a confinement this machine enforces: tried out in a process of its own.
///
/// # Errors
/// Where that process cannot be run.
pub fn isolation() -> std::io::Result<Isolation> {
    let output = own_program(ISOLATION, "")?.stdin(Stdio::null()).output()?;
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Every program that supervises cases calls this first in its `main`, and ends with the code if there
/// is one: then this process is not the program but the guard of one of its cases.
pub fn main_of_guard() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let role = arguments.next()?;
    let task = arguments.next()?.into_string().ok()?;
    if arguments.next().is_some() {
        return None;
    }
    let role = role.to_str()?;
    if [GUARD, CONFINE, ISOLATION].contains(&role) {
        close_all_but_the_standard_ones();
    }
    let read = || serde_json::from_str::<Task>(&task).map_err(std::io::Error::from);
    let result = match role {
        GUARD => read().and_then(|task| guard(&task)),
        CONFINE => read().and_then(|task| become_case(&task)),
        ISOLATION => confine(&Confinement::system()).and_then(|isolation| {
            println!("{}", serde_json::to_string(&isolation)?);
            Ok(())
        }),
        _ => return None,
    };
    match result {
        Ok(()) => Some(ExitCode::SUCCESS),
        Err(error) => {
            eprintln!("{error}");
            say(&Said::NotStarted(error.to_string()));
            Some(ExitCode::FAILURE)
        }
    }
}

/// Whatever else the shell had open would be open to the case, too, whichever files it may reach: this
/// process has opened nothing yet.
fn close_all_but_the_standard_ones() {
    let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let open: Vec<i32> =
        open.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for descriptor in open.into_iter().filter(|descriptor| *descriptor > 2) {
        // That of the list itself is closed already.
        let _ = nix::unistd::close(descriptor);
    }
}

fn say(said: &Said) {
    let mut out = std::io::stdout().lock();
    // A supervisor that is gone listens no more, and the guard learns of that by a signal.
    let _ = serde_json::to_writer(&mut out, said).map(|()| out.write_all(b"\n"));
    let _ = out.flush();
}

/// In the process that becomes the case's. Its standard output is the guard's ear, which the case does
/// not get: that has the standard error for both.
fn become_case(task: &Task) -> std::io::Result<()> {
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
    limit(&task.limits);
    if let Some(confinement) = &task.confinement {
        confine(confinement)?;
    }
    // Closed by the system where the program starts.
    let mut ear = std::fs::File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    let stdout = std::io::stderr().as_fd().try_clone_to_owned()?;
    // Only returns if it fails, and the standard output may be the case's by then.
    let error = Command::new(&task.program).args(&task.arguments).stdout(stdout).exec();
    serde_json::to_writer(&mut ear, &Said::NotStarted(error.to_string()))?;
    std::process::exit(1)
}

fn guard(task: &Task) -> std::io::Result<()> {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGTERM);
    signals.add(Signal::SIGCHLD);
    signals.thread_block()?;
    let told = SignalFd::with_flags(&signals, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
    nix::sys::prctl::set_pdeathsig(Signal::SIGTERM)?;
    if getppid().as_raw() != task.supervisor {
        return Ok(());
    }
    nix::sys::prctl::set_child_subreaper(true)?;

    let (ear, mouth) = std::io::pipe()?;
    let child = own_program(CONFINE, &serde_json::to_string(task)?)?
        .stdout(mouth)
        .stderr(std::io::stderr().as_fd().try_clone_to_owned()?)
        .process_group(0)
        .spawn()?;
    let case = Pid::from_raw(child.id().cast_signed());
    say(&Said::Started(case.as_raw()));
    let said = watch(task, case, &told)?;
    end_descendants();
    // Nobody has the other end any more. What never became the case's program says why.
    let not_started = serde_json::from_reader(BufReader::new(ear)).ok();
    if let Some(said) = not_started.or(said) {
        say(&said);
    }
    Ok(())
}

/// Waits for the end of the case, a limit, or the supervisor's word (`None`).
fn watch(task: &Task, case: Pid, told: &SignalFd) -> std::io::Result<Option<Said>> {
    loop {
        let mut fds = [PollFd::new(told.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, PollTimeout::try_from(LOOK).unwrap_or(PollTimeout::ZERO)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        while let Some(signal) = told.read_signal()? {
            if signal.ssi_signo == (Signal::SIGTERM as i32).unsigned_abs() {
                return Ok(None);
            }
        }
        if let Some(status) = reap(case) {
            return Ok(Some(Said::Ended(status)));
        }
        let descendants = descendants();
        if descendants.len() > task.limits.processes {
            let limit = task.limits.processes;
            return Ok(Some(Said::OverLimit(format!("ran more than {limit} processes"))));
        }
        let used: u64 = descendants.iter().map(|pid| resident(*pid)).sum();
        if used > task.limits.memory {
            let limit = task.limits.memory >> 20;
            return Ok(Some(Said::OverLimit(format!("used more than {limit} MiB of memory"))));
        }
    }
}

/// Takes in the end of every child that has one; that of the case is returned.
fn reap(case: Pid) -> Option<i32> {
    let mut found = None;
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, code)) if pid == case => found = Some(code << 8),
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == case => found = Some(signal as i32),
            Ok(WaitStatus::StillAlive) | Err(_) => return found,
            Ok(_) => {}
        }
    }
}

/// Ends all that descends from this process, and what it starts meanwhile.
fn end_descendants() {
    let until = Instant::now() + GRACE;
    while Instant::now() < until {
        for pid in descendants() {
            // It has just ended by itself.
            let _ = kill(pid, Signal::SIGKILL);
        }
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Err(Errno::ECHILD) => return,
                Ok(WaitStatus::StillAlive) | Err(_) => break,
                Ok(_) => {}
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The processes that descend from this one.
fn descendants() -> Vec<Pid> {
    let mut found = Vec::new();
    let mut parents = vec![getpid()];
    while let Some(parent) = parents.pop() {
        // A thread's children are listed with the thread.
        let threads = std::fs::read_dir(format!("/proc/{parent}/task"));
        for thread in threads.into_iter().flatten().flatten() {
            let children = std::fs::read_to_string(thread.path().join("children"));
            let children = children.unwrap_or_default();
            let children = children.split_whitespace().filter_map(|pid| pid.parse().ok());
            let children: Vec<Pid> = children.map(Pid::from_raw).collect();
            parents.extend(&children);
            found.extend(children);
        }
    }
    found
}

/// The bytes of memory that a process has in use.
fn resident(pid: Pid) -> u64 {
    let text = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("statm"));
    let pages = text.ok().and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * PAGE
}
