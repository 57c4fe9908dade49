//! What a timing finding says.

use crate::blocks::Block;
use crate::model::{EventId, Frame, Nanos, Seq, Span, StreamId, ThreadId};
use crate::regions::Region;

/// A piece of work as a timing finding names it.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// The call that enqueued it.
    pub seq: Seq,
    /// Its thread.
    pub thread: ThreadId,
    /// What it is: ``kernel `matmul` ``, `upload`.
    pub operation: String,
    /// Its stream.
    pub stream: StreamId,
    /// The stream as it stands in a sentence.
    pub stream_name: String,
    /// The learner's line.
    pub at: Option<Frame>,
    /// When it ran, on the device's clock, where known.
    pub ran: Option<Span>,
}

/// One record of an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The cuEventRecord.
    pub seq: Seq,
    /// The stream that it was recorded on.
    pub stream: StreamId,
    /// The stream as it stands in a sentence.
    pub stream_name: String,
    /// The learner's line.
    pub at: Option<Frame>,
    /// When the device passed it, where known.
    pub passed: Option<Nanos>,
}

/// One of the two events of a pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint {
    /// The event.
    pub event: EventId,
    /// The event as it stands in a sentence.
    pub name: String,
    /// Whether it was made for timing; `None` if the trace does not show it being made.
    pub timing: Option<bool>,
    /// Its latest record.
    pub record: Option<Recorded>,
}

/// Something that happens once and is slow, inside of what was timed.
#[derive(Clone, Debug, PartialEq)]
pub enum WarmUp {
    /// A module was loaded.
    ModuleLoad {
        /// The call.
        seq: Seq,
        /// The learner's line.
        at: Option<Frame>,
    },
    /// A kernel was launched for the first time.
    FirstLaunch {
        /// The launch.
        work: Work,
    },
}

/// Which event of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The one that begins it.
    Start,
    /// The one that ends it.
    End,
}

/// What is wrong with a pair, most basic first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PairProblem {
    /// The same event twice.
    SameEvent,
    /// An event was made with CU_EVENT_DISABLE_TIMING.
    NotForTiming(Side),
    /// An event was never recorded.
    NeverRecorded(Side),
    /// The end was recorded before the start.
    EndBeforeStart,
    /// The two were recorded on different streams.
    DifferentStreams,
    /// Nothing lies between the two records on their stream.
    BracketsNothing,
    /// There is work on their stream, but it was enqueued after the end's record.
    RecordedBeforeTheWork,
    /// Work was enqueued in between on a stream that the end's stream never waited for.
    WorkElsewhere,
    /// The time was read while the end was pending: CUDA_ERROR_NOT_READY.
    NotReady,
    /// Nothing made the host wait for the end before the time was read: it was read by luck.
    ReadWithoutWaiting,
    /// A module load or a kernel's first launch lies in between.
    WarmUpInside,
}

/// What a pair of events bracketed.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The cuEventElapsedTime, if one asked.
    pub seq: Option<Seq>,
    /// Its learner's line.
    pub at: Option<Frame>,
    /// What it returned; 0 is CUDA_SUCCESS.
    pub result: u32,
    /// The time that it returned, in milliseconds, if it succeeded.
    pub ms: Option<f32>,
    /// The event that begins it.
    pub start: Endpoint,
    /// The event that ends it.
    pub end: Endpoint,
    /// Work on the start's stream between the two records.
    pub bracketed: Vec<Work>,
    /// Work enqueued in between on other streams that the end's record waited for: inside the time.
    pub joined: Vec<Work>,
    /// Work enqueued in between on other streams that the end's record did not wait for: not inside.
    pub elsewhere: Vec<Work>,
    /// Work on the end's stream between its record and the reading: not inside.
    pub after: Vec<Work>,
    /// Whether the host had waited for the end's record before the reading, by a synchronize, a
    /// successful query or a copy that holds the host.
    pub waited: bool,
    /// Module loads and first launches in between.
    pub warm_ups: Vec<WarmUp>,
    /// From the start of the first to the end of the last of the bracketed work on the device, where
    /// known: what the pair should have read, but for a few microseconds.
    pub device: Option<Nanos>,
    /// Between the two records on the device, where known.
    pub between_records: Option<Nanos>,
}

impl Pair {
    /// All that is wrong with it, most basic first; none for an honest time.
    pub fn problems(&self) -> Vec<PairProblem> {
        let mut problems = Vec::new();
        let mut found = |is: bool, problem| {
            if is {
                problems.push(problem);
            }
        };
        let sides = [(Side::Start, &self.start), (Side::End, &self.end)];
        found(self.start.event == self.end.event, PairProblem::SameEvent);
        for (side, endpoint) in sides {
            found(endpoint.timing == Some(false), PairProblem::NotForTiming(side));
        }
        for (side, endpoint) in sides {
            found(endpoint.record.is_none(), PairProblem::NeverRecorded(side));
        }
        if let (Some(start), Some(end)) = (&self.start.record, &self.end.record)
            && self.start.event != self.end.event
        {
            found(end.seq < start.seq, PairProblem::EndBeforeStart);
            found(start.stream != end.stream, PairProblem::DifferentStreams);
            let nothing = self.bracketed.is_empty() && self.joined.is_empty();
            found(nothing, PairProblem::BracketsNothing);
            found(nothing && !self.after.is_empty(), PairProblem::RecordedBeforeTheWork);
            found(!self.elsewhere.is_empty(), PairProblem::WorkElsewhere);
        }
        found(self.result == NOT_READY, PairProblem::NotReady);
        let read = self.seq.is_some() && self.result == 0 && self.end.record.is_some();
        found(read && !self.waited, PairProblem::ReadWithoutWaiting);
        found(!self.warm_ups.is_empty(), PairProblem::WarmUpInside);
        problems
    }
}

/// CUDA_ERROR_NOT_READY.
pub const NOT_READY: u32 = 600;

/// What a bare clock measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Measured {
    /// Nothing was enqueued and nothing held the host: the host's own work.
    HostOnly,
    /// Work was enqueued and nothing waited for any of it: the enqueueing alone.
    EnqueueOnly,
    /// Work was enqueued and all of it was waited for: enqueueing, execution and the wait.
    EnqueueAndWait,
    /// Some of the work was waited for, but not the last of it.
    PartOfTheWork,
    /// The host was held, but by other work than what was enqueued inside.
    SomethingElse,
}

/// A bare clock around a region.
#[derive(Clone, Debug, PartialEq)]
pub struct BareClock {
    /// The region.
    pub region: Region,
    /// How long it took on the host.
    pub host: Nanos,
    /// The work that its thread enqueued inside.
    pub enqueued: Vec<Work>,
    /// Those of `enqueued` whose end the thread had waited for before the region ended.
    pub waited_for: Vec<Seq>,
    /// The calls inside that held the host, or would have.
    pub blocks: Vec<Block>,
    /// Module loads and first launches inside.
    pub warm_ups: Vec<WarmUp>,
    /// From the start of the first to the end of the last of the enqueued work on the device, where
    /// known.
    pub device: Option<Nanos>,
    /// So what it measured.
    pub measured: Measured,
}
