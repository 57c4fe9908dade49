//! Which calls held the host, or would have held it had there been work.
//!
//! A call *holds* the host when its thread cannot go on before the device has got somewhere. Whether
//! a call is of that kind depends on the call, on the kind of memory and on its size:
//!
//! | call | holds the host | until |
//! |---|---|---|
//! | cuStreamSynchronize, cuEventSynchronize, cuCtxSynchronize | always | what they name is over; an event never recorded holds nobody |
//! | cuMemcpyDtoHAsync to pageable memory | at any size | its stream has done the copy |
//! | cuMemcpyHtoDAsync from pageable memory, over 2 MiB | always | its stream has come to the copy |
//! | the same, up to 2 MiB | when staging memory is full: about 2 MiB under way in the context | some of it is free again |
//! | cuMemcpyHtoD, cuMemcpyDtoH | always | the legacy default stream, which waits for the blocking ones, has come to (done) the copy |
//! | copies between host and host | always | the same, on their stream |
//! | cuMemFree of cuMemAlloc memory, cuMemFreeHost, cuMemHostUnregister | always | all the work of the device is over |
//! | cuModuleLoad…, cuModuleUnload | always | the same |
//! | any work call | when 1,022 operations are queued on its stream | the oldest is over |
//!
//! The rules are what was measured on an H200 with driver API 13.0, the sizes of staging memory and
//! queue, too; `harness/driver/tests/conformance` holds both devices to them. NVIDIA only says of most
//! that they may hold the host: <https://docs.nvidia.com/cuda/cuda-driver-api/api-sync-behavior.html>.
//!
//! Such a call is reported even where nothing was pending: [`Block::held`] is false then. A copy or a
//! memset within device memory, with pinned memory, a launch, a query, an event record and a stream
//! wait are not of that kind.
//!
//! What is pending is worked out from the record: an operation is over once a synchronize, a
//! successful query or a blocking copy that waited for it has returned (with everything that it
//! waited for in turn), once the queue had room for the 1,022nd behind it, or, where device times
//! are known, once something that ended later is known to be over. On a GPU an operation may have
//! ended without the host having learned of it; there `held` means that nothing had told the host so.
//!
//! Not seen: waits that are no driver calls (a spin on a pinned flag).

mod histogram;
mod report;

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::model::{Call, Item, MemoryKind, Nanos, Op, Seq, StackId, StreamId, Trace};
use crate::names::Names;
use crate::order::clock::{Clock, Epoch};
use crate::order::edges::Edges;
use crate::regions::Region;

use self::histogram::Histogram;
pub use self::report::{Behind, Block, Reason};

/// Pageable uploads larger than this hold the host, in bytes; measured on an H200.
pub const STAGED_UPLOAD_LIMIT: u64 = 2 << 20;

/// How much the staging memory of a context holds, in bytes; measured on an H200.
pub const STAGING_CAPACITY: u64 = 2 << 20;

/// How many operations a stream's queue holds, the running one included; measured on an H200.
pub const QUEUE_DEPTH: usize = 1022;

/// A piece of work that may not be over.
#[derive(Debug)]
struct Work {
    epoch: Epoch,
    seq: Seq,
    stack: Option<StackId>,
    function: crate::model::NameId,
    operation: String,
    /// Bytes of staging memory that it takes.
    staged: u64,
    end: Option<Nanos>,
}

/// The analysis, fed item by item.
#[derive(Debug, Default)]
pub struct Blocks {
    names: Names,
    edges: Edges,
    pending: FxHashMap<StreamId, VecDeque<Work>>,
    /// What is over as far as any thread knows.
    over: Clock,
    /// A device time that has passed.
    device_now: Option<Nanos>,
    enqueue_times: Histogram,
    calls: u64,
    found: Vec<Block>,
}

/// What a call waits for.
enum Until {
    /// What the clock covers.
    Reached(Clock),
    /// Everything on the device.
    Idle,
}

impl Until {
    fn includes(&self, work: &Work) -> bool {
        match self {
            Until::Reached(clock) => clock.covers(work.epoch),
            Until::Idle => true,
        }
    }
}

impl Blocks {
    /// Nothing has been called yet.
    pub fn new() -> Blocks {
        Blocks::default()
    }

    /// Takes in an item. Gives back what it found about it, if it holds the host.
    pub fn item(&mut self, item: &Item) -> Option<&Block> {
        self.names.item(item);
        match item {
            Item::Call(call) => self.call(call),
            Item::Mark(mark) => {
                self.edges.mark(mark);
                None
            }
            _ => None,
        }
    }

    /// What was found so far, in the order of calls.
    pub fn found(&self) -> &[Block] {
        &self.found
    }

    /// What was found.
    pub fn finish(self) -> Vec<Block> {
        self.found
    }

    fn call(&mut self, call: &Call) -> Option<&Block> {
        self.retire();
        let rule = self.rule(call);
        let found = rule.and_then(|(reason, until)| self.judge(call, reason, until));
        self.enqueue(call, found.as_ref().is_some_and(|block| block.held));
        self.calls += 1;
        if self.calls.is_multiple_of(4096) {
            // Frees the lanes of streams that are gone.
            self.over.join(self.edges.settle());
        }
        self.found.push(found?);
        self.found.last()
    }

    /// By which rule the call is of the kind that holds the host, and what it waits for.
    fn rule(&self, call: &Call) -> Option<(Reason, Until)> {
        let waited = call.waited.unwrap_or(0) > 0;
        if !call.succeeded() && !waited {
            return None;
        }
        let on = |stream: StreamId| {
            Until::Reached(self.edges.ahead_of(stream, call.thread, call.entered))
        };
        let rule = match &call.op {
            Op::StreamSync { stream } => {
                let clock = self.edges.on_stream(*stream, call.thread, call.entered);
                Some((Reason::StreamSync, Until::Reached(clock)))
            }
            Op::EventSync { event } => self
                .edges
                .at_event(*event, call.thread, call.entered)
                .map(|clock| (Reason::EventSync, Until::Reached(clock))),
            Op::ContextSync => Some((Reason::ContextSync, Until::Idle)),
            Op::Copy { stream, asynchronous, src, dst } => {
                use MemoryKind::{Device, Pageable};
                match (src.memory, dst.memory) {
                    (Device, Device) => None,
                    (Device, _) | (_, Device) if !asynchronous => {
                        Some((Reason::SynchronousCopy, on(*stream)))
                    }
                    (Device, Pageable) => Some((Reason::PageableDownload, on(*stream))),
                    (Pageable, Device) if src.range.len() > STAGED_UPLOAD_LIMIT => {
                        Some((Reason::LargePageableUpload, on(*stream)))
                    }
                    (Pageable, Device) if self.staging_is_full(src.range.len()) => {
                        Some((Reason::StagingFull, on(*stream)))
                    }
                    (_, Device) | (Device, _) => None,
                    _ => Some((Reason::HostCopy, on(*stream))),
                }
            }
            Op::Free { stream: None, stream_ordered: false, .. } => {
                Some((Reason::MemFree, Until::Idle))
            }
            Op::HostFree { .. } => Some((Reason::HostFree, Until::Idle)),
            Op::HostUnregister { .. } => Some((Reason::HostUnregister, Until::Idle)),
            Op::ModuleLoad => Some((Reason::ModuleLoad, Until::Idle)),
            Op::ModuleUnload => Some((Reason::ModuleUnload, Until::Idle)),
            _ => None,
        };
        if rule.is_some() {
            return rule;
        }
        let stream = call.op.stream();
        let queue_is_full = stream.is_some_and(|stream| self.queue_is_full(stream));
        match stream {
            Some(stream) if queue_is_full && call.op.is_work() => {
                let moved = match call.waited {
                    Some(_) => waited,
                    None => self.enqueue_times.stands_out(call.held()),
                };
                moved.then(|| (Reason::QueueFull, on(stream)))
            }
            Some(stream) if waited && queue_is_full => Some((Reason::QueueFull, on(stream))),
            Some(stream) if waited => match &call.op {
                Op::Launch { .. } => Some((Reason::BlockingLaunch, on(stream))),
                // The device counts its staging memory better than the record can.
                op if staged(op) > 0 => Some((Reason::StagingFull, on(stream))),
                _ => Some((Reason::Unexplained, on(stream))),
            },
            _ if waited => Some((Reason::Unexplained, Until::Idle)),
            _ => None,
        }
    }

    fn judge(&mut self, call: &Call, reason: Reason, until: Until) -> Option<Block> {
        let mut behind: Option<(StreamId, &Work)> = None;
        let mut pending = 0;
        let mut end = Some(0);
        for (stream, works) in &self.pending {
            let works = works.iter().filter(|work| !self.over.covers(work.epoch));
            for work in works.filter(|work| until.includes(work)) {
                pending += 1;
                end = end.zip(work.end).map(|(end, this)| end.max(this));
                if behind.is_none_or(|(_, newest)| newest.seq < work.seq) {
                    behind = Some((*stream, work));
                }
            }
        }
        // A copy that holds the host also waits for itself. It waited behind something only if that
        // ended after the call was made, or no earlier than the copy began. Either is enough: between
        // the two lie event records and the like, which take the device a moment, and on a GPU the
        // host's clock and the device's are only nearly the same.
        let was_behind = match (&call.op, call.ran, end) {
            (Op::Copy { .. }, Some(ran), Some(end)) => ran.start <= end || call.entered < end,
            _ => true,
        };
        let held = match call.waited {
            Some(0) => false,
            Some(_) if reason == Reason::BlockingLaunch => true,
            _ => pending > 0 && was_behind,
        };
        let depends_on_room = matches!(reason, Reason::StagingFull | Reason::QueueFull);
        if depends_on_room && !held {
            // There was room after all.
            return None;
        }
        let stream = match until {
            Until::Idle => None,
            Until::Reached(_) => call.op.stream(),
        };
        let names = &self.names;
        let behind = behind.filter(|_| held).map(|(stream, work)| Behind {
            seq: work.seq,
            function: names.text(work.function).into(),
            operation: work.operation.clone(),
            stream,
            stream_name: names.stream(stream),
            at: names.at(work.stack).cloned(),
        });
        let block = Block {
            seq: call.seq,
            thread: call.thread,
            function: names.text(call.function).into(),
            at: names.at(call.stack).cloned(),
            stack: call.stack,
            reason,
            stream,
            stream_name: stream.map(|stream| names.stream(stream)),
            held,
            time: call.waited.unwrap_or_else(|| call.held()),
            time_is_wait: call.waited.is_some(),
            entered: call.entered,
            left: call.left,
            behind,
            pending: if held { pending } else { 0 },
        };
        self.after(reason, &until, call);
        Some(block)
    }

    /// What the call has shown to be over, beyond what the order of events says.
    fn after(&mut self, reason: Reason, until: &Until, call: &Call) {
        match reason {
            Reason::StagingFull => {
                let Op::Copy { src, .. } = &call.op else { return };
                self.make_room(src.range.len());
            }
            // The oldest goes when the next one comes.
            Reason::QueueFull | Reason::BlockingLaunch | Reason::Unexplained => {}
            _ => match until {
                Until::Reached(clock) => self.over.join(clock),
                Until::Idle => {
                    let ends = self.pending.values().flatten().filter_map(|work| work.end);
                    self.device_now = self.device_now.max(ends.max());
                    self.pending.clear();
                }
            },
        }
    }

    /// Takes the call into the order, and its work into what is pending.
    fn enqueue(&mut self, call: &Call, held: bool) {
        let epoch = self.edges.call(call);
        let known = self.edges.host(call.thread);
        self.over.join(known);
        let (Some(epoch), Some(stream)) = (epoch, call.op.stream()) else { return };
        if call.op.is_work() {
            if !held {
                self.enqueue_times.add(call.held());
            }
            let queue = self.pending.entry(stream).or_default();
            if queue.len() >= QUEUE_DEPTH {
                // The queue had room for this one, so its oldest is over.
                queue.pop_front();
            }
            queue.push_back(Work {
                epoch,
                seq: call.seq,
                stack: call.stack,
                function: call.function,
                operation: self.names.operation(call),
                staged: staged(&call.op),
                end: call.ran.map(|span| span.end),
            });
        }
    }

    /// Drops the work that is over.
    fn retire(&mut self) {
        let Blocks { pending, over, device_now, .. } = self;
        // What ended before something that is over is over, on whichever stream; once around may
        // move the device's clock for streams that were looked at before.
        loop {
            let mut moved = false;
            for queue in pending.values_mut() {
                while let Some(work) = queue.front() {
                    let ended =
                        matches!((work.end, *device_now), (Some(end), Some(now)) if end <= now);
                    if !over.covers(work.epoch) && !ended {
                        break;
                    }
                    if work.end > *device_now {
                        *device_now = work.end;
                        moved = true;
                    }
                    queue.pop_front();
                }
            }
            if !moved {
                break;
            }
        }
        pending.retain(|_, queue| !queue.is_empty());
    }

    fn staging_is_full(&self, bytes: u64) -> bool {
        let in_use: u64 = self.pending.values().flatten().map(|work| work.staged).sum();
        in_use.saturating_add(bytes) > STAGING_CAPACITY
    }

    /// The oldest staged uploads are over: as many as make room for the next one.
    fn make_room(&mut self, bytes: u64) {
        let mut staged: Vec<(Seq, u64, Epoch)> = self
            .pending
            .values()
            .flatten()
            .filter(|work| work.staged > 0)
            .map(|work| (work.seq, work.staged, work.epoch))
            .collect();
        staged.sort_unstable_by_key(|(seq, ..)| *seq);
        let mut in_use: u64 = staged.iter().map(|(_, bytes, _)| *bytes).sum();
        for (_, freed, epoch) in staged {
            if in_use.saturating_add(bytes) <= STAGING_CAPACITY {
                break;
            }
            in_use = in_use.saturating_sub(freed);
            self.over.add(epoch);
        }
        self.retire();
    }

    fn queue_is_full(&self, stream: StreamId) -> bool {
        self.pending.get(&stream).is_some_and(|queue| queue.len() >= QUEUE_DEPTH)
    }
}

fn staged(op: &Op) -> u64 {
    match op {
        Op::Copy { asynchronous: true, src, dst, .. }
            if src.memory == MemoryKind::Pageable && dst.memory == MemoryKind::Device =>
        {
            let bytes = src.range.len();
            if bytes <= STAGED_UPLOAD_LIMIT { bytes } else { 0 }
        }
        _ => 0,
    }
}

/// The calls of a trace that held the host, or would have, in order.
pub fn blocks(trace: &Trace) -> Vec<Block> {
    let mut blocks = Blocks::new();
    for item in &trace.items {
        blocks.item(item);
    }
    blocks.finish()
}

/// Those of one region: made by its thread between its marks.
pub fn blocks_in<'a>(blocks: &'a [Block], region: &Region) -> impl Iterator<Item = &'a Block> {
    let region = region.clone();
    blocks.iter().filter(move |block| region.holds(block.thread, block.seq))
}

/// Those that one region lasted for, whatever thread was held: entered after it had begun, and over
/// before it ended. A wait that is handed to another thread holds whoever waits for that thread.
pub fn blocks_during<'a>(
    blocks: &'a [Block],
    region: &Region,
) -> impl Iterator<Item = &'a Block> + use<'a> {
    let region = region.clone();
    blocks.iter().filter(move |block| {
        region.holds(block.thread, block.seq)
            || (block.thread != region.thread && region.spans(block.seq, block.left))
    })
}

#[cfg(test)]
mod tests;
