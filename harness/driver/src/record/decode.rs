//! From recorded words to the record's items: handles become numbers, addresses become memory.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use streamlings_kernels::{Args, ParamKind, Role};
use streamlings_trace::*;

use super::log::{Entry, MarkCode, What};
use super::symbols::Symbols;
use crate::api::Function;
use crate::functions::{self, LAUNCH_FIXED};
use crate::sys::{self, EVENT_DISABLE_TIMING, STREAM_NON_BLOCKING};

/// When operations ran: on the emulated device by their number, on a GPU by their call's.
pub type Spans = HashMap<u64, Span>;

#[derive(Clone, Copy)]
struct Allocation {
    length: u64,
    /// The stream it was allocated on, for stream-ordered memory.
    stream: Option<StreamId>,
}

/// What is alive, and what was numbered so far.
#[derive(Default)]
pub struct Decoder {
    streams: HashMap<u64, (StreamId, bool)>,
    per_thread: HashMap<u32, StreamId>,
    events: HashMap<u64, (EventId, bool)>,
    stream_names: BTreeMap<StreamId, String>,
    next_stream: u32,
    next_event: u32,
    allocations: BTreeMap<u64, Allocation>,
    pinned: BTreeMap<u64, (u64, bool)>,
    names: Vec<String>,
    name_ids: HashMap<String, NameId>,
    stacks: Vec<Vec<u64>>,
    stack_ids: HashMap<Vec<u64>, StackId>,
    symbols: Symbols,
}

/// The allocation that holds `address`.
fn holder<V: Copy>(
    map: &BTreeMap<u64, V>,
    length: fn(&V) -> u64,
    address: u64,
) -> Option<(u64, V)> {
    let (start, value) = map.range(..=address).next_back()?;
    (address - start < length(value).max(1)).then_some((*start, *value))
}

impl Decoder {
    fn name(&mut self, text: &str) -> NameId {
        if let Some(id) = self.name_ids.get(text) {
            return *id;
        }
        let id = NameId(self.names.len() as u32);
        self.names.push(text.to_owned());
        self.name_ids.insert(text.to_owned(), id);
        id
    }

    /// The number of a call stack.
    pub fn stack(&mut self, frames: &[u64]) -> Option<StackId> {
        if frames.is_empty() {
            return None;
        }
        if let Some(id) = self.stack_ids.get(frames) {
            return Some(*id);
        }
        let id = StackId(self.stacks.len() as u32);
        self.stacks.push(frames.to_vec());
        self.stack_ids.insert(frames.to_vec(), id);
        Some(id)
    }

    fn new_stream(&mut self) -> StreamId {
        self.next_stream += 1;
        StreamId(self.next_stream)
    }

    /// The stream behind a handle. One that was not seen being made is made up: a thread's own default
    /// stream as blocking, any other as non-blocking.
    fn stream(&mut self, handle: u64, thread: u32, made: &mut Vec<Op>) -> StreamId {
        match handle as sys::Handle {
            0 | sys::STREAM_LEGACY => StreamId::LEGACY,
            sys::STREAM_PER_THREAD => {
                if let Some(stream) = self.per_thread.get(&thread) {
                    return *stream;
                }
                let stream = self.new_stream();
                self.per_thread.insert(thread, stream);
                made.push(Op::StreamCreate { stream, blocking: true });
                stream
            }
            _ => {
                if let Some((stream, _)) = self.streams.get(&handle) {
                    return *stream;
                }
                let stream = self.new_stream();
                self.streams.insert(handle, (stream, false));
                made.push(Op::StreamCreate { stream, blocking: false });
                stream
            }
        }
    }

    /// Names a stream; the mark that says so.
    pub fn name_stream(&mut self, handle: usize, thread: u32, name: String) -> MarkKind {
        // A stream that nothing is known of yet is one of the default streams, which need no item.
        let stream = self.stream(handle as u64, thread, &mut Vec::new());
        self.stream_names.insert(stream, name.clone());
        MarkKind::NameStream { stream, name }
    }

    fn event(&mut self, handle: u64, made: &mut Vec<Op>) -> EventId {
        if let Some((event, _)) = self.events.get(&handle) {
            return *event;
        }
        let event = self.make_event(handle, true);
        made.push(Op::EventCreate { event, timing: true });
        event
    }

    fn make_event(&mut self, handle: u64, timing: bool) -> EventId {
        self.next_event += 1;
        let event = EventId(self.next_event);
        self.events.insert(handle, (event, timing));
        event
    }

    fn host_place(&self, address: u64, bytes: u64) -> Place {
        let pinned = holder(&self.pinned, |(length, _)| *length, address).is_some();
        let memory = if pinned { MemoryKind::Pinned } else { MemoryKind::Pageable };
        Place { range: Range::new(address, bytes), memory }
    }

    fn device_place(address: u64, bytes: u64) -> Place {
        Place { range: Range::new(address, bytes), memory: MemoryKind::Device }
    }

    /// Either side of a cuMemcpy, which does not say what it is.
    fn any_place(&self, address: u64, bytes: u64) -> Place {
        if holder(&self.allocations, |allocation| allocation.length, address).is_some() {
            Self::device_place(address, bytes)
        } else {
            self.host_place(address, bytes)
        }
    }

    fn take_allocation(&mut self, address: u64) -> (Range, bool) {
        match self.allocations.remove(&address) {
            Some(allocation) => {
                (Range::new(address, allocation.length), allocation.stream.is_some())
            }
            None => (Range::new(address, 0), false),
        }
    }

    /// Reads one entry: what it did, as items. `spans` is where the emulated operations ran, or
    /// `None` if only what stays alive is of interest.
    pub fn decode(&mut self, raw: &Entry, spans: Option<&Spans>) -> Option<Vec<Item>> {
        let mut made = Vec::new();
        let function = match raw.what {
            What::Call(function) => function,
            What::Mark(code) => {
                spans?;
                return Some(self.mark(raw, code));
            }
        };
        let op = self.op(function, raw, &mut made);
        let spans = spans?;
        let stack = self.stack(&raw.frames);
        let emulated = matches!(crate::backend::backend(), crate::backend::Backend::Emulated(_));
        let ran = spans.get(if emulated { &raw.operation } else { &raw.seq }).copied();
        let function = self.name(function.name());
        let call = |op, ran| {
            Item::Call(Call {
                seq: Seq(raw.seq),
                thread: ThreadId(raw.thread),
                function,
                entered: raw.entered,
                left: raw.left,
                result: raw.result,
                op,
                stack,
                waited: emulated.then_some(raw.waited),
                ran,
            })
        };
        let mut items: Vec<Item> = made.into_iter().map(|op| call(op, None)).collect();
        items.push(call(op, ran));
        Some(items)
    }

    fn mark(&mut self, raw: &Entry, code: MarkCode) -> Vec<Item> {
        let word = |index: usize| raw.words.get(index).copied().unwrap_or(0);
        let range = Range { start: word(0), end: word(1) };
        // A stream that nothing is known of yet is a default stream, which needs no item.
        let mut stream = || self.stream(word(2), raw.thread, &mut Vec::new());
        let kind = match code {
            MarkCode::BlockOut => MarkKind::BlockOut { range, stream: stream() },
            MarkCode::BlockBack => MarkKind::BlockBack { range },
            MarkCode::BlockUse => MarkKind::BlockUse { range, stream: stream() },
            MarkCode::HostRead => MarkKind::HostRead { range },
            MarkCode::HostWrite => MarkKind::HostWrite { range },
            MarkCode::HostDrop => MarkKind::HostDrop { range },
        };
        let stack = self.stack(&raw.frames);
        let (seq, thread) = (Seq(raw.seq), ThreadId(raw.thread));
        vec![Item::Mark(Mark { seq, thread, at: raw.entered, kind, stack })]
    }

    fn op(&mut self, function: Function, raw: &Entry, made: &mut Vec<Op>) -> Op {
        use Function::*;
        let word = |index: usize| raw.words.get(index).copied().unwrap_or(0);
        let ok = raw.result == sys::CUDA_SUCCESS;
        let thread = raw.thread;
        match function {
            cuStreamCreate | cuStreamCreateWithPriority if ok => {
                let blocking = word(1) as u32 & STREAM_NON_BLOCKING == 0;
                let stream = self.new_stream();
                self.streams.insert(word(0), (stream, blocking));
                Op::StreamCreate { stream, blocking }
            }
            cuStreamDestroy_v2 => {
                let stream = self.stream(word(0), thread, made);
                if ok {
                    self.streams.remove(&word(0));
                    self.stream_names.remove(&stream);
                }
                Op::StreamDestroy { stream }
            }
            cuStreamSynchronize => Op::StreamSync { stream: self.stream(word(0), thread, made) },
            cuStreamQuery => {
                Op::StreamQuery { stream: self.stream(word(0), thread, made), done: ok }
            }
            cuStreamWaitEvent => {
                let stream = self.stream(word(0), thread, made);
                Op::StreamWait { stream, event: self.event(word(1), made) }
            }
            cuStreamAddCallback | cuLaunchHostFunc => {
                Op::HostFunc { stream: self.stream(word(0), thread, made) }
            }
            cuCtxSynchronize => Op::ContextSync,
            cuEventCreate if ok => {
                let timing = word(1) as u32 & EVENT_DISABLE_TIMING == 0;
                Op::EventCreate { event: self.make_event(word(0), timing), timing }
            }
            cuEventDestroy_v2 => {
                let event = self.event(word(0), made);
                if ok {
                    self.events.remove(&word(0));
                }
                Op::EventDestroy { event }
            }
            cuEventRecord | cuEventRecordWithFlags => {
                let event = self.event(word(0), made);
                Op::EventRecord { event, stream: self.stream(word(1), thread, made) }
            }
            cuEventQuery => Op::EventQuery { event: self.event(word(0), made), done: ok },
            cuEventSynchronize => Op::EventSync { event: self.event(word(0), made) },
            cuEventElapsedTime | cuEventElapsedTime_v2 => Op::EventElapsed {
                start: self.event(word(1), made),
                end: self.event(word(2), made),
                ms: f32::from_bits(word(0) as u32),
            },
            cuMemAlloc_v2 if ok => self.allocate(word(0), word(1), None),
            cuMemAllocAsync | cuMemAllocFromPoolAsync if ok => {
                let stream = self.stream(word(2), thread, made);
                self.allocate(word(0), word(1), Some(stream))
            }
            cuMemFree_v2 if ok => {
                let (range, stream_ordered) = self.take_allocation(word(0));
                Op::Free { range, stream: None, stream_ordered }
            }
            cuMemFreeAsync if ok => {
                let stream = self.stream(word(1), thread, made);
                let (range, stream_ordered) = self.take_allocation(word(0));
                Op::Free { range, stream: Some(stream), stream_ordered }
            }
            cuMemHostAlloc | cuMemAllocHost_v2 if ok => {
                self.pinned.insert(word(0), (word(1), false));
                Op::HostAlloc { range: Range::new(word(0), word(1)) }
            }
            cuMemHostRegister_v2 if ok => {
                self.pinned.insert(word(0), (word(1), true));
                Op::HostRegister { range: Range::new(word(0), word(1)) }
            }
            cuMemFreeHost if ok => {
                let length = self.pinned.remove(&word(0)).map_or(0, |(length, _)| length);
                Op::HostFree { range: Range::new(word(0), length) }
            }
            cuMemHostUnregister if ok => {
                let length = self.pinned.remove(&word(0)).map_or(0, |(length, _)| length);
                Op::HostUnregister { range: Range::new(word(0), length) }
            }
            cuModuleLoad | cuModuleLoadData | cuModuleLoadDataEx => Op::ModuleLoad,
            cuModuleUnload => Op::ModuleUnload,
            cuLaunchKernel | cuLaunchCooperativeKernel | cuLaunchKernelEx => {
                let stream = self.stream(word(1), thread, made);
                self.launch(stream, &raw.words)
            }
            _ => self.copy_or_set(function, raw, made),
        }
    }

    fn allocate(&mut self, address: u64, length: u64, stream: Option<StreamId>) -> Op {
        self.allocations.insert(address, Allocation { length, stream });
        Op::Alloc { range: Range::new(address, length), stream }
    }

    fn copy_or_set(&mut self, function: Function, raw: &Entry, made: &mut Vec<Op>) -> Op {
        use Function::*;
        let word = |index: usize| raw.words.get(index).copied().unwrap_or(0);
        let [target, source, bytes] = [word(0), word(1), word(2)];
        let (dst, src, stream) = match function {
            cuMemcpyHtoD_v2 | cuMemcpyHtoDAsync_v2 => {
                (Self::device_place(target, bytes), self.host_place(source, bytes), 3)
            }
            cuMemcpyDtoH_v2 | cuMemcpyDtoHAsync_v2 => {
                (self.host_place(target, bytes), Self::device_place(source, bytes), 3)
            }
            cuMemcpyDtoD_v2 | cuMemcpyDtoDAsync_v2 => {
                (Self::device_place(target, bytes), Self::device_place(source, bytes), 3)
            }
            cuMemcpy | cuMemcpyAsync => {
                (self.any_place(target, bytes), self.any_place(source, bytes), 3)
            }
            cuMemsetD8_v2 | cuMemsetD8Async => return self.memset(raw, 1, made),
            cuMemsetD16_v2 | cuMemsetD16Async => return self.memset(raw, 2, made),
            cuMemsetD32_v2 | cuMemsetD32Async => return self.memset(raw, 4, made),
            _ => return Op::Other,
        };
        let asynchronous = raw.words.len() > stream;
        let stream = self.stream(word(stream), raw.thread, made);
        Op::Copy { stream, asynchronous, src, dst }
    }

    fn memset(&mut self, raw: &Entry, size: u64, made: &mut Vec<Op>) -> Op {
        let word = |index: usize| raw.words.get(index).copied().unwrap_or(0);
        let stream = self.stream(word(2), raw.thread, made);
        let range = Range::new(word(0), word(1).saturating_mul(size));
        Op::Memset { stream, asynchronous: raw.words.len() > 2, range }
    }

    fn launch(&mut self, stream: StreamId, words: &[u64]) -> Op {
        let blocks = words.get(2).copied().unwrap_or(0);
        let info = words.first().and_then(|id| functions::by_id(*id as usize));
        let arguments = words.get(LAUNCH_FIXED..).unwrap_or(&[]);
        let Some(info) = info else {
            let kernel = self.name("unknown kernel");
            return Op::Launch { stream, kernel, accesses: Vec::new(), assumed: true, blocks };
        };
        let kernel = self.name(&info.name);
        let (accesses, assumed) = match info.kernel {
            Some(known) if arguments.len() == known.params.len() => {
                (known_accesses(known, arguments), false)
            }
            _ => (self.assumed_accesses(info.params.as_deref().unwrap_or(&[]), arguments), true),
        };
        Op::Launch { stream, kernel, accesses, assumed, blocks }
    }

    /// Every argument of an unknown kernel that points into an allocation counts as the whole of it
    /// from there on, read and written.
    fn assumed_accesses(&self, sizes: &[usize], arguments: &[u64]) -> Vec<Access> {
        let pointers = sizes.iter().zip(arguments).filter(|(size, _)| **size == 8);
        pointers
            .filter_map(|(_, address)| {
                let (start, length) =
                    match holder(&self.allocations, |allocation| allocation.length, *address) {
                        Some((start, allocation)) => (start, allocation.length),
                        None => {
                            let (start, (length, _)) =
                                holder(&self.pinned, |(length, _)| *length, *address)?;
                            (start, length)
                        }
                    };
                let range = Range { start: *address, end: start + length };
                Some(Access { range, kind: AccessKind::Update })
            })
            .collect()
    }

    /// What is alive, as the calls that made it, for the start of a trace.
    pub fn alive(&mut self, seq: Seq, push: &mut dyn FnMut(Item)) {
        let mut ops: Vec<(Function, Op)> = Vec::new();
        for (stream, blocking) in self.streams.values() {
            let op = Op::StreamCreate { stream: *stream, blocking: *blocking };
            ops.push((Function::cuStreamCreate, op));
        }
        for stream in self.per_thread.values() {
            let op = Op::StreamCreate { stream: *stream, blocking: true };
            ops.push((Function::cuStreamCreate, op));
        }
        for (event, timing) in self.events.values() {
            let op = Op::EventCreate { event: *event, timing: *timing };
            ops.push((Function::cuEventCreate, op));
        }
        for (start, allocation) in &self.allocations {
            let range = Range::new(*start, allocation.length);
            // Whatever stream it was allocated on, by now the recording has begun: it is simply there.
            ops.push((Function::cuMemAlloc_v2, Op::Alloc { range, stream: None }));
        }
        for (start, (length, registered)) in &self.pinned {
            let range = Range::new(*start, *length);
            ops.push(if *registered {
                (Function::cuMemHostRegister_v2, Op::HostRegister { range })
            } else {
                (Function::cuMemHostAlloc, Op::HostAlloc { range })
            });
        }
        ops.sort_by_key(|(_, op)| match op {
            Op::StreamCreate { stream, .. } => (0, u64::from(stream.0)),
            Op::EventCreate { event, .. } => (1, u64::from(event.0)),
            _ => (2, 0),
        });
        for (stream, name) in &self.stream_names {
            let kind = MarkKind::NameStream { stream: *stream, name: name.clone() };
            push(Item::Mark(Mark { seq, thread: ThreadId(0), at: 0, kind, stack: None }));
        }
        for (function, op) in ops {
            let function = self.name(function.name());
            push(Item::Call(Call {
                seq,
                thread: ThreadId(0),
                function,
                entered: 0,
                left: 0,
                result: 0,
                op,
                stack: None,
                waited: None,
                ran: None,
            }));
        }
    }

    /// Puts the names and stacks that items use before their first use.
    pub fn introduce(
        &mut self,
        items: impl Iterator<Item = Item>,
        learner_roots: &[PathBuf],
    ) -> Vec<Item> {
        let mut out = Vec::new();
        let mut names = std::collections::HashSet::new();
        let mut stacks = std::collections::HashSet::new();
        for item in items {
            let (used_names, used_stack) = match &item {
                Item::Call(call) => {
                    let kernel = match call.op {
                        Op::Launch { kernel, .. } => Some(kernel),
                        _ => None,
                    };
                    ([Some(call.function), kernel], call.stack)
                }
                Item::Mark(mark) => ([None, None], mark.stack),
                _ => ([None, None], None),
            };
            for id in used_names.into_iter().flatten() {
                if names.insert(id) {
                    let text = self.names.get(id.0 as usize).cloned().unwrap_or_default();
                    out.push(Item::Name { id, text });
                }
            }
            if let Some(id) = used_stack
                && stacks.insert(id)
            {
                let addresses = self.stacks.get(id.0 as usize).cloned().unwrap_or_default();
                let stack = self.symbols.stack(&addresses, learner_roots);
                out.push(Item::Stack { id, stack });
            }
            out.push(item);
        }
        out
    }
}

fn known_accesses(kernel: &streamlings_kernels::Kernel, arguments: &[u64]) -> Vec<Access> {
    let args = Args(arguments);
    let mut accesses = Vec::new();
    for (index, param) in kernel.params.iter().enumerate() {
        let ParamKind::Pointer { role, elements } = param.kind else { continue };
        let bytes = elements(&args).saturating_mul(4);
        if bytes == 0 {
            continue;
        }
        let kind = match role {
            Role::Read => AccessKind::Read,
            Role::Write => AccessKind::Write,
            Role::Update => AccessKind::Update,
        };
        accesses.push(Access { range: Range::new(args.u64(index), bytes), kind });
    }
    accesses
}
