//! Which accesses nothing orders.
//!
//! **Definition.** A race is two accesses to overlapping bytes, at least one of them a write, of which
//! neither happens before the other. Happens-before is the smallest transitive relation with these
//! edges; it is decided from the calls alone, so a race is found whether or not it struck.
//!
//! | rule | from | to |
//! |---|---|---|
//! | stream order | an operation on a stream | every later operation on it |
//! | program order | what a host thread did or has waited for | all that it does or enqueues later |
//! | event | all before an event's record on its stream | all after a wait for it on another; the wait binds to the latest record at its call, and survives the event's destruction; an event never recorded orders nothing |
//! | synchronize | what a stream, an event's record or the context holds | what the calling thread does later, and only that thread |
//! | query | the same | the same, if it succeeded |
//! | holding copies | an asynchronous copy to pageable memory; a copy without a stream between device and pinned memory | what the calling thread does later |
//! | | what comes before a copy without a stream from pageable to device memory, but not the copy, whose last bytes may be under way | the same |
//! | default stream | all on blocking streams | a later operation (record, wait, synchronize and query too) on the legacy default stream |
//! | | all on the legacy default stream | a later operation on a blocking stream |
//! | threads | all before a thread begins | all that it does |
//! | | all that a thread did | all after it was joined |
//!
//! A stream that no recorded call made is taken for a thread's own default stream, a blocking one.
//!
//! A caching allocator hands a block out again only when it has seen the streams that were recorded
//! on it (`BlockUse`) reach the point at which it was handed back. Its polling is not in the record,
//! or a program's verdict would depend on when it happened; the block's `BlockOut` stands for it, and
//! orders what those streams did to the block in that life before whatever comes next, and no more.
//!
//! cuMemFree, cuMemFreeHost and module loads hold the host but CUDA does not promise it: no edge.
//!
//! The default stream's rules are in
//! <https://docs.nvidia.com/cuda/cuda-driver-api/stream-sync-behavior.html>, those of copies in
//! <https://docs.nvidia.com/cuda/cuda-driver-api/api-sync-behavior.html>, those of events and waits in
//! the descriptions of their functions.
//!
//! **Accesses.** Kernels, copies and memsets touch what they name. A stream-ordered allocation and
//! free write the whole buffer on their stream. Copies touch pageable memory only while their call
//! lasts, so nothing there races with the device, and it is left out: its addresses come and go
//! without the driver hearing of it.
//! The host's own reads, writes and drops count where marks tell of them, and so do cuMemFreeHost
//! and a cuMemFree of stream-ordered memory, as writes of the host. Histories outlive a free, so
//! memory that was handed out again is compared with its former life. A failed call is none.
//!
//! **Calls that overlapped.** Where calls of two threads on one stream overlapped in time, nobody
//! knows which came first; neither is ordered before the other, and a race between the two says so.
//! An event's record that overlapped another thread's wait binds it or does not: only what both
//! outcomes order is ordered.
//!
//! **Misses.** Order that threads make among themselves without the marks (a channel, a mutex) is not
//! seen, so what it orders is reported. What kernels do to memory that their arguments do not name is
//! not seen. A thread that appears without having been begun is unordered only with what is still
//! remembered. Graphs, memory mapped into other processes, and kernels that wait for each other
//! through memory are not modelled.

pub mod clock;
pub mod copy;
pub mod edges;
pub mod report;
pub mod shadow;
pub mod waits;

mod event;
mod finder;

use rustc_hash::FxHashSet;

use self::clock::Epoch;
use self::edges::Edges;
use self::finder::{Act, Deed, Finder, LifeKind, Point};
use self::report::Race;
use self::shadow::{LifeId, Shadow};
use crate::model::{AccessKind, Call, Item, Mark, MarkKind, MemoryKind, Op, Range, Seq, Trace};
use crate::names::Names;

/// The analysis, fed item by item.
#[derive(Debug, Default)]
pub struct Order {
    names: Names,
    edges: Edges,
    shadow: Shadow,
    finder: Finder,
    /// Kept for its storage.
    acts: Vec<Act>,
    since_pruned: usize,
    truncated: bool,
}

impl Order {
    /// Nothing has happened yet.
    pub fn new() -> Order {
        Order::default()
    }

    /// Takes in an item.
    pub fn item(&mut self, item: &Item) {
        match item {
            Item::Call(call) => self.call(call),
            Item::Mark(mark) => {
                self.names.item(item);
                self.edges.mark(mark);
                self.mark(mark);
            }
            Item::Stack { id, stack } => {
                self.finder.stack(*id, stack);
            }
            Item::Name { .. } => self.names.item(item),
            Item::Truncated { .. } => self.truncated = true,
        }
    }

    /// The races so far, in the order in which they were found.
    pub fn races(&self) -> Vec<Race> {
        self.finder.races(&self.names)
    }

    /// Whether the record is incomplete, so that there may be more.
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// How many accesses are remembered: grows with what is live, not with what has happened.
    pub fn remembered(&self) -> usize {
        self.shadow.len()
    }

    fn call(&mut self, call: &Call) {
        if !call.succeeded() {
            return;
        }
        self.before(call);
        let epoch = self.edges.call(call);
        if let Some(epoch) = epoch {
            self.acts_of(call);
            self.on_stream(call, epoch);
        }
        self.after(call);
        self.prune_if_due();
    }

    /// What a call's own thread does before the device has its turn.
    fn before(&mut self, call: &Call) {
        let point = Point::of_call(call);
        match &call.op {
            Op::Alloc { range, stream } => {
                self.finder.begin_life(&mut self.shadow, *range, LifeKind::Memory, point);
                if stream.is_none() {
                    self.since_pruned += 1;
                }
            }
            Op::HostAlloc { range } => {
                self.finder.begin_life(&mut self.shadow, *range, LifeKind::Memory, point);
            }
            // Memory from cuMemAlloc is safe from its users: the driver waits for them.
            Op::Free { range, stream: None, stream_ordered: true } | Op::HostFree { range } => {
                self.by_host(point, *range, AccessKind::Write, Deed::Free);
            }
            _ => {}
        }
    }

    /// What it puts on its stream.
    fn acts_of(&mut self, call: &Call) {
        let acts = &mut self.acts;
        acts.clear();
        let mut act = |range, kind, deed| acts.push(Act { range, kind, deed, assumed: false });
        match &call.op {
            Op::Launch { kernel, accesses, assumed, .. } => {
                let (deed, assumed) = (Deed::Kernel(*kernel), *assumed);
                acts.extend(accesses.iter().map(|access| Act {
                    range: access.range,
                    kind: access.kind,
                    deed,
                    assumed,
                }));
            }
            Op::Copy { src, dst, .. } => {
                let deed = match (src.memory, dst.memory) {
                    (MemoryKind::Device, MemoryKind::Pinned | MemoryKind::Pageable) => {
                        Deed::Download
                    }
                    (MemoryKind::Pinned | MemoryKind::Pageable, MemoryKind::Device) => Deed::Upload,
                    _ => Deed::Copy,
                };
                for (place, kind) in [(src, AccessKind::Read), (dst, AccessKind::Write)] {
                    if place.memory != MemoryKind::Pageable {
                        act(place.range, kind, deed);
                    }
                }
            }
            Op::Memset { range, .. } => act(*range, AccessKind::Write, Deed::Memset),
            Op::Alloc { range, .. } => act(*range, AccessKind::Write, Deed::Alloc),
            Op::Free { range, .. } => act(*range, AccessKind::Write, Deed::Free),
            _ => {}
        }
        merge(acts);
    }

    fn on_stream(&mut self, call: &Call, epoch: Epoch) {
        let Some(clock) = self.edges.last() else { return };
        let point = Point::of_call(call);
        for act in &self.acts {
            self.finder.touch(&mut self.shadow, &self.edges, clock, act, epoch, point);
        }
        self.since_pruned += 1 + self.acts.len();
    }

    /// What it leaves behind.
    fn after(&mut self, call: &Call) {
        match &call.op {
            Op::Free { range, .. } | Op::HostFree { range } => {
                self.finder.end_life(&mut self.shadow, *range, Point::of_call(call));
                self.since_pruned += 1;
            }
            _ => {}
        }
    }

    fn by_host(&mut self, point: Point, range: Range, kind: AccessKind, deed: Deed) {
        let epoch = self.edges.host_access(point.thread);
        let Some(clock) = self.edges.host_knows(point.thread) else { return };
        let act = Act { range, kind, deed, assumed: false };
        self.finder.touch(&mut self.shadow, &self.edges, clock, &act, epoch, point);
        self.since_pruned += 1;
    }

    fn mark(&mut self, mark: &Mark) {
        let point = Point { seq: mark.seq, thread: mark.thread, stack: mark.stack };
        let (finder, shadow) = (&mut self.finder, &mut self.shadow);
        match &mark.kind {
            MarkKind::NameBuffer { range, name } => finder.name(shadow, *range, name),
            MarkKind::HostRead { range } => {
                self.by_host(point, *range, AccessKind::Read, Deed::Host);
            }
            MarkKind::HostWrite { range } => {
                self.by_host(point, *range, AccessKind::Write, Deed::Host);
            }
            MarkKind::HostDrop { range } => {
                self.by_host(point, *range, AccessKind::Write, Deed::Free);
                self.finder.end_life(&mut self.shadow, *range, point);
            }
            MarkKind::BlockOut { range, stream } => {
                finder.settle(shadow, &self.edges, *range);
                finder.begin_life(shadow, *range, LifeKind::Block(*stream), point);
            }
            MarkKind::BlockBack { range } => finder.block_back(shadow, *range, point),
            MarkKind::BlockUse { range, stream } => {
                finder.block_use(shadow, *range, *stream, point);
            }
            MarkKind::Begin { .. }
            | MarkKind::End { .. }
            | MarkKind::NameStream { .. }
            | MarkKind::NameEvent { .. }
            | MarkKind::ThreadBegin { .. }
            | MarkKind::ThreadJoin { .. }
            | MarkKind::CameBefore { .. } => {}
        }
        self.since_pruned += 1;
        self.prune_if_due();
    }

    /// Often enough that what is over takes no room, seldom enough that it costs little: when as much
    /// has happened as twice what is remembered.
    fn prune_if_due(&mut self) {
        if self.since_pruned > 4096 + 2 * self.shadow.len() {
            self.prune();
        }
    }

    fn prune(&mut self) {
        self.since_pruned = 0;
        let mut live = FxHashSet::<LifeId>::default();
        let floor = self.edges.settle();
        self.shadow.prune(floor, |life| {
            live.insert(life);
        });
        self.finder.keep_lives(|life| live.contains(&life));
    }
}

/// What one operation does to the same bytes twice it does once: a kernel that gets a buffer as input
/// and as output reads and writes it.
fn merge(acts: &mut Vec<Act>) {
    if acts.len() < 2 {
        return;
    }
    acts.sort_by_key(|act| act.range);
    acts.dedup_by(|next, kept| {
        let same = next.range == kept.range;
        if same && next.kind != kept.kind {
            kept.kind = AccessKind::Update;
        }
        same
    });
}

impl Point {
    fn of_call(call: &Call) -> Point {
        Point { seq: call.seq, thread: call.thread, stack: call.stack }
    }
}

/// The races of a trace, in the order in which they are found.
pub fn races(trace: &Trace) -> Vec<Race> {
    let mut order = Order::new();
    for item in &trace.items {
        order.item(item);
    }
    order.races()
}

/// Whether the operation of one call happens before that of another, by whatever edges: nothing the
/// device does can make the two run side by side. A call that enqueues nothing, or failed, is ordered
/// with none.
pub fn happens_before(trace: &Trace, earlier: Seq, later: Seq) -> bool {
    let mut edges = Edges::new();
    let mut first: Option<Epoch> = None;
    for item in &trace.items {
        match item {
            Item::Mark(mark) => edges.mark(mark),
            Item::Call(call) if call.succeeded() => {
                let epoch = edges.call(call);
                if call.seq == earlier {
                    first = epoch;
                } else if call.seq == later {
                    let knows = epoch.and_then(|_| edges.last());
                    return first.zip(knows).is_some_and(|(first, knows)| knows.covers(first));
                }
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests;
