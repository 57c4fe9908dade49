//! A terminal for a program under test: keys go in, and the screen is what a person would see.

use std::io::{Read, Write};
use std::num::NonZero;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::workspace::command;

/// By then even a busy machine has done it.
const DEADLINE: Duration = Duration::from_secs(120);
const ROWS: NonZero<u16> = NonZero::new(24).expect("it is not 0");
const COLUMNS: NonZero<u16> = NonZero::new(100).expect("it is not 0");

/// `cargo xtask` on a terminal.
pub struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    keys: Box<dyn Write + Send>,
    screen: Arc<Mutex<vt100::Parser>>,
    written: Arc<Mutex<Vec<u8>>>,
    master: Box<dyn MasterPty + Send>,
    /// Echo, line editing and the like, as they were at first.
    modes: String,
}

impl Terminal {
    /// Starts it on a workspace.
    pub fn start(root: &Path, arguments: &[&str]) -> Terminal {
        Terminal::start_with(root, arguments, &[])
    }

    /// The same, with these in its environment.
    pub fn start_with(root: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Terminal {
        Terminal::start_in((ROWS, COLUMNS), root, arguments, environment)
    }

    /// The same on a terminal of so many rows and columns.
    pub fn start_sized(root: &Path, arguments: &[&str], (rows, columns): (u16, u16)) -> Terminal {
        Terminal::start_in((known(rows), known(columns)), root, arguments, &[])
    }

    /// The same on such a terminal, with these in its environment.
    pub fn start_in(
        (rows, columns): (NonZero<u16>, NonZero<u16>),
        root: &Path,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Terminal {
        let size = PtySize { rows: rows.get(), cols: columns.get(), ..PtySize::default() };
        let pair = native_pty_system().openpty(size).expect("a terminal");
        let mut builder = on_terminal(root, arguments);
        ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"].iter().for_each(|name| builder.env_remove(name));
        environment.iter().for_each(|(name, value)| builder.env(name, value));
        let modes = modes(&*pair.master);
        let child = pair.slave.spawn_command(builder).expect("xtask runs");
        let screen = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 1000)));
        let written = Arc::new(Mutex::new(Vec::new()));
        let mut reader = pair.master.try_clone_reader().expect("a terminal can be read");
        let shared = (screen.clone(), written.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // It ends with an error when the program's end is closed.
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                shared.0.lock().expect("nobody panics").process(&bytes[..count]);
                shared.1.lock().expect("nobody panics").extend_from_slice(&bytes[..count]);
            }
        });
        let keys = pair.master.take_writer().expect("a terminal can be written to");
        Terminal { child, keys, screen, written, master: pair.master, modes }
    }

    /// What is on the screen.
    pub fn screen(&self) -> String {
        self.screen.lock().expect("nobody panics").screen().contents()
    }

    /// All that was written so far, escape sequences and all.
    pub fn written(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().expect("nobody panics")).into_owned()
    }

    /// Waits until a text is on the screen.
    pub fn wait_for(&self, text: &str) {
        let there = wait_until(|| self.screen().contains(text));
        assert!(there, "no {text:?} on the screen:\n{}", self.screen());
    }

    /// Gives it another size.
    pub fn resize(&self, rows: u16, columns: u16) {
        let size = PtySize { rows, cols: columns, ..PtySize::default() };
        let mut screen = self.screen.lock().expect("nobody panics");
        screen.screen_mut().set_size(known(rows), known(columns));
        self.master.resize(size).expect("a terminal has a size");
    }

    /// Types.
    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).and_then(|()| self.keys.flush()).expect("it is typed");
    }

    /// Sends a signal to the program.
    pub fn signal(&self, signal: Signal) {
        let pid = self.child.process_id().expect("it runs").cast_signed();
        kill(Pid::from_raw(pid), signal).expect("it runs");
    }

    /// Waits for the program's end, and returns its exit code.
    pub fn end(&mut self) -> u32 {
        let mut code = None;
        wait_until(|| {
            code = self.child.try_wait().expect("it can be waited for").map(|s| s.exit_code());
            code.is_some()
        });
        code.unwrap_or_else(|| panic!("it is still running:\n{}", self.screen()))
    }

    /// The terminal is as it was: no alternate screen, a cursor, echo and lines.
    pub fn assert_restored(&self) {
        // The last of what was written may still be on its way.
        let plain = || {
            let parser = self.screen.lock().expect("nobody panics");
            !parser.screen().alternate_screen() && !parser.screen().hide_cursor()
        };
        assert!(wait_until(plain), "the alternate screen or no cursor was left");
        assert_eq!(modes(&*self.master), self.modes);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Where a test has failed on the way.
        let _ = self.child.kill();
    }
}

/// `cargo xtask` as it is started on a terminal.
pub fn on_terminal(root: &Path, arguments: &[&str]) -> CommandBuilder {
    let plain = command(root, arguments);
    let mut builder = CommandBuilder::new(plain.get_program());
    builder.args(plain.get_args());
    builder.cwd(root);
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => builder.env(name, value),
            None => builder.env_remove(name),
        }
    }
    builder.env("TERM", "xterm-256color");
    builder
}

fn known(side: u16) -> NonZero<u16> {
    NonZero::new(side).expect("it is not 0")
}

fn modes(master: &dyn MasterPty) -> String {
    let termios = master.get_termios().expect("a terminal has modes");
    format!("{:?} {:?} {:?}", termios.input_flags, termios.output_flags, termios.local_flags)
}

/// Waits until something holds, and says whether it came to that.
pub fn wait_until(mut holds: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + DEADLINE;
    while !holds() {
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

/// Waits until a process is no more, and fails if it stays.
pub fn assert_gone(pid: i32) {
    // Whoever reaps orphans may take a moment.
    let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let gone = wait_until(|| state().is_empty() || state().contains(") Z "));
    assert!(gone, "process {pid} is still there: {}", state());
}
