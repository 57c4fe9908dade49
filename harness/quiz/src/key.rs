//! What the record says of each line: whether it held the host, and what nothing orders.

use std::collections::BTreeMap;

use streamlings_trace::blocks::{Reason, blocks};
use streamlings_trace::order::races;
use streamlings_trace::order::report::Race;
use streamlings_trace::{Item, Op, Trace};

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
        key.conflicts = races(&without_lines(trace)).len();
        key
    }
}

/// The trace with nothing known of who called: the analysis then tells races apart by the memory.
fn without_lines(trace: &Trace) -> Trace {
    let mut trace = trace.clone();
    for item in &mut trace.items {
        match item {
            Item::Call(call) => call.stack = None,
            Item::Mark(mark) => mark.stack = None,
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
