//! What the record says of each line: whether it held the host, and what nothing orders.

use std::collections::{BTreeMap, BTreeSet};

use streamlings_trace::blocks::{Reason, blocks};
use streamlings_trace::order::clock::Epoch;
use streamlings_trace::order::edges::Edges;
use streamlings_trace::order::races;
use streamlings_trace::order::report::Race;
use streamlings_trace::{
    Access, AccessKind, Call, Item, Mark, MarkKind, NameId, Op, Range, Seq, StreamId, Trace,
};

/// What a run's record says of a snippet's lines, which count from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Key {
    /// The lines that held the host, or would have had there been work, and the rule for each.
    pub holding: BTreeMap<usize, Reason>,
    /// What nothing orders, and by which two lines: each pair of lines once.
    pub races: Vec<((usize, usize), Race)>,
    /// The driver functions that each line called to enqueue something, to wait or to ask, each once.
    pub calls: BTreeMap<usize, Vec<String>>,
    /// How many races there are, counting those of two lines on different memory as two, and those that
    /// belong to no line.
    pub conflicts: usize,
    /// How many tensors were dropped too early for the next one to get their memory at once, whether or not
    /// one did.
    pub dropped_early: usize,
    /// Whether some line waits for what the host has waited for already: whether that still holds it
    /// could be argued.
    pub waits_again: bool,
}

impl Key {
    /// Reads it off a trace whose stacks are a snippet's lines.
    pub fn of(trace: &Trace) -> Key {
        let mut key = Key::default();
        for call in trace.calls().filter(|call| !is_upkeep(&call.op)) {
            let Some(frame) = trace.at(call) else { continue };
            let calls = key.calls.entry(frame.line as usize).or_default();
            let function = trace.name(call.function).to_owned();
            if !calls.contains(&function) {
                calls.push(function);
            }
        }
        for block in blocks(trace) {
            // Behind the last line the harness itself waits for the device.
            if let Some(at) = &block.at {
                key.holding.entry(at.line as usize).or_insert(block.reason);
            }
        }
        for race in races(trace) {
            if let (Some(earlier), Some(later)) = (&race.earlier.at, &race.later.at) {
                key.races.push(((earlier.line as usize, later.line as usize), race));
            }
        }
        key.waits_again = waits_again(trace);
        key.dropped_early = dropped_early(trace);
        key.conflicts = races(&without_lines(trace)).len();
        key
    }

    /// How many of the races are on memory that was handed out again.
    pub fn reuses(&self) -> usize {
        self.races.iter().filter(|(_, race)| race.reuse.is_some()).count()
    }
}

/// Whether some synchronize waits for no work but what the host knows to be over.
fn waits_again(trace: &Trace) -> bool {
    let mut edges = Edges::new();
    let mut work: Vec<Epoch> = Vec::new();
    for item in &trace.items {
        let call = match item {
            // What a query finds depends on how fast the device is.
            Item::Call(Call { op: Op::EventQuery { .. } | Op::StreamQuery { .. }, .. }) => continue,
            Item::Call(call) => call,
            _ => continue,
        };
        let awaited = match call.op {
            Op::StreamSync { stream } => Some(edges.on_stream(stream, call.thread, call.entered)),
            Op::EventSync { event } => edges.at_event(event, call.thread, call.entered),
            _ => None,
        };
        if let Some(awaited) = awaited {
            let known = edges.host(call.thread);
            if !work.iter().any(|work| awaited.covers(*work) && !known.covers(*work)) {
                return true;
            }
        }
        let epoch = edges.call(call);
        work.extend(epoch.filter(|_| call.op.is_work()));
    }
    false
}

/// How many of the blocks that lines hand back could not be used again at once by the stream that they
/// belong to: each is handed out again here on the spot, and written.
fn dropped_early(trace: &Trace) -> usize {
    let mut trace = without_lines_but(trace, |mark| matches!(mark, MarkKind::BlockBack { .. }));
    let mut homes: BTreeMap<u64, StreamId> = BTreeMap::new();
    let (mut items, mut tried) = (Vec::new(), BTreeSet::new());
    for item in trace.items {
        let mark = match &item {
            Item::Mark(mark) => mark.clone(),
            _ => {
                items.push(item);
                continue;
            }
        };
        items.push(item);
        match mark.kind {
            MarkKind::BlockOut { range, stream } => {
                homes.insert(range.start, stream);
            }
            MarkKind::BlockBack { range } if mark.stack.is_some() => {
                let Some(&stream) = homes.get(&range.start) else { continue };
                let next = |step| Seq(mark.seq.0 + step);
                let again = |step, kind| {
                    Item::Mark(Mark { seq: next(step), kind, stack: None, ..mark.clone() })
                };
                items.push(again(1, MarkKind::BlockOut { range, stream }));
                items.push(Item::Call(write(next(2), &mark, range, stream)));
                items.push(again(3, MarkKind::BlockBack { range }));
                tried.insert(next(2));
            }
            _ => {}
        }
    }
    trace.items = items;
    races(&trace).iter().filter(|race| tried.contains(&race.later.seq)).count()
}

/// A kernel that writes memory, launched where a mark is.
fn write(seq: Seq, mark: &Mark, range: Range, stream: StreamId) -> Call {
    let (kernel, function) = (NameId(u32::MAX), NameId(u32::MAX));
    let accesses = vec![Access { range, kind: AccessKind::Write }];
    let op = Op::Launch { stream, kernel, accesses, assumed: false, blocks: 1 };
    let (thread, entered, left) = (mark.thread, mark.at, mark.at);
    Call {
        seq,
        thread,
        function,
        entered,
        left,
        result: 0,
        op,
        stack: None,
        waited: None,
        ran: None,
    }
}

/// The trace with nothing known of who called: the analysis then tells races apart by the memory.
fn without_lines(trace: &Trace) -> Trace {
    without_lines_but(trace, |_| false)
}

/// The same, but for some marks.
fn without_lines_but(trace: &Trace, kept: impl Fn(&MarkKind) -> bool) -> Trace {
    let mut trace = trace.clone();
    for item in &mut trace.items {
        match item {
            Item::Call(call) => call.stack = None,
            Item::Mark(mark) if !kept(&mark.kind) => mark.stack = None,
            _ => {}
        }
    }
    trace
}

/// Whether a call makes or gives back something. Whether such a call is made depends on what is cached.
fn is_upkeep(op: &Op) -> bool {
    matches!(
        op,
        Op::StreamCreate { .. }
            | Op::StreamDestroy { .. }
            | Op::EventCreate { .. }
            | Op::EventDestroy { .. }
            | Op::Alloc { .. }
            | Op::Free { .. }
            | Op::HostAlloc { .. }
            | Op::HostFree { .. }
            | Op::HostRegister { .. }
            | Op::HostUnregister { .. }
            | Op::Other
    )
}

#[cfg(test)]
mod tests {
    use streamlings_trace::case;

    use super::*;

    fn again(program: &str) -> bool {
        waits_again(&case::trace(program).expect("it is a program"))
    }

    #[test]
    fn a_second_wait_for_the_same_is_told() {
        let busy = "stream a\nstream b\nalloc x 64\nalloc y 64\nwrite x on a\nwrite y on b\n";
        let of = |rest: &str| again(&format!("{busy}{rest}\nexpect clean"));
        assert!(!of("sync a\nsync b"));
        assert!(of("sync a\nsync a"));
        assert!(!of("sync a\nwrite x on a\nsync a"));
        assert!(of("record e on a\nwrite x on a\nsync a\nwait e"));
        assert!(of("record e on a\nwait e\nsync a"));
        assert!(!of("record e on a\nsync b\nwait e"));
        // Who waits for a stream that has waited for another one knows of both.
        assert!(of("record e on a\nwait e on b\nwrite x on b\nsync b\nwait e"));
        // A successful query tells nothing that the code does not.
        assert!(!of("query a done\nsync a"));
    }

    #[test]
    fn what_was_dropped_too_early_is_counted() {
        let early = |rest: &str| {
            let program = format!(
                "stream a\nstream side\nout b 64 for a\nwrite b on a\nrecord e on a\n\
                 wait e on side\n{rest}\nexpect clean"
            );
            let mut trace = case::trace(&program).expect("it is a program");
            // As if each mark came from a line.
            for item in &mut trace.items {
                if let Item::Mark(mark) = item {
                    mark.stack = Some(streamlings_trace::StackId(1));
                }
            }
            dropped_early(&trace)
        };
        assert_eq!(early("read b on side\nback b"), 1);
        assert_eq!(early("read b on side\nuse b on side\nback b"), 0);
        assert_eq!(early("read b on side\nrecord f on side\nwait f on a\nback b"), 0);
        assert_eq!(early("read b on a\nback b"), 0);
        assert_eq!(early("read b on side"), 0);
    }
}
