//! `cargo xtask watch`: grades an exercise on every save, and goes on to the next when it passes.
//!
//! One loop takes what happens, in turn: a key, a save, the end of a check, a signal. The check is
//! `cargo xtask check` as a process group of its own (see [`child`]), which a save or the end of the
//! watch ends. It builds in a target folder of its own, so that an editor's cargo does not keep it
//! waiting; the first watch fills that from the usual one (see [`takeover`]).

mod child;
mod files;
mod screen;
mod takeover;
mod view;

use std::io::IsTerminal;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::cli::WatchArguments;
use crate::commands::{hint, list, next, reset};
use crate::course::{Course, Exercise};
use crate::exit::{Exit, UsageError};
use crate::sources;
use crate::state::Store;
use child::{Check, Ended};
use screen::Screen;
use takeover::{Progress, Taken};
use view::{Overlay, Status};

/// After an event of the file system, its writer may not be done yet.
const SETTLING: Duration = Duration::from_millis(40);
/// How long a check that was told to end is waited for.
const GRACE: Duration = Duration::from_secs(3);
/// How often the elapsed time is drawn anew.
const TICK: Duration = Duration::from_millis(500);

/// What is said while not everything was built before.
const SLOW: &str = "a first build takes some minutes";

/// What happens.
enum Event {
    Input(Input),
    /// Something was written below an exercise's sources.
    Touched(std::path::PathBuf),
    /// What is built was taken over, or not.
    Taken(Taken),
    /// A check is over.
    Ended(Ended),
    /// A signal, or the terminal has gone.
    Interrupted,
}

/// Where a signal's handler finds the loop.
static LOOP: Mutex<Option<Sender<Event>>> = Mutex::new(None);

/// Tells a running watch to end; false where none is running.
pub fn interrupt() -> bool {
    let sender = LOOP.lock().unwrap_or_else(PoisonError::into_inner);
    sender.as_ref().is_some_and(|sender| sender.send(Event::Interrupted).is_ok())
}

/// Watches until the learner quits.
///
/// # Errors
/// Where there is no terminal, the exercise is not known, or the course cannot be read.
pub fn run(root: &Path, arguments: &WatchArguments) -> anyhow::Result<Exit> {
    let course = Course::read(root)?;
    let named = arguments.name.as_ref().map(|name| course.find(name)).transpose()?;
    // One that is called dumb can move no cursor.
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    if dumb || !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        let name = arguments.name.as_deref().unwrap_or("NAME");
        anyhow::bail!(UsageError(format!(
            "watch needs a terminal that can be drawn on; `cargo xtask check {name}` grades once"
        )));
    }
    let state = Store::of(root).read().aloud();
    let first = match named {
        Some(exercise) => exercise,
        None => match state.next(&course) {
            Some(exercise) => exercise,
            None => {
                return next::say(root, &course);
            }
        },
    };
    let usual = child::target_folder(root)?;

    let (sender, events) = channel();
    *LOOP.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender.clone());
    let (_watcher, remark) = files::watch(&root.join("exercises"), arguments.poll, {
        let sender = sender.clone();
        // The loop may be over already; then nobody wants to know.
        move |path| drop(sender.send(Event::Touched(path)))
    })?;
    let screen = Screen::open()?;
    read_keys(sender.clone());
    let mut watch = Watch {
        root,
        course: &course,
        arguments,
        target: usual.join("watch"),
        taking: None,
        sender,
        screen,
        exercise: first,
        checks: 0,
        slow: None,
        running: None,
        again: false,
        saved: false,
        digest: None,
        touched: None,
        status: Status::TakingOver(Arc::default()),
        report: String::new(),
        overlay: remark.map(Overlay::Text),
        top: 0,
    };
    watch.take_over(usual);
    let exit = watch.run(&events);
    watch.end_takeover();
    watch.end_check(&events);
    *LOOP.lock().unwrap_or_else(PoisonError::into_inner) = None;
    exit
}

/// Reads keys for as long as there is a terminal.
fn read_keys(sender: Sender<Event>) {
    std::thread::spawn(move || {
        while let Ok(input) = crossterm::event::read() {
            if sender.send(Event::Input(input)).is_err() {
                return;
            }
        }
        let _ = sender.send(Event::Interrupted);
    });
}

/// A watch at work.
struct Watch<'a> {
    root: &'a Path,
    course: &'a Course,
    arguments: &'a WatchArguments,
    target: std::path::PathBuf,
    /// What fills the target folder, while it does.
    taking: Option<(Arc<Progress>, JoinHandle<()>)>,
    sender: Sender<Event>,
    screen: Screen,
    exercise: &'a Exercise,
    /// How many have been started of this exercise.
    checks: u32,
    /// What is said of the first one if it takes long, until it has come to its end.
    slow: Option<String>,
    running: Option<Check>,
    /// Whether another check begins when the running one is over.
    again: bool,
    /// Whether the learner saved since the last report, and so waits for the next.
    saved: bool,
    /// What the last check was about.
    digest: Option<String>,
    /// When to look whether the sources have changed.
    touched: Option<Instant>,
    status: Status,
    report: String,
    overlay: Option<Overlay>,
    /// The first line of the report that is shown.
    top: usize,
}

/// What a key leads to.
enum Then {
    GoOn,
    End(Exit),
}

impl Watch<'_> {
    fn run(&mut self, events: &Receiver<Event>) -> anyhow::Result<Exit> {
        loop {
            self.draw()?;
            let tick = if self.taking.is_some() { SETTLING } else { TICK };
            let wait = self.touched.map_or(tick, |at| at.saturating_duration_since(Instant::now()));
            match events.recv_timeout(wait.min(tick)) {
                Ok(Event::Input(Input::Key(key))) if key.kind == KeyEventKind::Press => {
                    if let Then::End(exit) = self.key(key)? {
                        return Ok(exit);
                    }
                }
                // Whatever its new size, the next round draws it.
                Ok(Event::Input(_)) => {}
                Ok(Event::Touched(path)) => {
                    if path.starts_with(self.root.join(self.exercise.source())) {
                        self.touched = Some(Instant::now() + SETTLING);
                    }
                }
                Ok(Event::Taken(taken)) => self.taken(taken)?,
                Ok(Event::Ended(ended)) => self.ended(ended)?,
                Ok(Event::Interrupted) | Err(RecvTimeoutError::Disconnected) => {
                    return Ok(Exit::Interrupted);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.touched.is_some_and(|at| at <= Instant::now()) {
                self.touched = None;
                // Editors write more than the file, and may write it as it was.
                if self.sources() != self.digest {
                    self.saved = true;
                    self.check()?;
                }
            }
        }
    }

    fn sources(&self) -> Option<String> {
        let sources = sources::read(&self.root.join(self.exercise.source())).ok();
        sources.as_ref().map(sources::digest)
    }

    /// Begins to fill the target folder, if it is not there yet.
    fn take_over(&mut self, usual: std::path::PathBuf) {
        let progress = Arc::new(Progress::default());
        self.status = Status::TakingOver(progress.clone());
        let (own, sender, shared) = (self.target.clone(), self.sender.clone(), progress.clone());
        let thread = std::thread::spawn(move || {
            let taken = takeover::take_over(&usual, &own, &shared);
            drop(sender.send(Event::Taken(taken)));
        });
        self.taking = Some((progress, thread));
    }

    fn taken(&mut self, taken: Taken) -> anyhow::Result<()> {
        self.end_takeover();
        self.slow = match taken {
            Taken::Over | Taken::Nothing(None) => Some(SLOW.to_owned()),
            Taken::Nothing(Some(why)) => Some(format!("{SLOW} ({why})")),
        };
        self.check()
    }

    /// Ends it if it is not over, and comes back when nothing half-made is left.
    fn end_takeover(&mut self) {
        if let Some((progress, thread)) = self.taking.take() {
            progress.stop();
            // It cannot panic, and if it did, the watch would have to be ended all the same.
            let _ = thread.join();
        }
    }

    /// Begins a check, as soon as the one that may be running has ended.
    fn check(&mut self) -> anyhow::Result<()> {
        if self.taking.is_some() {
            // One begins when that is done.
            return Ok(());
        }
        if let Some(running) = &self.running {
            running.end();
            self.again = true;
            return Ok(());
        }
        self.again = false;
        self.checks += 1;
        self.digest = self.sources();
        self.status = Status::Checking(Instant::now());
        let sender = self.sender.clone();
        let check = Check::start(
            self.root,
            &self.target,
            self.exercise,
            &self.arguments.run,
            &self.screen,
            move |ended| drop(sender.send(Event::Ended(ended))),
        )?;
        self.running = Some(check);
        Ok(())
    }

    fn ended(&mut self, ended: Ended) -> anyhow::Result<()> {
        self.running = None;
        if self.again {
            return self.check();
        }
        self.slow = None;
        self.report = ended.text;
        self.top = 0;
        // Whoever saved wants to see what came of it, not a hint any more.
        if std::mem::take(&mut self.saved) && matches!(self.overlay, Some(Overlay::Text(_))) {
            self.overlay = None;
        }
        let seconds = match self.status {
            Status::Checking(since) => since.elapsed().as_secs_f64(),
            _ => 0.0,
        };
        self.status = match ended.passed {
            true => Status::Passed { seconds, next: self.following().map(Exercise::label) },
            false => Status::NotPassed { seconds },
        };
        Ok(())
    }

    /// The exercise to go on with after this one.
    fn following(&self) -> Option<&Exercise> {
        Store::of(self.root).read().value.after(self.course, &[self.exercise.number])
    }

    fn key(&mut self, key: KeyEvent) -> anyhow::Result<Then> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && matches!(key.code, KeyCode::Char('c' | 'd')) {
            return Ok(Then::End(Exit::Interrupted));
        }
        match self.overlay.take() {
            Some(Overlay::Reset(_)) => {
                if matches!(key.code, KeyCode::Char('y' | 'Y')) {
                    self.reset()?;
                }
                return Ok(Then::GoOn);
            }
            // Any key closes it, and those that mean something still do.
            Some(Overlay::Text(_)) | None => {}
        }
        let page = self.screen.rows_for_body();
        match key.code {
            KeyCode::Char('q') => return Ok(Then::End(Exit::Success)),
            KeyCode::Char('h') => {
                let (text, remark) = hint::reveal(self.root, self.exercise, "`h`");
                self.show(text, remark);
            }
            KeyCode::Char('l') => {
                let told = Store::of(self.root).read();
                self.show(list::render(self.course, &told.value), told.remark);
            }
            KeyCode::Char('r') => self.check()?,
            KeyCode::Char('x') => {
                self.overlay = Some(Overlay::Reset(reset::question(self.exercise)));
            }
            KeyCode::Char('n') => self.go_on()?,
            KeyCode::Down | KeyCode::Char('j') => self.top += 1,
            KeyCode::Up | KeyCode::Char('k') => self.top = self.top.saturating_sub(1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.top += page,
            KeyCode::PageUp => self.top = self.top.saturating_sub(page),
            KeyCode::Home => self.top = 0,
            KeyCode::End => self.top = usize::MAX,
            _ => {}
        }
        Ok(Then::GoOn)
    }

    fn show(&mut self, text: String, remark: Option<String>) {
        let remark = remark.map_or(String::new(), |remark| format!("warning: {remark}\n\n"));
        self.overlay = Some(Overlay::Text(remark + &text));
    }

    fn reset(&mut self) -> anyhow::Result<()> {
        match reset::reset(self.root, self.exercise) {
            Ok((said, remark)) => {
                self.show(said, remark);
                self.check()
            }
            // Nothing that ends a watch: the learner reads it and goes on.
            Err(error) => {
                self.show(format!("{error:#}"), None);
                Ok(())
            }
        }
    }

    fn go_on(&mut self) -> anyhow::Result<()> {
        if !matches!(self.status, Status::Passed { .. }) {
            let text = format!(
                "{} has not passed yet. To go on without it: q, then `cargo xtask watch NAME`.",
                self.exercise.label()
            );
            self.show(text, None);
            return Ok(());
        }
        let Some(number) = self.following().map(|exercise| exercise.number) else {
            self.show("All exercises have passed; `q` quits.".to_owned(), None);
            return Ok(());
        };
        let exercise = self.course.exercises.iter().find(|exercise| exercise.number == number);
        if let Some(exercise) = exercise {
            self.exercise = exercise;
            self.checks = 0;
            self.report.clear();
            self.show(next::begin(exercise, true), None);
            self.check()?;
        }
        Ok(())
    }

    fn draw(&mut self) -> std::io::Result<()> {
        let header = view::header(self.exercise, self.checks, self.slow.as_deref(), &self.status);
        let body = match &self.overlay {
            Some(Overlay::Text(text) | Overlay::Reset(text)) => text,
            None => &self.report,
        };
        let top = if self.overlay.is_some() { &mut 0 } else { &mut self.top };
        let footer = |columns| view::footer(self.overlay.as_ref(), columns);
        self.screen.draw(&header, body, top, footer)
    }

    /// Ends the running check, and comes back when nothing of it is left.
    fn end_check(&mut self, events: &Receiver<Event>) {
        let Some(running) = self.running.take() else { return };
        running.end();
        let until = Instant::now() + GRACE;
        loop {
            match events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Event::Ended(_)) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return running.kill(),
            }
        }
    }
}
