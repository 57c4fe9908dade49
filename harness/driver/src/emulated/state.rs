//! What the emulated device knows: contexts, streams, events, pending operations, memory.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use streamlings_trace::{Nanos, Span};

use super::arena::{Arena, Knows, StreamKey};
use super::engine::{Op, OpId, Step, Work};
use super::{Moment, model};
use crate::record::decode::Spans;
use crate::record::{note_operation, now};
use crate::sys::*;

/// A context.
#[derive(Default)]
pub struct Context {
    /// How often the primary context was retained; 1 for others.
    pub retained: u32,
    pub flags: u32,
    /// The sticky error.
    pub fault: Option<CUresult>,
    /// Bytes in staging buffers, waiting for their streams.
    pub staged: usize,
}

/// How a stream stands to the legacy default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Legacy,
    Blocking,
    NonBlocking,
}

/// A stream.
pub struct Stream {
    pub context: Handle,
    pub kind: Kind,
    pub priority: i32,
    /// The last operation enqueued.
    pub last: Option<OpId>,
    /// Operations that fill the queue.
    pub depth: usize,
    pub knows: Knows,
    /// cuStreamDestroy was called; it goes once its work is done.
    pub destroyed: bool,
}

/// An event.
pub struct Event {
    pub context: Handle,
    pub timing: bool,
    pub record: Option<Record>,
}

/// The latest record of an event.
pub struct Record {
    pub op: OpId,
    pub stream: StreamKey,
    pub end: Option<Moment>,
    pub knows: Knows,
}

/// A loaded module.
pub struct Module {
    pub context: Handle,
}

/// Something that only one operation at a time can use.
#[derive(Default)]
pub struct Unit {
    pub busy: Option<OpId>,
    pub queue: VecDeque<OpId>,
}

/// All of it, behind one lock.
pub struct State {
    pub contexts: HashMap<Handle, Context>,
    pub primary: Option<Handle>,
    pub streams: HashMap<StreamKey, Stream>,
    /// The per-thread default streams, by context and thread.
    pub per_thread: HashMap<(Handle, u32), StreamKey>,
    pub events: HashMap<Handle, Event>,
    pub modules: HashMap<Handle, Module>,
    pub functions: HashMap<(Handle, String), Handle>,
    pub function_modules: HashMap<Handle, Handle>,
    pub arena: Arena,
    pub ops: HashMap<OpId, Op>,
    pub agenda: BinaryHeap<Reverse<(Moment, u64, OpId, Step)>>,
    pub units: [Unit; 3],
    pub spans: Spans,
    pub seed: Option<u64>,
    /// The executor has worked off everything up to here.
    pub reached: Moment,
    /// When the executor will look again by itself; 0 while it is at work.
    pub sleeping_until: Moment,
    next_handle: Handle,
    next_op: OpId,
    next_step: u64,
}

/// Half of the host's memory, if that is less than the card's: an allocation is really used.
fn capacity() -> u64 {
    // SAFETY: two queries of constants.
    let (pages, page) =
        unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let host = (pages.max(0) as u64).saturating_mul(page.max(0) as u64);
    model::MEMORY.min((host / 2).next_multiple_of(1 << 20).max(256 << 20))
}

impl State {
    pub fn new() -> std::io::Result<State> {
        Ok(State {
            contexts: HashMap::new(),
            primary: None,
            streams: HashMap::new(),
            per_thread: HashMap::new(),
            events: HashMap::new(),
            modules: HashMap::new(),
            functions: HashMap::new(),
            function_modules: HashMap::new(),
            arena: Arena::new(capacity())?,
            ops: HashMap::new(),
            agenda: BinaryHeap::new(),
            units: Default::default(),
            spans: Spans::new(),
            seed: None,
            reached: 0,
            sleeping_until: 0,
            next_handle: 0,
            next_op: 0,
            next_step: 0,
        })
    }

    /// A handle that was never given out before.
    pub fn handle(&mut self) -> Handle {
        self.next_handle += 1;
        0x5eed_0000_0000 + self.next_handle * 16
    }

    /// Whether an operation is still to be completed.
    pub fn pending(&self, op: OpId) -> bool {
        self.ops.contains_key(&op)
    }

    /// Whether anything of a context is still to be completed.
    pub fn context_busy(&self, context: Handle) -> bool {
        self.ops.values().any(|op| op.context == context)
    }

    /// The operations of a context that are pending now.
    pub fn context_ops(&self, context: Handle) -> Vec<OpId> {
        self.ops.iter().filter(|(_, op)| op.context == context).map(|(id, _)| *id).collect()
    }

    /// The stream behind a handle, with the default streams made on first use.
    pub fn stream(&mut self, handle: Handle, context: Handle) -> Result<StreamKey, CUresult> {
        let kind = match handle {
            0 | STREAM_LEGACY => Kind::Legacy,
            STREAM_PER_THREAD => Kind::Blocking,
            _ => {
                return match self.streams.get(&handle) {
                    Some(stream) if !stream.destroyed => Ok(handle),
                    _ => Err(CUDA_ERROR_INVALID_HANDLE),
                };
            }
        };
        // Thread 0 stands for "no thread": the legacy stream is one for all.
        let thread = if kind == Kind::Legacy { 0 } else { crate::record::log::thread_number() };
        if let Some(key) = self.per_thread.get(&(context, thread)) {
            return Ok(*key);
        }
        let key = self.handle();
        self.per_thread.insert((context, thread), key);
        self.streams.insert(key, Stream::new(context, kind, 0));
        Ok(key)
    }

    /// Adds an operation to a stream, behind what it must wait for; returns its number.
    pub fn enqueue(&mut self, key: StreamKey, work: Work, behind: &[OpId]) -> OpId {
        self.next_op += 1;
        let id = self.next_op;
        let (context, kind) = match self.streams.get(&key) {
            Some(stream) => (stream.context, stream.kind),
            None => return id,
        };
        let mut waits: Vec<OpId> = behind.to_vec();
        let mut learned: Vec<(StreamKey, OpId, Knows)> = Vec::new();
        match kind {
            Kind::NonBlocking => {}
            Kind::Legacy | Kind::Blocking => {
                for (other_key, other) in &self.streams {
                    let barrier = match kind {
                        Kind::Legacy => other.kind == Kind::Blocking,
                        _ => other.kind == Kind::Legacy,
                    };
                    if other.context == context
                        && barrier
                        && let Some(last) = other.last
                    {
                        waits.push(last);
                        learned.push((*other_key, last, other.knows.clone()));
                    }
                }
            }
        }
        let deep = work.fills_queue();
        if let Some(stream) = self.streams.get_mut(&key) {
            waits.extend(stream.last);
            stream.last = Some(id);
            if deep {
                stream.depth += 1;
            }
            for (other, last, knows) in learned {
                stream.learn(&knows);
                stream.learn(&Knows::from([(other, last)]));
            }
        }
        waits.sort_unstable();
        waits.dedup();
        let mut unmet = 0;
        for wait in waits {
            if let Some(op) = self.ops.get_mut(&wait) {
                op.dependents.push(id);
                unmet += 1;
            }
        }
        let ready = now().max(self.reached);
        let op = Op {
            stream: key,
            context,
            work,
            unmet,
            ready,
            dependents: Vec::new(),
            deep,
            started: 0,
        };
        self.ops.insert(id, op);
        if unmet == 0 {
            self.schedule(ready, id, Step::Ready);
        }
        note_operation(id);
        id
    }

    /// A stream of the device's own, for what belongs to no stream of the program's: nothing waits for
    /// it, and it waits for nothing.
    pub fn own_stream(&mut self, context: Handle) -> StreamKey {
        const OWN: u32 = u32::MAX;
        if let Some(key) = self.per_thread.get(&(context, OWN)) {
            return *key;
        }
        let key = self.handle();
        self.per_thread.insert((context, OWN), key);
        self.streams.insert(key, Stream::new(context, Kind::NonBlocking, 0));
        key
    }

    /// Whether an operation has started, or is over.
    pub fn has_started(&self, op: OpId) -> bool {
        self.ops.get(&op).is_none_or(|op| op.started > 1)
    }

    /// When a pending operation started.
    pub fn started(&self, op: OpId) -> Option<Moment> {
        self.ops.get(&op).map(|op| op.started)
    }

    /// Puts a step on the agenda.
    pub fn schedule(&mut self, at: Moment, op: OpId, step: Step) {
        self.next_step += 1;
        self.agenda.push(Reverse((at, self.next_step, op, step)));
    }

    /// Whether the executor sleeps past the first thing on the agenda.
    pub fn engine_should_wake(&mut self) -> bool {
        let Some(Reverse((at, ..))) = self.agenda.peek() else { return false };
        if self.sleeping_until > *at {
            // It is woken once, however many calls follow before it runs.
            self.sleeping_until = 0;
            return true;
        }
        false
    }

    /// Notes where an operation ran.
    pub fn note_span(&mut self, op: OpId, start: Nanos, end: Nanos) {
        self.spans.insert(op, Span { start, end });
    }
}

impl Stream {
    pub fn new(context: Handle, kind: Kind, priority: i32) -> Stream {
        Stream {
            context,
            kind,
            priority,
            last: None,
            depth: 0,
            knows: Knows::new(),
            destroyed: false,
        }
    }

    /// From here on the stream comes after all that `knows` names.
    pub fn learn(&mut self, knows: &Knows) {
        for (stream, op) in knows {
            let known = self.knows.entry(*stream).or_insert(*op);
            *known = (*known).max(*op);
        }
    }
}
