//! Events: to which record a wait binds.

use super::clock::Clock;
use crate::model::{Nanos, ThreadId};

#[derive(Debug, Default)]
pub(super) struct Event {
    /// The records that a call may still bind to, by the order of calls: nearly always two at most.
    pub records: Vec<Record>,
}

#[derive(Debug)]
pub(super) struct Record {
    pub thread: ThreadId,
    pub entered: Nanos,
    pub left: Nanos,
    pub clock: Clock,
}

impl Record {
    /// Whether a call that comes later in the order of calls surely found it done.
    fn is_before(&self, thread: ThreadId, entered: Nanos) -> bool {
        self.thread == thread || self.left <= entered
    }
}

impl Event {
    /// What a call by `thread` entered at `entered` has surely bound to: what is common to all the
    /// records that may have been the latest. Whether there surely was one.
    pub fn bind(&self, thread: ThreadId, entered: Nanos, into: &mut Clock) -> bool {
        let (mut first, mut sure) = (true, false);
        for (index, record) in self.records.iter().enumerate().rev() {
            let outdated = self.records[index + 1..].iter().any(|later| {
                later.is_before(thread, entered) && record.is_before(later.thread, later.entered)
            });
            if outdated {
                continue;
            }
            if first {
                into.clone_from(&record.clock);
            } else {
                into.meet(&record.clock);
            }
            first = false;
            sure |= record.is_before(thread, entered);
        }
        sure
    }

    /// Adds a record; those that nobody can bind to any more are dropped.
    pub fn record(&mut self, mut record: Record, knows: &Clock) {
        let outdated = |records: &[Record], index: usize| {
            records[index + 1..].iter().any(|later: &Record| {
                later.left <= record.entered
                    && records[index].is_before(later.thread, later.entered)
            })
        };
        let mut index = 0;
        while index < self.records.len() {
            if outdated(&self.records, index) {
                record.clock = self.records.remove(index).clock;
            } else {
                index += 1;
            }
        }
        record.clock.clone_from(knows);
        self.records.push(record);
    }
}
