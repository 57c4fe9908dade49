//! The same question answered slowly and obviously.
//!
//! Every operation and every act of the host is a node; the set of all nodes before it is written out
//! as a set. Memory is looked at byte by byte. Every two accesses are compared.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::model::*;

pub(super) type Nodes = BTreeSet<usize>;

/// A race as both sides name it: buffer, kind and stream of the later and of the earlier access.
pub(super) type Key = [(Option<String>, AccessKind, Option<StreamId>); 2];

#[derive(Debug, PartialEq, Eq, Clone, Default)]
pub(super) struct Facts {
    /// How many later accesses ran into one.
    pub count: u64,
    /// Whether one of them is to memory handed out again while another stream than the block's own may
    /// have used it; or else, whether all are to memory handed out again.
    pub reuse: bool,
}

struct Op_ {
    node: usize,
    stream: StreamId,
    thread: ThreadId,
    left: Nanos,
    knows: Nodes,
}

struct Record {
    event: EventId,
    thread: ThreadId,
    entered: Nanos,
    left: Nanos,
    knows: Nodes,
}

#[derive(Clone)]
struct Touch {
    node: usize,
    kind: AccessKind,
    name: Option<String>,
    life: usize,
    stream: Option<StreamId>,
    /// Whether it is on the stream that the block was handed out for.
    own: bool,
}

/// What the accesses of a race are to.
#[derive(Default)]
struct Lives {
    one: bool,
    reuse: bool,
    former_on_own: bool,
}

#[derive(Default)]
struct World {
    nodes: usize,
    ops: Vec<Op_>,
    records: Vec<Record>,
    blocking: BTreeSet<StreamId>,
    hosts: HashMap<ThreadId, Nodes>,
    bytes: BTreeMap<u64, (Option<String>, usize)>,
    lives: usize,
    /// The stream that a block was handed out for, by life.
    own: HashMap<usize, StreamId>,
    touched: BTreeMap<u64, Vec<Touch>>,
    races: BTreeMap<Key, (BTreeSet<Seq>, Lives)>,
}

pub(super) fn races(items: &[Item]) -> BTreeMap<Key, Facts> {
    let mut world = World::default();
    for item in items {
        match item {
            Item::Call(call) if call.succeeded() => world.call(call),
            Item::Mark(mark) => world.mark(mark),
            _ => {}
        }
    }
    let facts = |(key, (seqs, lives)): (Key, (BTreeSet<Seq>, Lives))| {
        let reuse = lives.reuse || lives.former_on_own && !lives.one;
        (key, Facts { count: seqs.len() as u64, reuse })
    };
    world.races.into_iter().map(facts).collect()
}

impl World {
    /// All that is before a call made by `thread` and entered at `entered`, on the streams that
    /// `of` picks: what the same thread put there, and what calls put there that had returned.
    fn on(&self, of: impl Fn(StreamId) -> bool, thread: ThreadId, entered: Nanos) -> Nodes {
        let before = |op: &&Op_| of(op.stream) && (op.thread == thread || op.left <= entered);
        self.ops.iter().filter(before).flat_map(|op| op.knows.iter().copied()).collect()
    }

    fn is_blocking(&self, stream: StreamId) -> bool {
        self.blocking.contains(&stream)
    }

    /// What a wait for a stream waits for.
    fn stream(&self, stream: StreamId, call: &Call) -> Nodes {
        let null = stream == StreamId::LEGACY;
        let of = |other| other == stream || null && self.is_blocking(other);
        self.on(of, call.thread, call.entered)
    }

    /// What a wait for an event waits for: what all the records have in common that may have been
    /// the latest.
    fn event(&self, event: EventId, call: &Call) -> Nodes {
        let records: Vec<&Record> = self.records.iter().filter(|r| r.event == event).collect();
        let sure = |r: &Record| r.thread == call.thread || r.left <= call.entered;
        let outdated = |index: usize| {
            records[index + 1..].iter().any(|later| {
                let r = records[index];
                sure(later) && (r.thread == later.thread || r.left <= later.entered)
            })
        };
        let latest: Vec<&&Record> =
            records.iter().enumerate().filter(|(i, _)| !outdated(*i)).map(|(_, r)| r).collect();
        if !latest.iter().any(|r| sure(r)) {
            return Nodes::new();
        }
        let common = latest.iter().map(|r| r.knows.clone()).reduce(|one, two| &one & &two);
        common.unwrap_or_default()
    }

    /// An operation on a stream, with what it knows but for itself.
    fn before_op(&self, stream: StreamId, call: &Call) -> Nodes {
        let (null, blocking) = (stream == StreamId::LEGACY, self.is_blocking(stream));
        let of = |other| {
            other == stream
                || null && self.is_blocking(other)
                || blocking && other == StreamId::LEGACY
        };
        let mut knows = self.on(of, call.thread, call.entered);
        knows.extend(self.hosts.get(&call.thread).into_iter().flatten());
        knows
    }

    fn op(&mut self, stream: StreamId, call: &Call, extra: Nodes) -> usize {
        let mut knows = self.before_op(stream, call);
        knows.extend(extra);
        self.nodes += 1;
        let node = self.nodes;
        knows.insert(node);
        self.ops.push(Op_ { node, stream, thread: call.thread, left: call.left, knows });
        node
    }

    fn learn(&mut self, thread: ThreadId, nodes: Nodes) {
        self.hosts.entry(thread).or_default().extend(nodes);
    }

    fn call(&mut self, call: &Call) {
        let thread = call.thread;
        match &call.op {
            Op::StreamCreate { stream, blocking: true } if *stream != StreamId::LEGACY => {
                self.blocking.insert(*stream);
            }
            Op::Launch { stream, accesses, .. } => {
                let node = self.op(*stream, call, Nodes::new());
                let mut merged: BTreeMap<Range, AccessKind> = BTreeMap::new();
                for access in accesses {
                    let kind = merged.entry(access.range).or_insert(access.kind);
                    if *kind != access.kind {
                        *kind = AccessKind::Update;
                    }
                }
                for (range, kind) in merged {
                    self.touch(node, call.seq, Some(*stream), range, kind);
                }
            }
            Op::Copy { stream, asynchronous, src, dst } => {
                let before = self.before_op(*stream, call);
                let node = self.op(*stream, call, Nodes::new());
                let knows = self.ops.last().unwrap().knows.clone();
                if src.range == dst.range && src.memory != MemoryKind::Pageable {
                    self.touch(node, call.seq, Some(*stream), dst.range, AccessKind::Update);
                } else {
                    for (place, kind) in [(src, AccessKind::Read), (dst, AccessKind::Write)] {
                        if place.memory != MemoryKind::Pageable {
                            self.touch(node, call.seq, Some(*stream), place.range, kind);
                        }
                    }
                }
                use MemoryKind::{Device, Pageable, Pinned};
                match (src.memory, dst.memory) {
                    (_, Pageable) => self.learn(thread, knows),
                    (Pageable, _) if !asynchronous => self.learn(thread, before),
                    (Pinned, _) | (Device, Pinned) if !asynchronous => self.learn(thread, knows),
                    _ => {}
                }
            }
            Op::EventRecord { event, stream } => {
                self.op(*stream, call, Nodes::new());
                let knows = self.ops.last().unwrap().knows.clone();
                let (entered, left) = (call.entered, call.left);
                self.records.push(Record { event: *event, thread, entered, left, knows });
            }
            Op::StreamWait { event, stream } => {
                let bound = self.event(*event, call);
                self.op(*stream, call, bound);
            }
            Op::EventDestroy { event } => self.records.retain(|record| record.event != *event),
            Op::EventSync { event } | Op::EventQuery { event, done: true } => {
                let bound = self.event(*event, call);
                self.learn(thread, bound);
            }
            Op::StreamSync { stream } | Op::StreamQuery { stream, done: true } => {
                let known = self.stream(*stream, call);
                self.learn(thread, known);
            }
            Op::ContextSync => {
                let known = self.on(|_| true, thread, call.entered);
                self.learn(thread, known);
            }
            Op::Alloc { range, stream } => {
                self.lives += 1;
                let life = self.lives;
                for byte in range.start..range.end {
                    self.bytes.entry(byte).or_default().1 = life;
                }
                if let Some(stream) = stream {
                    let node = self.op(*stream, call, Nodes::new());
                    self.touch(node, call.seq, Some(*stream), *range, AccessKind::Write);
                }
            }
            Op::Free { range, stream, stream_ordered } => {
                match stream {
                    Some(stream) => {
                        let node = self.op(*stream, call, Nodes::new());
                        self.touch(node, call.seq, Some(*stream), *range, AccessKind::Write);
                    }
                    None if *stream_ordered => {
                        self.host_act(thread, call.seq, *range, AccessKind::Write);
                    }
                    None => {}
                }
                self.forget(*range);
            }
            Op::HostFree { range } => {
                self.host_act(thread, call.seq, *range, AccessKind::Write);
                self.forget(*range);
            }
            _ => {}
        }
    }

    fn mark(&mut self, mark: &Mark) {
        let (thread, seq) = (mark.thread, mark.seq);
        match &mark.kind {
            MarkKind::HostRead { range } => self.host_act(thread, seq, *range, AccessKind::Read),
            MarkKind::HostWrite { range } => self.host_act(thread, seq, *range, AccessKind::Write),
            MarkKind::HostDrop { range } => {
                self.host_act(thread, seq, *range, AccessKind::Write);
                self.forget(*range);
            }
            MarkKind::NameBuffer { range, name } => {
                for byte in range.start..range.end {
                    self.bytes.entry(byte).or_default().0 = Some(name.clone());
                }
            }
            MarkKind::BlockOut { range, stream } => {
                self.lives += 1;
                self.own.insert(self.lives, *stream);
                for byte in range.start..range.end {
                    self.bytes.insert(byte, (None, self.lives));
                }
            }
            MarkKind::ThreadBegin { child } => {
                let known = self.hosts.get(&thread).cloned().unwrap_or_default();
                self.learn(*child, known);
            }
            MarkKind::CameBefore { other } => {
                let known = self.hosts.get(&thread).cloned().unwrap_or_default();
                self.learn(*other, known);
            }
            MarkKind::ThreadJoin { child } => {
                let known = self.hosts.get(child).cloned().unwrap_or_default();
                self.learn(thread, known);
            }
            _ => {}
        }
    }

    fn forget(&mut self, range: Range) {
        for byte in range.start..range.end {
            self.bytes.insert(byte, (None, 0));
        }
    }

    fn host_act(&mut self, thread: ThreadId, seq: Seq, range: Range, kind: AccessKind) {
        self.nodes += 1;
        let node = self.nodes;
        self.learn(thread, Nodes::from([node]));
        self.touch_knowing(node, seq, None, range, kind, self.hosts[&thread].clone());
    }

    fn touch(
        &mut self,
        node: usize,
        seq: Seq,
        stream: Option<StreamId>,
        range: Range,
        kind: AccessKind,
    ) {
        let knows = self.ops.iter().rfind(|op| op.node == node).unwrap().knows.clone();
        self.touch_knowing(node, seq, stream, range, kind, knows);
    }

    fn touch_knowing(
        &mut self,
        node: usize,
        seq: Seq,
        stream: Option<StreamId>,
        range: Range,
        kind: AccessKind,
        knows: Nodes,
    ) {
        for byte in range.start..range.end {
            let (name, life) = self.bytes.get(&byte).cloned().unwrap_or_default();
            let own = stream.is_some() && self.own.get(&life).copied() == stream;
            let later = Touch { node, kind, name, life, stream, own };
            let before = self.touched.entry(byte).or_default();
            for earlier in before.iter() {
                let conflict = later.kind.writes() || earlier.kind.writes();
                if conflict && !knows.contains(&earlier.node) {
                    let key = [&later, earlier].map(|it| (it.name.clone(), it.kind, it.stream));
                    let race = self.races.entry(key).or_default();
                    race.0.insert(seq);
                    let again = later.life != earlier.life && later.life != 0 && earlier.life != 0;
                    race.1.one |= !again;
                    race.1.reuse |= again && !earlier.own;
                    race.1.former_on_own |= again && earlier.own;
                }
            }
            before.push(later);
        }
    }
}
