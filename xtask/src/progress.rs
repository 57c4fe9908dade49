//! A progress bar on standard error; nothing at all where that is not a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// What is going on, for whoever is watching.
#[derive(Clone, Debug)]
pub struct Progress(ProgressBar);

impl Progress {
    /// Begins without a known length.
    pub fn start(what: &str) -> Progress {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        bar.set_message(what.to_owned());
        Progress(bar)
    }

    /// From here on there is a known number of steps.
    pub fn steps(&self, count: usize) {
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {wide_msg}") {
            self.0.set_style(style);
        }
        self.0.set_length(count as u64);
        self.0.set_position(0);
    }

    /// So many of them are done.
    pub fn is_at(&self, done: usize) {
        self.0.set_position(done as u64);
    }

    /// Whether anybody can see it.
    pub fn is_seen(&self) -> bool {
        !self.0.is_hidden()
    }

    /// Says what is being done.
    pub fn say(&self, what: impl Into<String>) {
        self.0.set_message(what.into());
    }

    /// A step is done.
    pub fn step(&self) {
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
