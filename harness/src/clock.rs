//! A host clock whose readings are in the record.

use std::time::{Duration, Instant};

use streamlings_driver::recording;
use streamlings_trace::MarkKind;

/// Times the laps of a loop by the host's clock. Waits for nothing.
///
/// ```
/// let mut clock = streamlings::Clock::new();
/// let sum = clock.lap(|| (1..=10).sum::<u32>());
/// assert_eq!((sum, clock.laps().len()), (55, 1));
/// ```
#[derive(Debug, Default)]
pub struct Clock {
    laps: Vec<Duration>,
}

impl Clock {
    /// The name of the region that a lap is in the record.
    pub const LAP: &str = "lap";

    /// A clock that has timed nothing yet.
    pub fn new() -> Clock {
        Clock::default()
    }

    /// Does some work and times it.
    pub fn lap<T>(&mut self, work: impl FnOnce() -> T) -> T {
        recording::mark(MarkKind::Begin { region: Clock::LAP.to_owned() });
        let began = Instant::now();
        let result = work();
        self.laps.push(began.elapsed());
        recording::mark(MarkKind::End { region: Clock::LAP.to_owned() });
        result
    }

    /// How long each lap took, in order.
    pub fn laps(&self) -> &[Duration] {
        &self.laps
    }
}
