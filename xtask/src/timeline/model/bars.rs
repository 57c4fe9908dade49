//! A trace's calls and marks as bars, each on its lane.

use std::collections::BTreeMap;

use streamlings_trace::blocks::Block;
use streamlings_trace::names::Names;
use streamlings_trace::{Call, Frame, Mark, MarkKind, MemoryKind, Nanos, Op, StreamId, ThreadId};

use super::{Bar, Kind, LaneId, Place, since};

const GRADERS: &str = "The grader's own: no line of the code that it grades made this call.";

/// Makes the bars, and then what links them.
pub(super) struct Maker {
    zero: Nanos,
    /// What is added to the device's times.
    shift: i64,
    pub names: Names,
    /// Each lane's number, in the order in which they came.
    pub lanes: BTreeMap<LaneId, usize>,
    /// In the order of their calls.
    pub bars: Vec<Bar>,
}

impl Maker {
    pub fn new(zero: Nanos, names: Names, shift: i64) -> Maker {
        Maker { zero, shift, names, lanes: BTreeMap::new(), bars: Vec::new() }
    }

    pub fn lane(&mut self, id: LaneId) -> usize {
        let next = self.lanes.len();
        *self.lanes.entry(id).or_insert(next)
    }

    fn since(&self, at: Nanos) -> i64 {
        since(self.zero, at)
    }

    /// A call's bar, and its operation's.
    pub fn call(&mut self, call: &Call, block: Option<&Block>, graders: bool) {
        // What the recorder found when it began is nobody's call.
        if call.thread == ThreadId(0) {
            return;
        }
        let mut notes: Vec<String> = graders.then(|| GRADERS.to_owned()).into_iter().collect();
        let (held, kind) = match block {
            Some(block) if block.held => (true, Kind::Held),
            _ => (false, Kind::Call),
        };
        if let Some(block) = block {
            notes.push(self.block_note(block));
        }
        if !call.succeeded() {
            notes.push(format!("It returned error {}.", call.result));
        }
        let function = self.names.text(call.function).to_owned();
        let bar = Bar {
            lane: self.lane(LaneId::Thread(call.thread)),
            seq: call.seq,
            kind,
            name: function,
            start: self.since(call.entered),
            end: self.since(call.left),
            times_known: true,
            enqueued: None,
            bytes: None,
            at: place(self.names.at(call.stack)),
            graders,
            notes,
            races: Vec::new(),
        };
        self.bars.push(bar);
        let Some((stream, kind, bytes)) = operation(call) else { return };
        let (start, end) = match call.ran {
            // A clock's resolution may end an operation before it began.
            Some(ran) => {
                let start = self.since(ran.start) + self.shift;
                (start, start.max(self.since(ran.end) + self.shift))
            }
            None => (self.since(call.entered), self.since(call.left)),
        };
        let mut notes = Vec::new();
        notes.extend(graders.then(|| GRADERS.to_owned()));
        if held {
            notes.push("Its call held the host.".to_owned());
        }
        if let Op::Launch { assumed: true, .. } = call.op {
            notes.push("What it reads and writes is assumed.".to_owned());
        }
        let bar = Bar {
            lane: self.lane(LaneId::Stream(stream)),
            seq: call.seq,
            kind,
            name: self.names.operation(call).replace('`', ""),
            start,
            end,
            times_known: call.ran.is_some(),
            enqueued: Some(self.since(call.entered)),
            bytes,
            at: place(self.names.at(call.stack)),
            graders,
            notes,
            races: Vec::new(),
        };
        self.bars.push(bar);
    }

    fn block_note(&self, block: &Block) -> String {
        let verb =
            if block.held { "Held the host" } else { "Would hold the host if work was pending" };
        let behind = match &block.behind {
            Some(behind) => format!(
                " It waited for {} on {}.",
                behind.operation.replace('`', ""),
                behind.stream_name.replace('`', ""),
            ),
            None => String::new(),
        };
        let time = match block.held {
            true => format!(" for {}", crate::timeline::time(since(0, block.time))),
            false => String::new(),
        };
        format!("{verb}{time}: {}.{behind}", block.reason.sentence())
    }

    /// The bar of a mark of what the host did to memory.
    pub fn mark(&mut self, mark: &Mark) {
        let (name, range) = match &mark.kind {
            MarkKind::HostRead { range } => ("host read", range),
            MarkKind::HostWrite { range } => ("host write", range),
            MarkKind::HostDrop { range } => ("host gave memory back", range),
            _ => return,
        };
        let at = self.since(mark.at);
        let bar = Bar {
            lane: self.lane(LaneId::Thread(mark.thread)),
            seq: mark.seq,
            kind: Kind::Host,
            name: name.to_owned(),
            start: at,
            end: at,
            times_known: true,
            enqueued: None,
            bytes: Some(range.len()),
            at: place(self.names.at(mark.stack)),
            graders: false,
            notes: Vec::new(),
            races: Vec::new(),
        };
        self.bars.push(bar);
    }
}

/// The stream, the kind and the size of the operation that a call put on a stream.
pub(super) fn operation(call: &Call) -> Option<(StreamId, Kind, Option<u64>)> {
    if call.result != 0 {
        return None;
    }
    Some(match &call.op {
        Op::Launch { stream, .. } => (*stream, Kind::Kernel, None),
        Op::Memset { stream, range, .. } => (*stream, Kind::Memset, Some(range.len())),
        Op::HostFunc { stream } => (*stream, Kind::HostFunction, None),
        Op::Copy { stream, src, dst, .. } => {
            let device = [src, dst].map(|place| place.memory == MemoryKind::Device);
            let kind = match device {
                [false, true] => Kind::Upload,
                [true, false] => Kind::Download,
                _ => Kind::Copy,
            };
            (*stream, kind, Some(src.range.len()))
        }
        _ => return None,
    })
}

pub(super) fn place(frame: Option<&Frame>) -> Option<Place> {
    let frame = frame.filter(|frame| frame.line > 0)?;
    Some(Place { file: frame.file.clone()?, line: frame.line })
}
