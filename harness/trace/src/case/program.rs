//! From the lines of a case to the trace that such a program leaves.

use rustc_hash::FxHashMap;

use super::CaseError;
use super::parser::{Address, Expect, HostAct, Line, Part, Statement, Transfer, Word};
use crate::build::Builder;
use crate::model::{
    Access, AccessKind, EventId, MarkKind, MemoryKind, Op, Place, Range, Seq, StreamId, ThreadId,
    Trace,
};

pub(super) struct Expected {
    pub line: u32,
    pub expect: Expect,
}

pub(super) struct Run {
    pub trace: Trace,
    /// From which place in the order of calls on a line of the case is at work.
    pub lines: Vec<(Seq, u32)>,
    pub expected: Vec<Expected>,
    streams: FxHashMap<String, StreamId>,
}

impl Run {
    pub fn stream(&self, name: &str) -> Option<StreamId> {
        self.streams.get(name).copied()
    }
}

#[derive(Clone, Copy)]
struct Buffer {
    range: Range,
    memory: MemoryKind,
    stream_ordered: bool,
}

struct Machine {
    builder: Builder,
    streams: FxHashMap<String, StreamId>,
    events: FxHashMap<String, EventId>,
    next_event: u32,
    buffers: FxHashMap<String, Buffer>,
    threads: FxHashMap<String, ThreadId>,
    next_address: u64,
}

pub(super) fn run(lines: &[Line]) -> Result<Run, CaseError> {
    let mut machine = Machine {
        builder: Builder::new(),
        streams: FxHashMap::from_iter([("null".to_owned(), StreamId::LEGACY)]),
        events: FxHashMap::default(),
        next_event: 1,
        buffers: FxHashMap::default(),
        threads: FxHashMap::from_iter([("t1".to_owned(), ThreadId(1))]),
        next_address: 0x1000_0000,
    };
    machine.builder.mark(MarkKind::NameStream { stream: StreamId::LEGACY, name: "null".into() });
    let mut numbers = Vec::new();
    let mut expected = Vec::new();
    for line in lines {
        let first = Seq(machine.builder.seq().0 + 1);
        numbers.push((first, line.number));
        let thread = match &line.thread {
            Some(name) => machine.thread(name),
            None => ThreadId(1),
        };
        machine.builder.thread(thread.0);
        match &line.statement {
            Statement::Expect(expect) => {
                machine.check(expect, line)?;
                expected.push(Expected { line: line.number, expect: expect.clone() });
            }
            statement => machine.statement(statement)?,
        }
    }
    Ok(Run { trace: machine.builder.trace(), lines: numbers, expected, streams: machine.streams })
}

impl Machine {
    fn statement(&mut self, statement: &Statement) -> Result<(), CaseError> {
        match statement {
            Statement::Stream { name, blocking } => self.new_stream(name, *blocking)?,
            Statement::Host { name, bytes, pinned } => {
                let memory = if *pinned { MemoryKind::Pinned } else { MemoryKind::Pageable };
                let range = self.place(*bytes, None)?;
                self.define(name, Buffer { range, memory, stream_ordered: false });
                if *pinned {
                    self.builder.call("cuMemHostAlloc", Op::HostAlloc { range });
                }
            }
            Statement::Alloc { name, bytes, on, at } => {
                let stream = self.maybe_stream(on)?;
                let range = self.place(*bytes, at.as_ref())?;
                let memory = MemoryKind::Device;
                self.define(name, Buffer { range, memory, stream_ordered: stream.is_some() });
                let function = if stream.is_some() { "cuMemAllocAsync" } else { "cuMemAlloc_v2" };
                self.builder.call(function, Op::Alloc { range, stream });
            }
            Statement::Free { name, on } => {
                let Buffer { range, stream_ordered, .. } = self.buffer(name)?;
                let stream = self.maybe_stream(on)?;
                let function = if stream.is_some() { "cuMemFreeAsync" } else { "cuMemFree_v2" };
                self.builder.call(function, Op::Free { range, stream, stream_ordered });
            }
            Statement::Kernel { accesses, on } => self.kernel(accesses, on)?,
            Statement::Transfer { how, from, to, on } => self.transfer(*how, from, to, on)?,
            Statement::HostAct { act, part } => {
                let range = self.part(part)?.range;
                if self.buffer(&part.buffer)?.memory == MemoryKind::Device {
                    let message = "expected a host buffer, found device memory";
                    return Err(part.buffer.error(message));
                }
                self.builder.mark(match act {
                    HostAct::Read => MarkKind::HostRead { range },
                    HostAct::Write => MarkKind::HostWrite { range },
                    HostAct::Drop => MarkKind::HostDrop { range },
                });
            }
            Statement::Record { event, on } => {
                let (event, stream) = (self.event(event), self.stream(on)?);
                self.builder.call("cuEventRecord", Op::EventRecord { event, stream });
            }
            Statement::Wait { event, on } => {
                let (event, stream) = (self.event(event), self.maybe_stream(on)?);
                match stream {
                    Some(stream) => {
                        self.builder.call("cuStreamWaitEvent", Op::StreamWait { event, stream })
                    }
                    None => self.builder.call("cuEventSynchronize", Op::EventSync { event }),
                };
            }
            Statement::Destroy { event: name } => {
                let event = self.event(name);
                self.events.remove(&name.text);
                self.builder.call("cuEventDestroy_v2", Op::EventDestroy { event });
            }
            Statement::Sync { stream } => {
                let stream = self.stream(stream)?;
                self.builder.call("cuStreamSynchronize", Op::StreamSync { stream });
            }
            Statement::SyncAll => {
                self.builder.call("cuCtxSynchronize", Op::ContextSync);
            }
            Statement::Query { what, done } => self.query(what, *done),
            Statement::Out { name, bytes, stream, at } => {
                let stream = self.stream(stream)?;
                let range = self.place(*bytes, at.as_ref())?;
                self.builder.mark(MarkKind::BlockOut { range, stream });
                let memory = MemoryKind::Device;
                self.define(name, Buffer { range, memory, stream_ordered: false });
            }
            Statement::Back { name } => {
                let range = self.buffer(name)?.range;
                self.builder.mark(MarkKind::BlockBack { range });
            }
            Statement::Use { name, on } => {
                let (range, stream) = (self.buffer(name)?.range, self.stream(on)?);
                self.builder.mark(MarkKind::BlockUse { range, stream });
            }
            Statement::Begin { thread } => {
                let child = self.thread(thread);
                self.builder.mark(MarkKind::ThreadBegin { child });
            }
            Statement::Join { thread } => {
                let child = self.thread(thread);
                self.builder.mark(MarkKind::ThreadJoin { child });
            }
            Statement::Expect(_) => {}
        }
        Ok(())
    }

    fn new_stream(&mut self, name: &Word, blocking: bool) -> Result<(), CaseError> {
        if self.streams.contains_key(&name.text) || name.text == "host" || name.text == "all" {
            let message = format!("expected a new name, found `{}`, which is taken", name.text);
            return Err(name.error(message));
        }
        let stream = StreamId(u32::try_from(self.streams.len()).unwrap_or(u32::MAX));
        self.streams.insert(name.text.clone(), stream);
        self.builder.call("cuStreamCreate", Op::StreamCreate { stream, blocking });
        self.builder.mark(MarkKind::NameStream { stream, name: name.text.clone() });
        Ok(())
    }

    /// A name is given before the call that makes the memory, so that the call's own write has it.
    fn define(&mut self, name: &Word, buffer: Buffer) {
        self.buffers.insert(name.text.clone(), buffer);
        self.builder.mark(MarkKind::NameBuffer { range: buffer.range, name: name.text.clone() });
    }

    fn kernel(&mut self, accesses: &[(AccessKind, Part)], on: &Word) -> Result<(), CaseError> {
        let stream = self.stream(on)?;
        let mut touched = Vec::new();
        for (kind, part) in accesses {
            touched.push(Access { range: self.part(part)?.range, kind: *kind });
        }
        let kernel = self.builder.name("kernel");
        let (accesses, assumed, blocks) = (touched, false, 1);
        let op = Op::Launch { stream, kernel, accesses, assumed, blocks };
        self.builder.call("cuLaunchKernel", op);
        Ok(())
    }

    fn transfer(
        &mut self,
        how: Transfer,
        from: &Part,
        to: &Part,
        on: &Option<Word>,
    ) -> Result<(), CaseError> {
        let stream = self.maybe_stream(on)?;
        let (mut src, mut dst) = (self.part(from)?, self.part(to)?);
        let (from_device, to_device, functions) = match how {
            Transfer::Upload => (false, true, ["cuMemcpyHtoD_v2", "cuMemcpyHtoDAsync_v2"]),
            Transfer::Download => (true, false, ["cuMemcpyDtoH_v2", "cuMemcpyDtoHAsync_v2"]),
            Transfer::Copy => (true, true, ["cuMemcpyDtoD_v2", "cuMemcpyDtoDAsync_v2"]),
        };
        for (part, place, device) in [(from, &src, from_device), (to, &dst, to_device)] {
            if (place.memory == MemoryKind::Device) != device {
                let (wanted, found) = if device {
                    ("device memory", "a host buffer")
                } else {
                    ("a host buffer", "device memory")
                };
                return Err(part.buffer.error(format!("expected {wanted}, found {found}")));
            }
        }
        let bytes = src.range.len().min(dst.range.len());
        src.range = Range::new(src.range.start, bytes);
        dst.range = Range::new(dst.range.start, bytes);
        let asynchronous = stream.is_some();
        let stream = stream.unwrap_or(StreamId::LEGACY);
        let function = functions[usize::from(asynchronous)];
        self.builder.call(function, Op::Copy { stream, asynchronous, src, dst });
        Ok(())
    }

    fn query(&mut self, what: &Word, done: bool) {
        let result = if done { 0 } else { 600 };
        let builder = match self.streams.get(&what.text) {
            Some(&stream) => self.builder.call("cuStreamQuery", Op::StreamQuery { stream, done }),
            None => {
                let event = self.event(what);
                self.builder.call("cuEventQuery", Op::EventQuery { event, done })
            }
        };
        builder.last(|call| call.result = result);
    }

    fn check(&self, expect: &Expect, line: &Line) -> Result<(), CaseError> {
        let error = |message: String| CaseError { line: line.number, column: 1, message };
        let buffer = |name: &String| match self.buffers.contains_key(name) {
            true => Ok(()),
            false => Err(error(format!("expected a buffer, but nothing is called `{name}`"))),
        };
        let stream = |name: &String| match self.streams.contains_key(name) {
            true => Ok(()),
            false => Err(error(format!("expected a stream, but none is called `{name}`"))),
        };
        match expect {
            Expect::Race { buffer: name, later, earlier } => {
                buffer(name)?;
                for side in [later, earlier] {
                    if side.stream != "host" {
                        stream(&side.stream)?;
                    }
                }
                Ok(())
            }
            Expect::Reuse(name) => buffer(name),
            Expect::Blocks { stream: name, .. } => stream(name),
            Expect::Clean | Expect::Races(_) => Ok(()),
        }
    }

    // Names.

    fn stream(&self, name: &Word) -> Result<StreamId, CaseError> {
        let found = self.streams.get(&name.text).copied();
        found.ok_or_else(|| {
            let name_ = &name.text;
            name.error(format!(
                "expected a stream, but none is called `{name_}` (`stream {name_}` makes it)"
            ))
        })
    }

    fn maybe_stream(&self, name: &Option<Word>) -> Result<Option<StreamId>, CaseError> {
        name.as_ref().map(|name| self.stream(name)).transpose()
    }

    /// An event comes into being where it is first named.
    fn event(&mut self, name: &Word) -> EventId {
        if let Some(event) = self.events.get(&name.text) {
            return *event;
        }
        let event = EventId(self.next_event);
        self.next_event += 1;
        self.events.insert(name.text.clone(), event);
        self.builder.call("cuEventCreate", Op::EventCreate { event, timing: false });
        self.builder.mark(MarkKind::NameEvent { event, name: name.text.clone() });
        event
    }

    fn thread(&mut self, name: &Word) -> ThreadId {
        let next =
            ThreadId(u32::try_from(self.threads.len()).unwrap_or(u32::MAX).saturating_add(1));
        *self.threads.entry(name.text.clone()).or_insert(next)
    }

    fn buffer(&self, name: &Word) -> Result<Buffer, CaseError> {
        let found = self.buffers.get(&name.text).copied();
        found.ok_or_else(|| {
            name.error(format!("expected a buffer, but nothing is called `{}`", name.text))
        })
    }

    fn part(&self, part: &Part) -> Result<Place, CaseError> {
        let Buffer { range, memory, .. } = self.buffer(&part.buffer)?;
        let range = match part.bytes {
            None => range,
            Some((from, to)) if to <= range.len() => Range::new(range.start + from, to - from),
            Some((_, to)) => {
                let name = &part.buffer.text;
                let message = format!(
                    "expected a range in `{name}`, which has {} bytes, found {to}",
                    range.len()
                );
                return Err(part.buffer.error(message));
            }
        };
        Ok(Place { range, memory })
    }

    fn place(&mut self, bytes: u64, at: Option<&Address>) -> Result<Range, CaseError> {
        if let Some(at) = at {
            let former = self.buffer(&at.buffer)?.range;
            if at.offset >= former.len() {
                let name = &at.buffer.text;
                let message =
                    format!("expected an address in `{name}`, which has {} bytes", former.len());
                return Err(at.buffer.error(message));
            }
            return Ok(Range::new(former.start + at.offset, bytes));
        }
        let range = Range::new(self.next_address, bytes);
        // A gap behind each, so that no two touch.
        self.next_address = range.end.saturating_add(4096);
        Ok(range)
    }
}
