//! Who is ordered after what: one function per rule.
//!
//! Fed call by call and mark by mark; answers what an operation that is enqueued, or a host thread
//! that returns, knows to be over.

use rustc_hash::FxHashMap;

use super::clock::{Clock, Epoch, Lane, LaneIndex};
use super::copy::{CopyWait, copy_wait};
use super::event::{Event, Record};
use crate::model::{Call, EventId, Mark, MarkKind, Nanos, Op, StreamId, ThreadId};

/// The edges of happens-before, as clocks.
#[derive(Debug, Default)]
pub struct Edges {
    lanes: Vec<LaneState>,
    free_lanes: Vec<LaneIndex>,
    threads: FxHashMap<ThreadId, Thread>,
    slots: FxHashMap<StreamId, usize>,
    /// By slot.
    streams: Vec<Stream>,
    free_slots: Vec<usize>,
    /// The streams that the legacy default stream waits for and that wait for it, itself left out.
    blocking: Vec<usize>,
    /// Slot and tail of the last operation that was put on a stream.
    last: (usize, usize),
    events: FxHashMap<EventId, Event>,
    /// What everyone who can still act knew when it was last computed.
    floor: Clock,
    /// Kept for their storage.
    scratch: Clock,
    bound: Clock,
}

#[derive(Debug)]
struct LaneState {
    who: Lane,
    /// Its last operation.
    at: u64,
}

#[derive(Debug)]
struct Thread {
    lane: LaneIndex,
    clock: Clock,
    joined: bool,
}

#[derive(Debug, Default)]
struct Stream {
    destroyed: bool,
    blocking: bool,
    /// One for each host thread that enqueued here; nearly always one.
    tails: Vec<Tail>,
}

/// The end of what one thread put on one stream.
#[derive(Debug)]
struct Tail {
    thread: ThreadId,
    lane: LaneIndex,
    /// What an operation behind the last one knows.
    now: Clock,
    /// The same without the last one: what remains certain for a call that overlapped it.
    before: Clock,
    /// When the last one's call returned.
    left: Nanos,
}

impl Edges {
    /// Nothing has happened yet.
    pub fn new() -> Edges {
        Edges::default()
    }

    /// Takes in a call. Gives back the operation that it put on a stream, if it put one there.
    /// A call that failed changes nothing.
    pub fn call(&mut self, call: &Call) -> Option<Epoch> {
        if !call.succeeded() {
            return None;
        }
        match &call.op {
            Op::StreamCreate { stream, blocking } => {
                self.stream_create(*stream, *blocking);
            }
            Op::StreamDestroy { stream } => self.stream_destroy(*stream),
            Op::Launch { stream, .. } | Op::Memset { stream, .. } | Op::HostFunc { stream } => {
                return Some(self.enqueue(call, *stream));
            }
            Op::Alloc { stream: Some(stream), .. } | Op::Free { stream: Some(stream), .. } => {
                return Some(self.enqueue(call, *stream));
            }
            Op::Copy { stream, asynchronous, src, dst } => {
                let wait = copy_wait(*asynchronous, src, dst);
                return Some(self.copy(call, *stream, wait));
            }
            Op::EventCreate { event, .. } => {
                self.events.insert(*event, Event::default());
            }
            Op::EventDestroy { event } => {
                self.events.remove(event);
            }
            Op::EventRecord { event, stream } => return Some(self.record(call, *event, *stream)),
            Op::StreamWait { event, stream } => self.stream_wait(call, *event, *stream),
            Op::EventSync { event } | Op::EventQuery { event, done: true } => {
                self.event_sync(call, *event);
            }
            Op::StreamSync { stream } | Op::StreamQuery { stream, done: true } => {
                self.stream_sync(call, *stream);
            }
            Op::ContextSync => self.context_sync(call),
            // These hold the host, but CUDA does not promise it: no edge.
            Op::Free { stream: None, .. }
            | Op::HostFree { .. }
            | Op::HostUnregister { .. }
            | Op::ModuleLoad
            | Op::ModuleUnload => {}
            Op::Alloc { stream: None, .. }
            | Op::EventQuery { done: false, .. }
            | Op::StreamQuery { done: false, .. }
            | Op::EventElapsed { .. }
            | Op::HostAlloc { .. }
            | Op::HostRegister { .. }
            | Op::Other => {}
        }
        None
    }

    /// Takes in a mark.
    pub fn mark(&mut self, mark: &Mark) {
        match mark.kind {
            MarkKind::ThreadBegin { child } => self.thread_begin(mark.thread, child),
            MarkKind::ThreadJoin { child } => self.thread_join(mark.thread, child),
            MarkKind::CameBefore { other } => self.came_before(mark.thread, other),
            _ => {}
        }
    }

    /// Something that a host thread does itself.
    pub fn host_access(&mut self, thread: ThreadId) -> Epoch {
        let lane = self.thread(thread).lane;
        let epoch = self.tick(lane);
        self.thread(thread).clock.add(epoch);
        epoch
    }

    /// What a host thread knows to be over, its own acts included.
    pub fn host(&mut self, thread: ThreadId) -> &Clock {
        &self.thread(thread).clock
    }

    /// The same, of a thread that was seen before.
    pub fn host_knows(&self, thread: ThreadId) -> Option<&Clock> {
        self.threads.get(&thread).map(|thread| &thread.clock)
    }

    /// A host thread that knows an operation to be over, if there is one; the first of several.
    pub fn known_to(&self, epoch: Epoch) -> Option<ThreadId> {
        let knowing = self.threads.iter().filter(|(_, thread)| thread.clock.covers(epoch));
        knowing.map(|(id, _)| *id).min()
    }

    /// What the operation that was put on a stream last knows to be over, itself included.
    pub fn last(&self) -> Option<&Clock> {
        let (slot, tail) = self.last;
        self.streams.get(slot)?.tails.get(tail).map(|tail| &tail.now)
    }

    /// What is on a stream, as far as a call by `thread` entered at `entered` can rely on: what a
    /// wait for the stream waits for.
    ///
    /// The legacy default stream first waits for the blocking ones, whatever is done with it.
    pub fn on_stream(&self, stream: StreamId, thread: ThreadId, entered: Nanos) -> Clock {
        let mut clock = Clock::new();
        self.join_named(&mut clock, stream, thread, entered);
        if stream == StreamId::LEGACY {
            self.join_blocking(&mut clock, thread, entered);
        }
        clock
    }

    /// What an operation enqueued on a stream would run behind: [`Edges::on_stream`], and for a
    /// blocking stream the legacy default stream too.
    pub fn ahead_of(&self, stream: StreamId, thread: ThreadId, entered: Nanos) -> Clock {
        let mut clock = self.on_stream(stream, thread, entered);
        if self.slots.get(&stream).is_some_and(|slot| self.streams[*slot].blocking) {
            self.join_named(&mut clock, StreamId::LEGACY, thread, entered);
        }
        clock
    }

    /// What an event's latest record covers, as far as a call by `thread` entered at `entered` can
    /// rely on; `None` if it was never recorded.
    pub fn at_event(&self, event: EventId, thread: ThreadId, entered: Nanos) -> Option<Clock> {
        let mut clock = Clock::new();
        self.events.get(&event)?.bind(thread, entered, &mut clock).then_some(clock)
    }

    /// Who an operation belongs to.
    pub fn lane(&self, lane: LaneIndex) -> Option<Lane> {
        self.lanes.get(lane.0 as usize).map(|state| state.who)
    }

    /// How many lanes there are room for: grows with what is live, not with what was.
    pub fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// What everyone who can still act knows to be over: no operation that is still to come can be
    /// unordered with these. Gives the indices of lanes that are no more to others, so whatever is
    /// kept of operations that this covers must be dropped.
    ///
    /// A thread that appears later without having been begun is taken to know this much too.
    pub fn settle(&mut self) -> &Clock {
        let mut floor: Option<Clock> = None;
        for thread in self.threads.values().filter(|thread| !thread.joined) {
            match &mut floor {
                None => floor = Some(thread.clock.clone()),
                Some(floor) => floor.meet(&thread.clock),
            }
        }
        // Never back: a thread that nobody announced starts from the old floor.
        self.floor.join(&floor.unwrap_or_default());
        self.drop_dead_lanes();
        &self.floor
    }

    fn drop_dead_lanes(&mut self) {
        let Edges { lanes, free_lanes, threads, slots, streams, free_slots, .. } = self;
        let floor = &self.floor;
        let settled = |lane: LaneIndex| {
            lanes.get(lane.0 as usize).is_some_and(|state| floor.get(lane) >= state.at)
        };
        threads.retain(|_, thread| {
            let dead = thread.joined && settled(thread.lane);
            if dead {
                free_lanes.push(thread.lane);
            }
            !dead
        });
        slots.retain(|_, slot| {
            let stream = &mut streams[*slot];
            let dead = stream.destroyed && stream.tails.iter().all(|tail| settled(tail.lane));
            if dead {
                free_lanes.extend(stream.tails.drain(..).map(|tail| tail.lane));
                stream.blocking = false;
                free_slots.push(*slot);
            }
            !dead
        });
        self.blocking.retain(|slot| streams[*slot].blocking);
    }

    // Host threads.

    fn thread(&mut self, thread: ThreadId) -> &mut Thread {
        // Looked up twice because the entry needs `self` to make a lane.
        if !self.threads.contains_key(&thread) {
            let lane = self.new_lane(Lane::Host(thread));
            let clock = self.floor.clone();
            self.threads.insert(thread, Thread { lane, clock, joined: false });
        }
        self.threads.get_mut(&thread).expect("just inserted")
    }

    fn thread_begin(&mut self, parent: ThreadId, child: ThreadId) {
        let known = self.thread(parent).clock.clone();
        let child = self.thread(child);
        child.joined = false;
        child.clock.join(&known);
    }

    fn came_before(&mut self, thread: ThreadId, other: ThreadId) {
        let known = self.thread(thread).clock.clone();
        self.thread(other).clock.join(&known);
    }

    fn thread_join(&mut self, parent: ThreadId, child: ThreadId) {
        if parent == child {
            return;
        }
        let Some(child) = self.threads.get_mut(&child) else { return };
        child.joined = true;
        let known = child.clock.clone();
        self.thread(parent).clock.join(&known);
    }

    // Streams.

    fn slot(&mut self, stream: StreamId) -> usize {
        match self.slots.get(&stream) {
            Some(slot) => *slot,
            // Not made by a recorded call: the legacy default stream, or a thread's own default
            // stream, which is a blocking one.
            None => self.stream_create(stream, true),
        }
    }

    fn stream_create(&mut self, stream: StreamId, blocking: bool) -> usize {
        let Edges { slots, streams, free_slots, .. } = self;
        let slot = *slots.entry(stream).or_insert_with(|| {
            free_slots.pop().unwrap_or_else(|| {
                streams.push(Stream::default());
                streams.len() - 1
            })
        });
        let blocking = blocking && stream != StreamId::LEGACY;
        self.streams[slot].destroyed = false;
        self.streams[slot].blocking = blocking;
        self.blocking.retain(|other| *other != slot);
        if blocking {
            self.blocking.push(slot);
        }
        slot
    }

    fn stream_destroy(&mut self, stream: StreamId) {
        if let Some(slot) = self.slots.get(&stream) {
            self.streams[*slot].destroyed = true;
        }
    }

    /// Stream order, host program order, and the default-stream barrier: the start of an operation.
    fn tail(&mut self, call: &Call, stream: StreamId) -> &mut Tail {
        let (thread, entered) = (call.thread, call.entered);
        let mut clock = std::mem::take(&mut self.scratch);
        clock.clone_from(&self.thread(thread).clock);
        let slot = self.slot(stream);
        if stream == StreamId::LEGACY {
            self.join_blocking(&mut clock, thread, entered);
        } else if self.streams[slot].blocking {
            self.join_named(&mut clock, StreamId::LEGACY, thread, entered);
        }
        self.join_stream(&mut clock, slot, thread, entered);

        let tails = &self.streams[slot].tails;
        let index = match tails.iter().position(|tail| tail.thread == thread) {
            Some(index) => index,
            None => {
                let lane = self.new_lane(Lane::Stream(stream, thread));
                let (now, before) = (Clock::new(), Clock::new());
                let tails = &mut self.streams[slot].tails;
                tails.push(Tail { thread, lane, now, before, left: 0 });
                tails.len() - 1
            }
        };
        self.last = (slot, index);
        let tail = &mut self.streams[slot].tails[index];
        std::mem::swap(&mut tail.before, &mut tail.now);
        std::mem::swap(&mut tail.now, &mut clock);
        tail.left = call.left;
        self.scratch = clock;
        tail
    }

    fn join_blocking(&self, clock: &mut Clock, thread: ThreadId, entered: Nanos) {
        for slot in &self.blocking {
            self.join_stream(clock, *slot, thread, entered);
        }
    }

    fn join_named(&self, clock: &mut Clock, stream: StreamId, thread: ThreadId, entered: Nanos) {
        if let Some(slot) = self.slots.get(&stream) {
            self.join_stream(clock, *slot, thread, entered);
        }
    }

    /// Adds what one stream holds. Of a call by another thread that had not returned at `entered`
    /// nobody knows whether it came before.
    fn join_stream(&self, clock: &mut Clock, slot: usize, thread: ThreadId, entered: Nanos) {
        for tail in &self.streams[slot].tails {
            let certain = tail.thread == thread || tail.left <= entered;
            clock.join(if certain { &tail.now } else { &tail.before });
        }
    }

    fn enqueue(&mut self, call: &Call, stream: StreamId) -> Epoch {
        let lane = self.tail(call, stream).lane;
        self.tick_last(lane)
    }

    fn copy(&mut self, call: &Call, stream: StreamId, wait: CopyWait) -> Epoch {
        let tail = self.tail(call, stream);
        let lane = tail.lane;
        let before = (wait == CopyWait::Before).then(|| tail.now.clone());
        let epoch = self.tick_last(lane);
        let known = match wait {
            CopyWait::Nothing => None,
            CopyWait::Before => before,
            CopyWait::Whole => self.last().cloned(),
        };
        if let Some(known) = known {
            self.thread(call.thread).clock.join(&known);
        }
        epoch
    }

    fn stream_sync(&mut self, call: &Call, stream: StreamId) {
        let known = self.on_stream(stream, call.thread, call.entered);
        self.thread(call.thread).clock.join(&known);
    }

    fn context_sync(&mut self, call: &Call) {
        let mut known = Clock::new();
        for slot in self.slots.values() {
            self.join_stream(&mut known, *slot, call.thread, call.entered);
        }
        self.thread(call.thread).clock.join(&known);
    }

    // Events.

    fn record(&mut self, call: &Call, event: EventId, stream: StreamId) -> Epoch {
        let lane = self.tail(call, stream).lane;
        let epoch = self.tick_last(lane);
        let Edges { events, streams, last, .. } = self;
        let knows = &streams[last.0].tails[last.1].now;
        let Call { thread, entered, left, .. } = *call;
        let record = Record { thread, entered, left, clock: Clock::new() };
        events.entry(event).or_default().record(record, knows);
        epoch
    }

    fn stream_wait(&mut self, call: &Call, event: EventId, stream: StreamId) {
        let mut bound = std::mem::take(&mut self.bound);
        let recorded = self.events.get(&event);
        let binds = recorded.is_some_and(|event| event.bind(call.thread, call.entered, &mut bound));
        let tail = self.tail(call, stream);
        if binds {
            tail.now.join(&bound);
        }
        let lane = tail.lane;
        self.bound = bound;
        // An operation of its own: its stream, even destroyed, is not over before it is.
        self.tick_last(lane);
    }

    fn event_sync(&mut self, call: &Call, event: EventId) {
        if let Some(known) = self.at_event(event, call.thread, call.entered) {
            self.thread(call.thread).clock.join(&known);
        }
    }

    // Lanes.

    fn new_lane(&mut self, who: Lane) -> LaneIndex {
        if let Some(lane) = self.free_lanes.pop()
            && let Some(state) = self.lanes.get_mut(lane.0 as usize)
        {
            // Its count goes on, so that what is remembered of the old lane stays in the past.
            state.who = who;
            return lane;
        }
        let lane = LaneIndex(u32::try_from(self.lanes.len()).unwrap_or(u32::MAX));
        self.lanes.push(LaneState { who, at: 0 });
        lane
    }

    fn tick(&mut self, lane: LaneIndex) -> Epoch {
        let state = &mut self.lanes[lane.0 as usize];
        state.at += 1;
        Epoch { lane, at: state.at }
    }

    /// The operation whose [`Edges::tail`] was made last.
    fn tick_last(&mut self, lane: LaneIndex) -> Epoch {
        let epoch = self.tick(lane);
        let (slot, tail) = self.last;
        self.streams[slot].tails[tail].now.add(epoch);
        epoch
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::Builder;

    #[test]
    fn streams_that_are_gone_give_their_lanes_back() {
        let mut b = Builder::new();
        for stream in (1..50).map(StreamId) {
            b.call("cuStreamCreate", Op::StreamCreate { stream, blocking: true });
            b.call("cuLaunchHostFunc", Op::HostFunc { stream });
            b.call("cuStreamDestroy_v2", Op::StreamDestroy { stream });
            b.call("cuCtxSynchronize", Op::ContextSync);
        }
        let mut edges = Edges::new();
        for call in b.trace().calls() {
            edges.call(call);
            edges.settle();
        }
        assert_eq!(edges.lanes(), 2, "one for the host thread, one for all the streams");
    }
}
