//! What is going on, on standard error: a progress bar on a terminal, and elsewhere, for what takes long, a
//! plain line now and then.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Whether plain lines are left out.
static HUSHED: AtomicBool = AtomicBool::new(false);

/// From here on there are no plain lines: somebody else shows what is going on.
pub fn hush() {
    HUSHED.store(true, Ordering::Relaxed);
}

/// What is going on, for whoever is watching.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    what: String,
    lines: Option<Lines>,
}

impl Progress {
    /// Begins without a known length; to be seen on a terminal only.
    pub fn start(what: &str) -> Progress {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        bar.set_message(what.to_owned());
        Progress { bar, what: what.to_owned(), lines: None }
    }

    /// The same for what may take minutes: where there is no terminal, lines tell of its `units`.
    pub fn told(what: &str, units: &'static str) -> Progress {
        let mut progress = Progress::start(what);
        if progress.bar.is_hidden() && !HUSHED.load(Ordering::Relaxed) {
            let state = State { units, ..State::new(what) };
            progress.lines = Some(Lines::start(state, Pace::USUAL, std::io::stderr()));
        }
        progress
    }

    /// From here on there is a known number of steps.
    pub fn steps(&self, count: usize) {
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {wide_msg}") {
            self.bar.set_style(style);
        }
        self.bar.set_length(count as u64);
        self.bar.set_position(0);
        self.in_lines(|state| state.total = Some(count));
    }

    /// So many of them are done.
    pub fn is_at(&self, done: usize) {
        self.bar.set_position(done as u64);
        self.in_lines(|state| state.done = done);
    }

    /// Whether anybody can see it.
    pub fn is_seen(&self) -> bool {
        !self.bar.is_hidden() || self.lines.is_some()
    }

    /// Says what is being done; on a terminal only.
    pub fn say(&self, what: impl Into<String>) {
        self.bar.set_message(what.into());
    }

    /// A step is done.
    pub fn step(&self) {
        self.bar.inc(1);
        self.in_lines(|state| state.done += 1);
    }

    /// Nothing goes on before this has come.
    pub fn waits_for(&self, what: &str) {
        let wait = format!("waiting for {what}");
        self.bar.set_message(wait.clone());
        self.in_lines(|state| state.wait = Some((wait, Instant::now())));
    }

    /// It has come.
    pub fn waits_no_more(&self) {
        self.bar.set_message(self.what.clone());
        self.in_lines(|state| state.wait = None);
    }

    fn in_lines(&self, change: impl FnOnce(&mut State)) {
        if let Some(lines) = &self.lines {
            change(&mut lock(&lines.state));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// What the lines tell of.
#[derive(Debug)]
struct State {
    what: String,
    units: &'static str,
    done: usize,
    total: Option<usize>,
    wait: Option<(String, Instant)>,
    /// Whether it has been said that this goes on at all.
    is_told: bool,
}

impl State {
    fn new(what: &str) -> State {
        State { what: what.to_owned(), units: "", done: 0, total: None, wait: None, is_told: false }
    }

    /// The next line.
    fn line(&mut self) -> String {
        if let Some((wait, _)) = &self.wait {
            return wait.clone();
        }
        let State { what, units, done, .. } = self;
        if !std::mem::replace(&mut self.is_told, true) {
            return format!("{what} ...");
        }
        match self.total {
            Some(total) => format!("{what}: {done} of {total} {units}"),
            None if *done > 0 => format!("{what}: {done} {units} so far"),
            None => format!("{what}, still"),
        }
    }
}

/// When there are lines.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// What is done sooner is not told of.
    first: Duration,
    /// Nor is a wait that is shorter.
    wait: Duration,
    /// From one line to the next.
    every: Duration,
    /// From one line to the next where nothing has changed.
    again: Duration,
}

impl Pace {
    const USUAL: Pace = Pace {
        first: Duration::from_secs(2),
        wait: Duration::from_secs(1),
        every: Duration::from_secs(15),
        again: Duration::from_secs(60),
    };
}

/// The thread that writes lines, until this is dropped.
#[derive(Debug)]
struct Lines {
    state: Arc<Mutex<State>>,
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Lines {
    fn start(state: State, pace: Pace, mut out: impl Write + Send + 'static) -> Lines {
        let state = Arc::new(Mutex::new(state));
        let shared = state.clone();
        let (end, ended) = channel();
        let thread = std::thread::spawn(move || {
            let mut next = Instant::now() + pace.first;
            // The wait that was told of last.
            let mut told = None;
            let (mut said, mut written) = (String::new(), Instant::now());
            let look = Duration::from_millis(100).min(pace.first);
            while ended.recv_timeout(look) == Err(RecvTimeoutError::Timeout) {
                let mut state = lock(&shared);
                let since = state.wait.as_ref().map(|(_, since)| *since);
                if since.is_some() && told != since {
                    next = next.min(since.unwrap_or(next) + pace.wait);
                }
                if Instant::now() < next {
                    continue;
                }
                let is_new = told != since;
                told = since;
                next = Instant::now() + pace.every;
                let line = state.line();
                drop(state);
                // What has not changed is said again when one may begin to wonder.
                if !is_new && line == said && written.elapsed() < pace.again {
                    continue;
                }
                (said, written) = (line.clone(), Instant::now());
                // Whoever does not read it any more does not miss it.
                let _ = writeln!(out, "{line}");
            }
        });
        Lines { state, thread: Some((end, thread)) }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.thread.take() {
            drop(end);
            // No line may come after what follows.
            let _ = thread.join();
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was written so far.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("nobody panics").write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Written {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().expect("nobody panics").clone()).expect("it is UTF-8")
        }

        fn wait_for(&self, line: &str) {
            let until = Instant::now() + Duration::from_secs(60);
            while !self.text().ends_with(&format!("{line}\n")) {
                assert!(Instant::now() < until, "no {line:?} in {}", self.text());
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    const SOON: Duration = Duration::from_millis(2);
    const NEVER: Duration = Duration::from_secs(3600);

    fn building() -> State {
        State { units: "crates", ..State::new("building") }
    }

    #[test]
    fn lines_tell_how_far_it_is() {
        let written = Written::default();
        let pace = Pace { first: SOON, wait: SOON, every: SOON, again: SOON };
        let lines = Lines::start(building(), pace, written.clone());
        written.wait_for("building, still");
        lock(&lines.state).done = 31;
        written.wait_for("building: 31 crates so far");
        lock(&lines.state).total = Some(212);
        written.wait_for("building: 31 of 212 crates");
        lock(&lines.state).wait = Some(("waiting for a bus".to_owned(), Instant::now()));
        written.wait_for("waiting for a bus");
        lock(&lines.state).wait = None;
        written.wait_for("building: 31 of 212 crates");
        drop(lines);
        let text = written.text();
        assert!(text.starts_with("building ...\nbuilding, still\n"), "{text}");
        assert!(!text.contains(['\r', '\x1b']), "{text:?}");
        assert_eq!(written.text(), text, "a line came after the end");
    }

    #[test]
    fn what_has_not_changed_is_not_said_again_so_soon() {
        let written = Written::default();
        let pace = Pace { first: SOON, wait: SOON, every: SOON, again: NEVER };
        let lines = Lines::start(State { done: 31, ..building() }, pace, written.clone());
        written.wait_for("building: 31 crates so far");
        std::thread::sleep(Duration::from_millis(300));
        lock(&lines.state).done = 32;
        written.wait_for("building: 32 crates so far");
        drop(lines);
        let text = written.text();
        assert_eq!(text, "building ...\nbuilding: 31 crates so far\nbuilding: 32 crates so far\n");
    }

    #[test]
    fn what_is_soon_done_is_not_told_of_and_a_wait_is() {
        let written = Written::default();
        let pace = Pace { first: NEVER, wait: SOON, every: NEVER, again: NEVER };
        // The thread looks after 100 ms.
        let lines = Lines::start(building(), pace, written.clone());
        std::thread::sleep(Duration::from_millis(250));
        assert_eq!(written.text(), "");
        lock(&lines.state).wait = Some(("waiting for a bus".to_owned(), Instant::now()));
        written.wait_for("waiting for a bus");
        std::thread::sleep(Duration::from_millis(250));
        drop(lines);
        assert_eq!(written.text(), "waiting for a bus\n");
    }
}
