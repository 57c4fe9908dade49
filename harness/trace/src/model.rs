//! The record's data model: what a trace holds, item by item.
//!
//! A trace is a [`Header`] followed by [`Item`]s in the order of their sequence numbers. An item is
//! self-contained but for names and stacks, which are interned: the item that introduces one comes
//! before its first use, so that a trace can be judged while it is read.
//!
//! Units: every time is in nanoseconds ([`Nanos`]), every size in bytes. Host times count from the
//! start of the recording on the host's monotonic clock; device times are on the device's own clock.

use serde::{Deserialize, Serialize};

/// Nanoseconds since the recording began (host clock), or on the device's clock.
pub type Nanos = u64;

/// A place in the global order of calls and marks: taken when a call is entered, unique, increasing,
/// not consecutive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Seq(pub u64);

/// A host thread, numbered in the order in which threads were first seen; the first is 1. 0 stands for
/// whoever made what was alive when the recording began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ThreadId(pub u32);

/// A stream, numbered in the order of creation. A handle that the driver gives out again after a
/// stream was destroyed gets a new number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StreamId(pub u32);

impl StreamId {
    /// The legacy default stream (handle 0 or `CU_STREAM_LEGACY`): a barrier among blocking streams.
    pub const LEGACY: StreamId = StreamId(0);
}

/// An event, numbered in the order of creation, like [`StreamId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EventId(pub u32);

/// An interned name: see [`Item::Name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NameId(pub u32);

/// An interned call stack: see [`Item::Stack`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StackId(pub u32);

/// A half-open range of addresses, `start..end`. Device and pinned host memory share one address
/// space (unified addressing), so a range alone says which memory is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Range {
    /// First address.
    pub start: u64,
    /// One past the last address.
    pub end: u64,
}

impl Range {
    /// The range of `len` bytes from `start`.
    pub fn new(start: u64, len: u64) -> Range {
        Range { start, end: start.saturating_add(len) }
    }

    /// Its length in bytes.
    pub fn len(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Whether it holds no byte.
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// Whether the two share at least one byte.
    pub fn overlaps(self, other: Range) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// The bytes that both hold, if any.
    pub fn intersection(self, other: Range) -> Option<Range> {
        let both = Range { start: self.start.max(other.start), end: self.end.min(other.end) };
        (!both.is_empty()).then_some(both)
    }

    /// Whether every byte of `other` is in this one.
    pub fn contains(self, other: Range) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// What an operation does to a range of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum AccessKind {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// It does both.
    Update,
}

impl AccessKind {
    /// Whether it writes.
    pub fn writes(self) -> bool {
        !matches!(self, AccessKind::Read)
    }

    /// Whether it reads.
    pub fn reads(self) -> bool {
        !matches!(self, AccessKind::Write)
    }
}

/// One range that an operation touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Access {
    /// The bytes.
    pub range: Range,
    /// What is done to them.
    pub kind: AccessKind,
}

/// What kind of memory one side of a copy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MemoryKind {
    /// Device memory.
    Device,
    /// Page-locked host memory, from cuMemHostAlloc, cuMemAllocHost or cuMemHostRegister.
    Pinned,
    /// Any other host memory.
    Pageable,
}

/// One side of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The bytes.
    pub range: Range,
    /// What memory they are in.
    pub memory: MemoryKind,
}

/// What a driver call did, in the terms that the analyses use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "fields are named after what they hold")]
pub enum Op {
    /// cuStreamCreate…: `blocking` streams take part in the default stream's barrier.
    StreamCreate { stream: StreamId, blocking: bool },
    /// cuStreamDestroy: returns at once; work pending on the stream still runs.
    StreamDestroy { stream: StreamId },
    /// A kernel launch.
    Launch {
        stream: StreamId,
        kernel: NameId,
        /// What its arguments say that it touches.
        accesses: Vec<Access>,
        /// The kernel is not in the kernels table: its pointer arguments were taken as read and
        /// written over the whole of their allocations.
        assumed: bool,
        /// Blocks in the grid: x · y · z.
        blocks: u64,
    },
    /// A copy. `asynchronous` is whether the call was one of the `…Async` forms; the other forms
    /// run on the legacy default stream.
    Copy { stream: StreamId, asynchronous: bool, src: Place, dst: Place },
    /// A memset of device memory.
    Memset { stream: StreamId, asynchronous: bool, range: Range },
    /// cuLaunchHostFunc.
    HostFunc { stream: StreamId },
    /// cuEventCreate; `timing` is false for CU_EVENT_DISABLE_TIMING.
    EventCreate { event: EventId, timing: bool },
    /// cuEventDestroy: allowed while a record or a wait is pending.
    EventDestroy { event: EventId },
    /// cuEventRecord.
    EventRecord { event: EventId, stream: StreamId },
    /// cuStreamWaitEvent: binds to the latest record at the time of this call.
    StreamWait { event: EventId, stream: StreamId },
    /// cuEventSynchronize.
    EventSync { event: EventId },
    /// cuEventQuery; `done` is whether it returned CUDA_SUCCESS.
    EventQuery { event: EventId, done: bool },
    /// cuEventElapsedTime and what it returned, in milliseconds.
    EventElapsed { start: EventId, end: EventId, ms: f32 },
    /// cuStreamSynchronize.
    StreamSync { stream: StreamId },
    /// cuStreamQuery; `done` is whether it returned CUDA_SUCCESS.
    StreamQuery { stream: StreamId, done: bool },
    /// cuCtxSynchronize.
    ContextSync,
    /// cuMemAlloc (no stream) or cuMemAllocAsync.
    Alloc { range: Range, stream: Option<StreamId> },
    /// cuMemFree (no stream) or cuMemFreeAsync. `stream_ordered` is whether the memory came from
    /// cuMemAllocAsync: cuMemFree of such memory does not hold the host.
    Free { range: Range, stream: Option<StreamId>, stream_ordered: bool },
    /// cuMemHostAlloc, cuMemAllocHost: page-locked host memory.
    HostAlloc { range: Range },
    /// cuMemFreeHost.
    HostFree { range: Range },
    /// cuMemHostRegister: existing host memory becomes page-locked.
    HostRegister { range: Range },
    /// cuMemHostUnregister.
    HostUnregister { range: Range },
    /// cuModuleLoad…, cuLibraryLoad….
    ModuleLoad,
    /// cuModuleUnload, cuLibraryUnload.
    ModuleUnload,
    /// A recorded call that says nothing to the analyses.
    Other,
}

impl Op {
    /// The stream that the call names or implies, if it enqueues or waits on one.
    pub fn stream(&self) -> Option<StreamId> {
        match self {
            Op::StreamCreate { stream, .. }
            | Op::StreamDestroy { stream }
            | Op::Launch { stream, .. }
            | Op::Copy { stream, .. }
            | Op::Memset { stream, .. }
            | Op::HostFunc { stream }
            | Op::EventRecord { stream, .. }
            | Op::StreamWait { stream, .. }
            | Op::StreamSync { stream }
            | Op::StreamQuery { stream, .. } => Some(*stream),
            Op::Alloc { stream, .. } | Op::Free { stream, .. } => *stream,
            _ => None,
        }
    }

    /// Whether the call puts work on a stream that takes time there: a launch, copy, memset or host
    /// function.
    pub fn is_work(&self) -> bool {
        matches!(
            self,
            Op::Launch { .. } | Op::Copy { .. } | Op::Memset { .. } | Op::HostFunc { .. }
        )
    }
}

/// When an operation ran, on the device's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Its start.
    pub start: Nanos,
    /// Its end.
    pub end: Nanos,
}

impl Span {
    /// Its length.
    pub fn len(self) -> Nanos {
        self.end.saturating_sub(self.start)
    }

    /// Whether it took no time.
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }
}

/// One driver call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Its place in the order of calls, taken when it was entered.
    pub seq: Seq,
    /// The host thread that made it.
    pub thread: ThreadId,
    /// The driver function, as linked (`cuMemcpyHtoDAsync_v2`).
    pub function: NameId,
    /// When the thread entered it, on the host's clock.
    pub entered: Nanos,
    /// When it returned.
    pub left: Nanos,
    /// What it returned, as a CUresult: 0 is CUDA_SUCCESS.
    pub result: u32,
    /// What it did. A call that failed enqueued nothing, whatever it names.
    pub op: Op,
    /// Who called.
    pub stack: Option<StackId>,
    /// Emulated device only: how long the call kept the thread waiting for the device. `None` where
    /// that is not known, as on a GPU, where only `left - entered` is.
    pub waited: Option<Nanos>,
    /// When the operation ran on the device, where known.
    pub ran: Option<Span>,
}

impl Call {
    /// How long the call kept its thread.
    pub fn held(&self) -> Nanos {
        self.left.saturating_sub(self.entered)
    }

    /// Whether it returned CUDA_SUCCESS or, for a query, CUDA_ERROR_NOT_READY.
    pub fn succeeded(&self) -> bool {
        self.result == 0 || self.result == 600
    }
}

/// A frame of a call stack, innermost first; an inlined function is a frame of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// The function, demangled, without its hash.
    pub function: String,
    /// The source file as the compiler wrote it, and the line; `None` without debug information.
    pub file: Option<String>,
    /// 1-based; 0 where not known.
    pub line: u32,
}

/// A whole call stack, and which frame is the learner's.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stack {
    /// Innermost first.
    pub frames: Vec<Frame>,
    /// Index of the innermost frame in the code that is being graded.
    pub learner: Option<u32>,
}

impl Stack {
    /// The learner's line, if the call came from their code.
    pub fn at(&self) -> Option<&Frame> {
        self.frames.get(self.learner? as usize)
    }
}

/// What is not a driver call but belongs to the record, told by the harness.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Its place in the order of calls.
    pub seq: Seq,
    /// The host thread.
    pub thread: ThreadId,
    /// When.
    pub at: Nanos,
    /// What.
    pub kind: MarkKind,
    /// Who made it.
    pub stack: Option<StackId>,
}

/// The kinds of [`Mark`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "fields are named after what they hold")]
pub enum MarkKind {
    /// A region that the grading case watches begins.
    Begin { region: String },
    /// It ends.
    End { region: String },
    /// The stream is known to the learner by this name.
    NameStream { stream: StreamId, name: String },
    /// The memory is known to the learner by this name, from here until it is freed or named anew.
    NameBuffer { range: Range, name: String },
    /// The event is known to the learner by this name.
    NameEvent { event: EventId, name: String },
    /// The host read these bytes.
    HostRead { range: Range },
    /// The host wrote these bytes.
    HostWrite { range: Range },
    /// The host gave these bytes back (a pinned or pageable buffer was dropped).
    HostDrop { range: Range },
    /// A caching allocator handed a block out, for use on `stream`.
    BlockOut { range: Range, stream: StreamId },
    /// The block was handed back.
    BlockBack { range: Range },
    /// record_stream: the block is also in use on `stream`.
    BlockUse { range: Range, stream: StreamId },
    /// Thread `child` starts after this point.
    ThreadBegin { child: ThreadId },
    /// Thread `child` ended before this point.
    ThreadJoin { child: ThreadId },
    /// All that this thread did so far was over before what `other` does next began: whatever the two
    /// told each other, `other` may rest on it. See [`order_by_time`](crate::threads::order_by_time).
    CameBefore { other: ThreadId },
}

/// What device a trace was recorded on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Which kind.
    pub kind: DeviceKind,
    /// What the driver calls it.
    pub name: String,
}

/// A GPU, or our emulation of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// A real GPU, through libcuda.so.1.
    Gpu,
    /// The emulated device.
    Emulated,
}

/// What is known about a trace before its first item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Where it was recorded.
    pub device: Device,
    /// The seed that perturbed the run, if one did.
    pub seed: Option<u64>,
}

/// One entry of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "fields are named after what they hold")]
pub enum Item {
    /// Introduces a name.
    Name { id: NameId, text: String },
    /// Introduces a call stack.
    Stack { id: StackId, stack: Stack },
    /// A driver call.
    Call(Call),
    /// A mark.
    Mark(Mark),
    /// The recorder ran out of room here: calls after this point are missing.
    Truncated { at: Nanos },
}

/// A whole trace in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Where it comes from.
    pub header: Header,
    /// In order of sequence numbers; names and stacks before their first use.
    pub items: Vec<Item>,
}

impl Trace {
    /// An empty trace.
    pub fn new(header: Header) -> Trace {
        Trace { header, items: Vec::new() }
    }

    /// The calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.items.iter().filter_map(|item| match item {
            Item::Call(call) => Some(call),
            _ => None,
        })
    }

    /// The marks, in order.
    pub fn marks(&self) -> impl Iterator<Item = &Mark> {
        self.items.iter().filter_map(|item| match item {
            Item::Mark(mark) => Some(mark),
            _ => None,
        })
    }

    /// The text of a name; empty if the trace never introduced it.
    pub fn name(&self, id: NameId) -> &str {
        self.items
            .iter()
            .find_map(|item| match item {
                Item::Name { id: this, text } if *this == id => Some(text.as_str()),
                _ => None,
            })
            .unwrap_or("")
    }

    /// A call stack.
    pub fn stack(&self, id: StackId) -> Option<&Stack> {
        self.items.iter().find_map(|item| match item {
            Item::Stack { id: this, stack } if *this == id => Some(stack),
            _ => None,
        })
    }

    /// The learner's line of a call.
    pub fn at(&self, call: &Call) -> Option<&Frame> {
        self.stack(call.stack?)?.at()
    }
}
