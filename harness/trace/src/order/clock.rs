//! Vector clocks.
//!
//! A [`Lane`] is a sequence of operations that are ordered among themselves: what one host thread
//! does, or what one host thread puts on one stream. Two threads that share a stream get a lane each,
//! because where their calls overlap in time nobody knows which came first.

use crate::model::{StreamId, ThreadId};

/// Who performs a sequence of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lane {
    /// A host thread.
    Host(ThreadId),
    /// The operations that a host thread enqueued on a stream.
    Stream(StreamId, ThreadId),
}

impl Lane {
    /// The stream, unless this is a host thread.
    pub fn stream(self) -> Option<StreamId> {
        match self {
            Lane::Host(_) => None,
            Lane::Stream(stream, _) => Some(stream),
        }
    }

    /// The host thread that acted, or that enqueued.
    pub fn thread(self) -> ThreadId {
        match self {
            Lane::Host(thread) | Lane::Stream(_, thread) => thread,
        }
    }
}

/// The index of a lane in a [`Clock`]. Given out again once nothing that can still come could tell
/// the old lane's operations from ones that are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LaneIndex(pub u32);

/// One operation: the `at`-th of its lane, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Epoch {
    /// The lane.
    pub lane: LaneIndex,
    /// Its place there.
    pub at: u64,
}

/// What is known to be over, lane by lane: every operation up to and including the given one.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Clock(Vec<u64>);

impl Clone for Clock {
    fn clone(&self) -> Clock {
        Clock(self.0.clone())
    }

    fn clone_from(&mut self, other: &Clock) {
        self.0.clone_from(&other.0);
    }
}

impl Clock {
    /// The clock of one who knows nothing.
    pub fn new() -> Clock {
        Clock::default()
    }

    /// Up to where it covers a lane; 0 is nothing of it.
    pub fn get(&self, lane: LaneIndex) -> u64 {
        self.0.get(lane.0 as usize).copied().unwrap_or(0)
    }

    /// Whether the operation is known to be over.
    pub fn covers(&self, epoch: Epoch) -> bool {
        self.get(epoch.lane) >= epoch.at
    }

    /// Adds an operation and all before it on its lane.
    pub fn add(&mut self, epoch: Epoch) {
        let lane = epoch.lane.0 as usize;
        if lane >= self.0.len() {
            self.0.resize(lane + 1, 0);
        }
        self.0[lane] = self.0[lane].max(epoch.at);
    }

    /// Adds all that the other covers.
    pub fn join(&mut self, other: &Clock) {
        if other.0.len() > self.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// Keeps only what the other covers too: what is known whichever of the two holds.
    pub fn meet(&mut self, other: &Clock) {
        self.0.truncate(other.0.len());
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).min(*theirs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(lanes: &[u64]) -> Clock {
        Clock(lanes.to_vec())
    }

    #[test]
    fn join_is_the_larger_of_each_lane() {
        let mut joined = clock(&[1, 5]);
        joined.join(&clock(&[2, 3, 4]));
        assert_eq!(joined, clock(&[2, 5, 4]));
    }

    #[test]
    fn meet_is_the_smaller_of_each_lane() {
        let mut met = clock(&[1, 5, 9]);
        met.meet(&clock(&[2, 3]));
        assert_eq!(met, clock(&[1, 3]));
    }

    #[test]
    fn covers_up_to_and_including() {
        let mut known = Clock::new();
        let lane = LaneIndex(2);
        known.add(Epoch { lane, at: 7 });
        assert!(known.covers(Epoch { lane, at: 7 }));
        assert!(!known.covers(Epoch { lane, at: 8 }));
        assert!(!known.covers(Epoch { lane: LaneIndex(9), at: 1 }));
    }

    #[test]
    fn adding_never_forgets() {
        let lane = LaneIndex(0);
        let mut known = clock(&[7]);
        known.add(Epoch { lane, at: 3 });
        assert_eq!(known.get(lane), 7);
    }
}
