//! What a time really measured.
//!
//! A time from a pair of events is the device's, and covers what lies between the two records on
//! their stream (with whatever that work waited for). A time from a host clock covers what the host
//! did: where nothing inside waits for the device, that is enqueueing.
//!
//! [`pairs`] judges every cuEventElapsedTime of a trace, [`Timeline::pair`] any two events at any
//! point, [`Timeline::clock`] a bare clock around a region.

mod report;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::blocks::{Block, blocks, blocks_in};
use crate::model::{
    Call, EventId, Frame, Item, MarkKind, NameId, Nanos, Op, Seq, Span, StreamId, ThreadId, Trace,
};
use crate::names::Names;
use crate::order::clock::{Clock, Epoch};
use crate::order::edges::Edges;
use crate::regions::Region;

pub use self::report::{
    BareClock, Endpoint, Measured, NOT_READY, Pair, PairProblem, Recorded, Side, WarmUp, Work,
};

#[derive(Debug)]
struct Entry {
    work: Work,
    epoch: Epoch,
    first_launch: bool,
}

#[derive(Debug)]
struct RecordEntry {
    event: EventId,
    recorded: Recorded,
    epoch: Epoch,
    knows: Clock,
}

/// A trace laid out for questions about time.
#[derive(Debug)]
pub struct Timeline<'a> {
    trace: &'a Trace,
    names: Names,
    work: Vec<Entry>,
    records: Vec<RecordEntry>,
    created: Vec<(Seq, EventId, bool)>,
    module_loads: Vec<(Seq, Option<Frame>)>,
    /// What the reading thread knew at each cuEventElapsedTime.
    readings: FxHashMap<Seq, Clock>,
    /// What the thread knew at each `End` mark.
    ends: FxHashMap<Seq, Clock>,
    /// What each thread knew when the trace ended.
    at_last: FxHashMap<ThreadId, Clock>,
    blocks: Vec<Block>,
}

impl<'a> Timeline<'a> {
    /// Lays a trace out.
    pub fn new(trace: &'a Trace) -> Timeline<'a> {
        let mut timeline = Timeline {
            trace,
            names: Names::of(trace),
            work: Vec::new(),
            records: Vec::new(),
            created: Vec::new(),
            module_loads: Vec::new(),
            readings: FxHashMap::default(),
            ends: FxHashMap::default(),
            at_last: FxHashMap::default(),
            blocks: blocks(trace),
        };
        let mut edges = Edges::new();
        let mut launched = FxHashSet::default();
        let mut threads = FxHashSet::default();
        for item in &trace.items {
            match item {
                Item::Call(call) => {
                    threads.insert(call.thread);
                    let epoch = edges.call(call);
                    timeline.call(call, epoch, &mut edges, &mut launched);
                }
                Item::Mark(mark) => {
                    threads.insert(mark.thread);
                    edges.mark(mark);
                    if let MarkKind::End { .. } = mark.kind {
                        timeline.ends.insert(mark.seq, edges.host(mark.thread).clone());
                    }
                }
                _ => {}
            }
        }
        timeline.at_last =
            threads.into_iter().map(|thread| (thread, edges.host(thread).clone())).collect();
        timeline
    }

    fn call(
        &mut self,
        call: &Call,
        epoch: Option<Epoch>,
        edges: &mut Edges,
        launched: &mut FxHashSet<NameId>,
    ) {
        let at = self.names.at(call.stack).cloned();
        match &call.op {
            Op::EventElapsed { .. } => {
                self.readings.insert(call.seq, edges.host(call.thread).clone());
            }
            _ if call.result != 0 => {}
            Op::EventCreate { event, timing } => self.created.push((call.seq, *event, *timing)),
            Op::ModuleLoad => self.module_loads.push((call.seq, at)),
            Op::EventRecord { event, stream } => {
                let Some(epoch) = epoch else { return };
                let recorded = Recorded {
                    seq: call.seq,
                    stream: *stream,
                    stream_name: self.names.stream(*stream),
                    at,
                    passed: call.ran.map(|span| span.end),
                };
                let knows = edges.last().cloned().unwrap_or_default();
                self.records.push(RecordEntry { event: *event, recorded, epoch, knows });
            }
            op if op.is_work() => {
                let (Some(epoch), Some(stream)) = (epoch, op.stream()) else { return };
                let first_launch = match op {
                    Op::Launch { kernel, .. } => launched.insert(*kernel),
                    _ => false,
                };
                let work = Work {
                    seq: call.seq,
                    thread: call.thread,
                    operation: self.names.operation(call),
                    stream,
                    stream_name: self.names.stream(stream),
                    at,
                    ran: call.ran,
                };
                self.work.push(Entry { work, epoch, first_launch });
            }
            _ => {}
        }
    }

    /// What a cuEventElapsedTime measured; `None` if the call is not one.
    pub fn elapsed(&self, call: &Call) -> Option<Pair> {
        let Op::EventElapsed { start, end, ms } = call.op else { return None };
        let mut pair = self.pair(start, end, call.seq);
        pair.seq = Some(call.seq);
        pair.at = self.names.at(call.stack).cloned();
        pair.result = call.result;
        pair.ms = (call.result == 0).then_some(ms);
        let knows = self.readings.get(&call.seq);
        let record = self.record(end, call.seq);
        pair.waited = knows.zip(record).is_some_and(|(knows, end)| knows.covers(end.epoch));
        Some(pair)
    }

    /// What two events bracket by their latest records before a place in the order of calls. Whether
    /// the host waited is answered for the end of the trace.
    pub fn pair(&self, start: EventId, end: EventId, before: Seq) -> Pair {
        let (first, last) = (self.record(start, before), self.record(end, before));
        let mut pair = Pair {
            seq: None,
            at: None,
            result: 0,
            ms: None,
            start: self.endpoint(start, first, before),
            end: self.endpoint(end, last, before),
            bracketed: Vec::new(),
            joined: Vec::new(),
            elsewhere: Vec::new(),
            after: Vec::new(),
            waited: last
                .is_some_and(|last| self.at_last.values().any(|knows| knows.covers(last.epoch))),
            warm_ups: Vec::new(),
            device: None,
            between_records: None,
        };
        let (Some(first), Some(last)) = (first, last) else { return pair };
        let (from, to) = (first.recorded.seq, last.recorded.seq);
        for entry in self.between(from, to) {
            let work = entry.work.clone();
            if work.stream == first.recorded.stream && work.stream == last.recorded.stream {
                pair.bracketed.push(work);
            } else if last.knows.covers(entry.epoch) {
                pair.joined.push(work);
            } else {
                pair.elsewhere.push(work);
            }
        }
        pair.after = self
            .between(to, before)
            .filter(|entry| entry.work.stream == last.recorded.stream)
            .map(|entry| entry.work.clone())
            .collect();
        pair.warm_ups = self.warm_ups(from, to, |entry| last.knows.covers(entry.epoch));
        pair.device = device_time(pair.bracketed.iter().chain(&pair.joined));
        pair.between_records = first
            .recorded
            .passed
            .zip(last.recorded.passed)
            .map(|(first, last)| last.saturating_sub(first));
        pair
    }

    /// What a bare clock around a region measured.
    pub fn clock(&self, region: &Region) -> BareClock {
        let until = region.end.unwrap_or(Seq(u64::MAX));
        let inside: Vec<&Entry> = self
            .between(region.begin, until)
            .filter(|entry| entry.work.thread == region.thread)
            .collect();
        let knows = match region.end {
            Some(end) => self.ends.get(&end),
            None => self.at_last.get(&region.thread),
        };
        let known = |entry: &&&Entry| knows.is_some_and(|knows| knows.covers(entry.epoch));
        let waited_for: Vec<Seq> =
            inside.iter().filter(known).map(|entry| entry.work.seq).collect();
        let blocks: Vec<Block> = blocks_in(&self.blocks, region).cloned().collect();
        let held = blocks.iter().any(|block| block.held);
        let measured = match (inside.len(), waited_for.len()) {
            (_, 0) if held => Measured::SomethingElse,
            (0, _) => Measured::HostOnly,
            (_, 0) => Measured::EnqueueOnly,
            (all, waited) if all == waited => Measured::EnqueueAndWait,
            _ => Measured::PartOfTheWork,
        };
        BareClock {
            host: region.host(),
            device: device_time(inside.iter().map(|entry| &entry.work)),
            warm_ups: self
                .warm_ups(region.begin, until, |entry| entry.work.thread == region.thread),
            enqueued: inside.iter().map(|entry| entry.work.clone()).collect(),
            region: region.clone(),
            waited_for,
            blocks,
            measured,
        }
    }

    /// The work enqueued on one stream between two places in the order of calls.
    pub fn work_on(
        &self,
        stream: StreamId,
        after: Seq,
        before: Seq,
    ) -> impl Iterator<Item = &Work> {
        self.between(after, before).map(|entry| &entry.work).filter(move |w| w.stream == stream)
    }

    fn between(&self, after: Seq, before: Seq) -> impl Iterator<Item = &Entry> {
        let first = self.work.partition_point(|entry| entry.work.seq <= after);
        self.work[first..].iter().take_while(move |entry| entry.work.seq < before)
    }

    fn record(&self, event: EventId, before: Seq) -> Option<&RecordEntry> {
        let records = self.records.iter().rev();
        records.filter(|record| record.event == event).find(|record| record.recorded.seq < before)
    }

    fn endpoint(&self, event: EventId, record: Option<&RecordEntry>, before: Seq) -> Endpoint {
        let mut created = self.created.iter().rev();
        let created = created.find(|(seq, created, _)| *created == event && *seq < before);
        Endpoint {
            event,
            name: self.names.event(event),
            timing: created.map(|(.., timing)| *timing),
            record: record.map(|record| record.recorded.clone()),
        }
    }

    fn warm_ups(&self, from: Seq, to: Seq, counts: impl Fn(&Entry) -> bool) -> Vec<WarmUp> {
        let loads = self.module_loads.iter().filter(|(seq, _)| from < *seq && *seq < to);
        let loads = loads.map(|(seq, at)| WarmUp::ModuleLoad { seq: *seq, at: at.clone() });
        let launches = self.between(from, to).filter(|entry| entry.first_launch && counts(entry));
        let launches = launches.map(|entry| WarmUp::FirstLaunch { work: entry.work.clone() });
        loads.chain(launches).collect()
    }

    /// The trace that this lays out.
    pub fn trace(&self) -> &'a Trace {
        self.trace
    }
}

/// From the first start to the last end; `None` if there is no work or one's time is not known.
fn device_time<'a>(work: impl Iterator<Item = &'a Work>) -> Option<Nanos> {
    let mut whole: Option<Span> = None;
    for work in work {
        let ran = work.ran?;
        whole = Some(whole.map_or(ran, |whole| Span {
            start: whole.start.min(ran.start),
            end: whole.end.max(ran.end),
        }));
    }
    whole.map(Span::len)
}

/// What every cuEventElapsedTime of a trace measured, in order.
pub fn pairs(trace: &Trace) -> Vec<Pair> {
    let timeline = Timeline::new(trace);
    trace.calls().filter_map(|call| timeline.elapsed(call)).collect()
}

#[cfg(test)]
mod tests;
