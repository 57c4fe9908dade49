//! A check as a process of its own, which can be ended at any time.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use cargo_metadata::MetadataCommand;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

use super::screen::Screen;
use crate::cli::RunArguments;
use crate::course::Exercise;

/// How long the pipe of a check that has ended is read on, if somebody else holds it open.
const REST: Duration = Duration::from_millis(300);

/// How a check ended.
pub struct Ended {
    /// Whether the exercise passed.
    pub passed: bool,
    /// The report, and whatever else it said.
    pub text: String,
}

/// A check that is running.
pub struct Check {
    /// Its process group, until it has been waited for.
    group: Arc<Mutex<Option<Pid>>>,
}

/// The usual target folder of a workspace. Watched checks have one of their own in it, since an editor's
/// cargo, at work in the usual one, locks that.
///
/// # Errors
/// Where cargo does not know the workspace.
pub fn target_folder(root: &Path) -> anyhow::Result<PathBuf> {
    let metadata = MetadataCommand::new()
        .current_dir(root)
        .no_deps()
        .exec()
        .context("cargo could not say where it builds")?;
    Ok(metadata.target_directory.into_std_path_buf())
}

impl Check {
    /// Starts one, and calls `told` once when it has ended.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn start(
        root: &Path,
        target: &Path,
        exercise: &Exercise,
        run: &RunArguments,
        screen: &Screen,
        told: impl FnOnce(Ended) + Send + 'static,
    ) -> anyhow::Result<Check> {
        let (mut reader, writer) = std::io::pipe()?;
        // The file on the disk may have been built anew since.
        let mut command = Command::new("/proc/self/exe");
        command
            .args(["check", "--findings-only", &exercise.name, "--workspace"])
            .arg(root)
            .args(run.as_arguments())
            .args(["--columns", &screen.columns().to_string()])
            .env("CARGO_TARGET_DIR", target)
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .process_group(0);
        if screen.has_colours() {
            command.env("CLICOLOR_FORCE", "1");
        }
        let mut child = command.spawn().context("the check could not be started")?;
        // The command holds the writing ends of the pipe, which only the child may keep.
        drop(command);
        let pid = Pid::from_raw(child.id().cast_signed());
        let group = Arc::new(Mutex::new(Some(pid)));
        let (done, output) = channel();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // What cannot be read is not shown.
            let _ = reader.read_to_end(&mut bytes);
            // Nobody waits for it any more if it took too long.
            let _ = done.send(bytes);
        });
        let shared = group.clone();
        std::thread::spawn(move || {
            let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
            while waitid(Id::Pid(pid), flags) == Err(nix::errno::Errno::EINTR) {}
            let status = {
                // Until it is waited for, the group's number is its own.
                let mut group = shared.lock().unwrap_or_else(PoisonError::into_inner);
                if group.take().is_some() {
                    // Its cargo, if it has died before that.
                    let _ = killpg(pid, Signal::SIGKILL);
                }
                child.wait()
            };
            let bytes = output.recv_timeout(REST).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            told(Ended { passed: status.is_ok_and(|status| status.success()), text });
        });
        Ok(Check { group })
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = *self.group.lock().unwrap_or_else(PoisonError::into_inner) {
            // It may be ending by itself.
            let _ = killpg(pid, signal);
        }
    }

    /// Tells it, and the cargo that it runs, to end; it ends its cases.
    pub fn end(&self) {
        self.signal(Signal::SIGTERM);
    }

    /// Ends it in any case. Its cases die with it.
    pub fn kill(&self) {
        self.signal(Signal::SIGKILL);
    }
}
