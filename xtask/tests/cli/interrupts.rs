//! Ctrl-C and SIGTERM, whatever becomes of the output.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use portable_pty::{PtySize, native_pty_system};

use crate::terminal::{assert_gone, on_terminal, wait_until};
use crate::workspace::{LOOPS, RIGHT, command, workspace, write};

const WRONG: &[u8] = b"//! An answer.\npub fn answer() -> u32 { 41 }\n";

/// The process of the case that runs in a workspace.
fn case_in(root: &Path) -> i32 {
    let file = root.join("exercises/01_one/pid");
    let mut pid = None;
    let there = wait_until(|| {
        pid = std::fs::read_to_string(&file).ok().and_then(|text| text.parse().ok());
        pid.is_some()
    });
    assert!(there, "no case has begun");
    pid.expect("it was just there")
}

fn signal(pid: u32, signal: Signal) {
    kill(Pid::from_raw(pid.cast_signed()), signal).expect("it runs");
}

/// Whether a thread of it is held up while it writes to standard error; not every machine tells.
fn is_held_up(pid: u32) -> bool {
    let tasks = Path::new("/proc").join(pid.to_string()).join("task");
    let tasks = tasks.read_dir().into_iter().flatten().flatten();
    // write(2) is system call 1, and standard error is 2.
    let mut calls = tasks.map(|task| std::fs::read_to_string(task.path().join("syscall")));
    calls.any(|call| call.is_ok_and(|call| call.starts_with("1 0x2 ")))
}

#[test]
fn a_terminal_that_takes_no_output_holds_up_no_interruption() {
    for sent in [Signal::SIGINT, Signal::SIGTERM] {
        let root = workspace(["exercises"], &[("one", LOOPS)]);
        let size = PtySize { rows: 24, cols: 100, ..PtySize::default() };
        let pair = native_pty_system().openpty(size).expect("a terminal");
        let builder = on_terminal(root.path(), &["check", "--time-limit", "600"]);
        let mut check = pair.slave.spawn_command(builder).expect("xtask runs");
        let case = case_in(root.path());
        // Nobody reads it: with this it takes no more, and who draws the bar is held up.
        let tty = pair.master.tty_name().expect("a terminal has a name");
        let mut tty = File::options()
            .write(true)
            .custom_flags((OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits())
            .open(tty)
            .expect("it can be opened");
        while tty.write(b"full").is_ok() {}
        let pid = check.process_id().expect("it runs");
        let until = Instant::now() + Duration::from_secs(2);
        while !is_held_up(pid) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        signal(pid, sent);
        let mut code = None;
        let ended = wait_until(|| {
            code = check.try_wait().expect("it can be waited for").map(|status| status.exit_code());
            code.is_some()
        });
        if !ended {
            let _ = check.kill();
        }
        assert_eq!(code, Some(130), "{sent}");
        assert_gone(case);
    }
}

/// Interrupts it once a file is there: what it has written to standard error.
fn interrupted(mut run: Child, is_there: impl FnMut() -> bool) -> String {
    assert!(wait_until(is_there), "it does not come so far");
    signal(run.id(), Signal::SIGINT);
    let mut said = String::new();
    let errors = run.stderr.as_mut().expect("it is piped");
    errors.read_to_string(&mut said).expect("it is UTF-8");
    assert_eq!(run.wait().expect("it ends").code(), Some(130), "{said}");
    said
}

fn piped(command: &mut Command) -> Child {
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it runs")
}

#[test]
fn an_interrupted_class_says_what_is_kept() {
    let course = workspace(["exercises"], &[("one", WRONG), ("two", WRONG)]);
    let class = tempfile::tempdir().expect("a temporary folder");
    write(class.path(), "ada/01_one/src/lib.rs", RIGHT);
    write(
        class.path(),
        "ben/01_one/src/lib.rs",
        b"//! Endless.\npub fn answer() -> u32 { loop {} }\n",
    );
    let folder = class.path().to_str().expect("it is UTF-8");
    let arguments = ["check", "--submissions", folder, "--time-limit", "600"];
    let bens = || {
        let rooms = course.path().join("target/submissions/rooms");
        let mut rooms = rooms.read_dir().into_iter().flatten().flatten();
        // His program is there; it cannot come to its end.
        let of_ben = rooms.find(|room| room.file_name().to_string_lossy().starts_with("ben"));
        of_ben.is_some_and(|room| {
            let built = room.path().join("built");
            built
                .read_dir()
                .into_iter()
                .flatten()
                .flatten()
                .any(|file| !file.file_name().to_string_lossy().contains('.'))
        })
    };
    let said = interrupted(piped(&mut command(course.path(), &arguments)), bens);
    let kept = "interrupted; 2 of 4 results are kept, and the same command goes on\n";
    assert!(said.ends_with(kept), "{said}");
    let fresh = [&arguments[..], &["--fresh"]].concat();
    let _ = std::fs::remove_dir_all(course.path().join("target/submissions/rooms"));
    let said = interrupted(piped(&mut command(course.path(), &fresh)), bens);
    assert!(said.ends_with("and the same command without --fresh goes on\n"), "{said}");
}
