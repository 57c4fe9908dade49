//! Random programs, two threads whose calls may overlap, against the reference.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::reference::{self, Facts, Key};
use crate::build::Builder;
use crate::model::*;
use crate::order::Order;

/// What a program does next; numbers are taken modulo what there is.
#[derive(Clone, Debug)]
enum Step {
    Kernel(u8, Vec<(u8, AccessKind)>),
    Copy {
        stream: u8,
        asynchronous: bool,
        from: u8,
        to: u8,
    },
    Record(u8, u8),
    Wait(u8, u8),
    HostWait(u8),
    Destroy(u8),
    Query(u8, bool),
    Sync(u8),
    QueryStream(u8, bool),
    SyncAll,
    Alloc(u8, Option<u8>),
    Free(u8, Option<u8>, bool),
    Out(u8),
    Back(u8),
    Host(u8, u8),
    HostFree(u8),
    JoinAndBegin,
    Fail(u8),
    /// The stream is destroyed and another takes its place.
    NewStream(u8),
}

/// The null stream, two non-blocking ones, two blocking ones.
const STREAMS: [(u32, Option<bool>); 5] =
    [(0, None), (1, Some(false)), (2, Some(false)), (3, Some(true)), (4, Some(true))];

/// Pieces of three buffers of 8 bytes: device memory, another, and pinned; and pageable memory.
const PIECES: [(u64, u64, MemoryKind); 7] = [
    (0, 8, MemoryKind::Device),
    (0, 4, MemoryKind::Device),
    (2, 4, MemoryKind::Device),
    (16, 8, MemoryKind::Device),
    (32, 8, MemoryKind::Pinned),
    (36, 4, MemoryKind::Pinned),
    (48, 8, MemoryKind::Pageable),
];

fn piece(index: u8) -> Place {
    let (start, len, memory) = PIECES[index as usize % PIECES.len()];
    Place { range: Range::new(0x1000 + start, len), memory }
}

/// One of the two device buffers, or half of the first.
fn device(index: u8) -> Range {
    piece([0, 3, 1][index as usize % 3]).range
}

fn event(index: u8) -> EventId {
    EventId(u32::from(index % 3))
}

fn kind() -> impl Strategy<Value = AccessKind> {
    prop_oneof![Just(AccessKind::Read), Just(AccessKind::Write), Just(AccessKind::Update)]
}

fn step() -> impl Strategy<Value = Step> {
    let id = || any::<u8>();
    let accesses = || proptest::collection::vec((id(), kind()), 1..3);
    prop_oneof![
        12 => (id(), accesses()).prop_map(|(s, a)| Step::Kernel(s, a)),
        3 => (id(), any::<bool>(), id(), id())
            .prop_map(|(stream, asynchronous, from, to)| Step::Copy { stream, asynchronous, from, to }),
        8 => (id(), id()).prop_map(|(e, s)| Step::Record(e, s)),
        8 => (id(), id()).prop_map(|(e, s)| Step::Wait(e, s)),
        2 => id().prop_map(Step::HostWait),
        1 => id().prop_map(Step::Destroy),
        2 => (id(), any::<bool>()).prop_map(|(e, done)| Step::Query(e, done)),
        2 => id().prop_map(Step::Sync),
        1 => (id(), any::<bool>()).prop_map(|(s, done)| Step::QueryStream(s, done)),
        1 => Just(Step::SyncAll),
        2 => (id(), proptest::option::of(id())).prop_map(|(b, s)| Step::Alloc(b, s)),
        2 => (id(), proptest::option::of(id()), any::<bool>()).prop_map(|(b, s, o)| Step::Free(b, s, o)),
        3 => id().prop_map(Step::Out),
        1 => id().prop_map(Step::Back),
        3 => (id(), id()).prop_map(|(b, how)| Step::Host(b, how)),
        1 => id().prop_map(Step::HostFree),
        1 => Just(Step::JoinAndBegin),
        1 => id().prop_map(Step::Fail),
        1 => id().prop_map(Step::NewStream),
    ]
}

/// A step, on thread 1 or 2, and how long its call takes.
fn program() -> impl Strategy<Value = Vec<(Step, bool, u8)>> {
    proptest::collection::vec((step(), proptest::bool::weighted(0.25), 0..3u8), 1..60)
}

const THREADS: [ThreadId; 2] = [ThreadId(1), ThreadId(2)];

struct Writer {
    builder: Builder,
    now: Nanos,
    busy: [Nanos; 2],
    lives: u32,
    streams: [u32; 5],
}

impl Writer {
    fn call(&mut self, second: bool, long: u8, op: Op) {
        let thread = usize::from(second);
        self.now = self.now.max(self.busy[thread]);
        let (entered, left) = (self.now, self.now + [1, 4, 40][usize::from(long)]);
        self.busy[thread] = left;
        self.now += 1;
        self.builder.thread(THREADS[thread].0).call("call", op);
        self.builder.last(|call| (call.entered, call.left) = (entered, left));
    }

    fn mark(&mut self, second: bool, kind: MarkKind) {
        let thread = usize::from(second);
        self.now = self.now.max(self.busy[thread]);
        self.builder.thread(THREADS[thread].0).mark(kind);
    }

    fn name(&mut self, second: bool, range: Range) {
        self.lives += 1;
        // Names come again, as they do in a loop.
        let name = format!("b{}", self.lives % 3);
        self.mark(second, MarkKind::NameBuffer { range, name });
    }

    fn stream(&self, index: u8) -> StreamId {
        StreamId(self.streams[index as usize % STREAMS.len()])
    }

    fn new_stream(&mut self, second: bool, index: u8) {
        let index = 1 + index as usize % (STREAMS.len() - 1);
        let old = StreamId(self.streams[index]);
        self.call(second, 0, Op::StreamDestroy { stream: old });
        self.streams[index] += 10;
        let (stream, blocking) = (StreamId(self.streams[index]), STREAMS[index].1 == Some(true));
        self.call(second, 0, Op::StreamCreate { stream, blocking });
    }

    fn step(&mut self, step: &Step, second: bool, long: u8) {
        let op = match step {
            Step::Kernel(on, accesses) => Op::Launch {
                stream: self.stream(*on),
                kernel: NameId(0),
                accesses: accesses
                    .iter()
                    .map(|(index, kind)| Access { range: piece(index % 6).range, kind: *kind })
                    .collect(),
                assumed: false,
                blocks: 1,
            },
            Step::Copy { stream: on, asynchronous, from, to } => {
                let (src, dst) = (piece(*from), piece(*to));
                let stream = if *asynchronous { self.stream(*on) } else { StreamId::LEGACY };
                Op::Copy { stream, asynchronous: *asynchronous, src, dst }
            }
            Step::Record(e, on) => Op::EventRecord { event: event(*e), stream: self.stream(*on) },
            Step::Wait(e, on) => Op::StreamWait { event: event(*e), stream: self.stream(*on) },
            Step::HostWait(e) => Op::EventSync { event: event(*e) },
            Step::Destroy(e) => Op::EventDestroy { event: event(*e) },
            Step::Query(e, done) => Op::EventQuery { event: event(*e), done: *done },
            Step::Sync(on) => Op::StreamSync { stream: self.stream(*on) },
            Step::QueryStream(on, done) => {
                Op::StreamQuery { stream: self.stream(*on), done: *done }
            }
            Step::SyncAll => Op::ContextSync,
            Step::Alloc(index, on) => {
                self.name(second, device(*index));
                Op::Alloc { range: device(*index), stream: on.map(|on| self.stream(on)) }
            }
            Step::Free(index, on, stream_ordered) => Op::Free {
                range: device(*index),
                stream: on.map(|on| self.stream(on)),
                stream_ordered: *stream_ordered,
            },
            Step::Out(index) => {
                let range = device(*index);
                self.mark(second, MarkKind::BlockOut { range, stream: StreamId(1) });
                return self.name(second, range);
            }
            Step::Back(index) => {
                return self.mark(second, MarkKind::BlockBack { range: device(*index) });
            }
            Step::Host(index, how) => {
                let range = piece(4 + index % 3).range;
                let kind = match how % 5 {
                    0 | 1 => MarkKind::HostRead { range },
                    2 | 3 => MarkKind::HostWrite { range },
                    _ => MarkKind::HostDrop { range },
                };
                return self.mark(second, kind);
            }
            Step::HostFree(index) => Op::HostFree { range: piece(4 + index % 2).range },
            Step::JoinAndBegin => {
                if second {
                    return self.mark(true, MarkKind::CameBefore { other: THREADS[0] });
                }
                self.mark(false, MarkKind::ThreadJoin { child: THREADS[1] });
                return self.mark(false, MarkKind::ThreadBegin { child: THREADS[1] });
            }
            Step::NewStream(index) => return self.new_stream(second, *index),
            Step::Fail(on) => {
                self.call(second, long, Op::StreamSync { stream: self.stream(*on) });
                self.builder.last(|call| call.result = 700);
                return;
            }
        };
        self.call(second, long, op);
    }
}

fn write(program: &[(Step, bool, u8)]) -> Trace {
    let mut writer = Writer {
        builder: Builder::new(),
        now: 0,
        busy: [0; 2],
        lives: 0,
        streams: STREAMS.map(|(id, _)| id),
    };
    writer.builder.name("kernel");
    for (stream, kind) in STREAMS {
        if let Some(blocking) = kind {
            writer.call(false, 0, Op::StreamCreate { stream: StreamId(stream), blocking });
        }
    }
    for index in [0, 1] {
        writer.name(false, device(index));
    }
    writer.mark(false, MarkKind::ThreadBegin { child: THREADS[1] });
    for (step, second, long) in program {
        writer.step(step, *second, *long);
    }
    writer.builder.trace()
}

fn judged(trace: &Trace, mut each: impl FnMut(&mut Order)) -> BTreeMap<Key, Facts> {
    let mut order = Order::new();
    for item in &trace.items {
        order.item(item);
        each(&mut order);
    }
    let found = order.races().into_iter().map(|race| {
        let key = [&race.later, &race.earlier].map(|a| (a.buffer.clone(), a.kind, a.stream()));
        (key, Facts { count: race.count, reuse: race.reuse.is_some() })
    });
    found.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_the_reference(program in program()) {
        let trace = write(&program);
        prop_assert_eq!(judged(&trace, |_| {}), reference::races(&trace.items));
    }

    #[test]
    fn forgetting_what_is_over_changes_nothing(program in program()) {
        let trace = write(&program);
        prop_assert_eq!(judged(&trace, Order::prune), reference::races(&trace.items));
    }
}
