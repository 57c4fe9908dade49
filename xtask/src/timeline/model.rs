//! From a trace to what is drawn: lanes, bars, arrows, races, regions.
//!
//! A lane is a host thread or a stream. A bar on a thread is a call, one on a stream an operation.
//! An operation whose time on the device is not known is drawn where its call enqueued it, and says so.
//! An arrow goes from the last operation before an event's record to the first one that a stream ran
//! after its wait for that event. What the default streams' rules order has no arrow.

use std::collections::BTreeMap;

use streamlings_trace::blocks::{Block, blocks};
use streamlings_trace::names::Names;
use streamlings_trace::order::races;
use streamlings_trace::regions::regions;
use streamlings_trace::{Item, Nanos, Seq, StreamId, ThreadId, Trace};

use self::bars::Maker;
use self::clock::Clocks;
use self::own::Own;
use crate::text::counted;

mod bars;
mod clock;
mod links;
mod own;
mod readings;

/// No more calls and marks than this are drawn: a page with more is slow to read in both senses.
pub const LIMIT: usize = 4000;

/// The lane of a host thread or of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LaneId {
    /// What a host thread called.
    Thread(ThreadId),
    /// What ran on a stream.
    Stream(StreamId),
}

/// A lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// Whose it is.
    pub id: LaneId,
    /// As it stands in a sentence, without quotes.
    pub name: String,
}

/// What a bar is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A kernel.
    Kernel,
    /// A copy from host to device memory.
    Upload,
    /// A copy from device to host memory.
    Download,
    /// A copy within one kind of memory.
    Copy,
    /// A memset.
    Memset,
    /// A host function, on its stream.
    HostFunction,
    /// A call that held the host.
    Held,
    /// Any other call.
    Call,
    /// The host itself read, wrote or gave back memory.
    Host,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 9] = [
        Kind::Kernel,
        Kind::Upload,
        Kind::Download,
        Kind::Copy,
        Kind::Memset,
        Kind::HostFunction,
        Kind::Held,
        Kind::Call,
        Kind::Host,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Kernel => "kernel",
            Kind::Upload => "upload",
            Kind::Download => "download",
            Kind::Copy => "copy",
            Kind::Memset => "memset",
            Kind::HostFunction => "host function",
            Kind::Held => "held the host",
            Kind::Call => "call",
            Kind::Host => "host access",
        }
    }
}

/// A call or an operation. Times are in nanoseconds from the timeline's zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Its lane, as an index.
    pub lane: usize,
    /// The call or mark.
    pub seq: Seq,
    /// What it is.
    pub kind: Kind,
    /// What it is called, without quotes.
    pub name: String,
    /// When it began.
    pub start: i64,
    /// When it ended.
    pub end: i64,
    /// Whether those are when it ran; else they are when it was enqueued.
    pub times_known: bool,
    /// When its call was entered, if it is an operation.
    pub enqueued: Option<i64>,
    /// How much memory it copied, set, read or wrote, where that is known.
    pub bytes: Option<u64>,
    /// The learner's line.
    pub at: Option<Place>,
    /// Whether the grader made its call, from no line of the code that it grades.
    pub graders: bool,
    /// More that is to be said of it: sentences.
    pub notes: Vec<String>,
    /// The races that it is in, as indices.
    pub races: Vec<usize>,
}

/// A source line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// As the compiler wrote it.
    pub file: String,
    /// Counted from 1.
    pub line: u32,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// One end of an arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Its lane, as an index.
    pub lane: usize,
    /// When.
    pub at: i64,
    /// The bar that it belongs to: the operation, or the call if there is none.
    pub bar: usize,
}

/// A stream's wait for an event that was recorded on another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// The event as it stands in a sentence.
    pub event: String,
    /// The end of what was waited for.
    pub from: End,
    /// The start of what waited.
    pub to: End,
}

/// Two accesses that nothing orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaceLine {
    /// The whole report.
    pub text: String,
    /// The bars of the two, where they are drawn.
    pub bars: Option<(usize, usize)>,
}

/// A run through a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Band {
    /// The region.
    pub name: String,
    /// Its row, from 0: regions that overlap are in different rows.
    pub row: usize,
    /// When it began.
    pub start: i64,
    /// When it ended.
    pub end: i64,
}

/// A place at which the host was held.
#[derive(Clone, Debug, PartialEq)]
pub struct Held<'a> {
    /// The first call there, as an index.
    pub index: usize,
    /// Its bar.
    pub first: &'a Bar,
    /// How many calls held the host there.
    pub times: usize,
    /// How long all of these calls took, in nanoseconds.
    pub total: i64,
}

impl Held<'_> {
    /// Why, and how often: sentences.
    pub fn notes(&self) -> String {
        let notes = self.first.notes.join(" ");
        match self.times {
            1 => notes,
            times => {
                let total = super::time(self.total);
                format!("{times} times; the calls took {total} in all. The first: {notes}")
            }
        }
    }
}

/// What a time measured that the host read, from a pair of events or from its own clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The time and what lies in it: a clause.
    pub text: String,
    /// The learner's line that read it.
    pub at: Option<Place>,
}

/// What is drawn of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// Threads, then streams.
    pub lanes: Vec<Lane>,
    /// In the order of their calls; an operation comes after its call.
    pub bars: Vec<Bar>,
    /// In the order of the waits.
    pub arrows: Vec<Arrow>,
    /// In the order in which they were found.
    pub races: Vec<RaceLine>,
    /// In the order in which they began.
    pub bands: Vec<Band>,
    /// Times that were read: those of event pairs, then the host's around each region.
    pub readings: Vec<Reading>,
    /// What the picture does not show, or assumes: sentences.
    pub remarks: Vec<String>,
}

impl Timeline {
    /// What a trace holds. Zero is the start of the first region, or the first call.
    pub fn of(trace: &Trace) -> Timeline {
        Timeline::with(trace, &Own::of(trace))
    }

    /// The same without a source line, in any part of it: the stacks are taken out of the trace.
    pub fn without_lines(trace: &mut Trace) -> Timeline {
        let own = Own::of(trace);
        for item in &mut trace.items {
            if let Item::Stack { stack, .. } = item {
                stack.frames.clear();
                stack.learner = None;
            }
        }
        Timeline::with(trace, &own)
    }

    fn with(trace: &Trace, own: &Own) -> Timeline {
        let regions = regions(trace);
        let first = trace.items.iter().find_map(|item| match item {
            Item::Call(call) if call.thread != ThreadId(0) => Some(call.entered),
            Item::Mark(mark) if mark.thread != ThreadId(0) => Some(mark.at),
            _ => None,
        });
        let zero = regions.first().map(|region| region.entered).or(first).unwrap_or_default();
        let clocks = Clocks::of(trace);
        let mut maker = Maker::new(zero, Names::of(trace), clocks.shift());
        let blocks: BTreeMap<Seq, Block> =
            blocks(trace).into_iter().map(|block| (block.seq, block)).collect();
        let mut drawn = 0;
        for item in &trace.items {
            let before = maker.bars.len();
            match item {
                _ if drawn == LIMIT => break,
                Item::Call(call) => maker.call(call, blocks.get(&call.seq), own.has(call)),
                Item::Mark(mark) => maker.mark(mark),
                _ => {}
            }
            drawn += usize::from(maker.bars.len() > before);
        }
        let arrows = maker.arrows(trace);
        let races = maker.races(&races(trace));
        let mut timeline = Timeline {
            lanes: Vec::new(),
            bars: maker.bars,
            arrows,
            races,
            bands: Vec::new(),
            readings: readings::readings(trace, &regions),
            remarks: Vec::new(),
        };
        timeline.remarks = remarks(trace, &timeline, drawn);
        timeline.remarks.extend(clocks.remark());
        timeline.put_lanes(&maker.lanes, &maker.names);
        for region in &regions {
            let (start, end) = (since(zero, region.entered), since(zero, region.left));
            timeline.put_band(&region.name, start, end);
        }
        timeline
    }

    /// From when to when anything is drawn.
    pub fn span(&self) -> (i64, i64) {
        let bars = self.bars.iter().map(|bar| (bar.start, bar.end));
        let bands = self.bands.iter().map(|band| (band.start, band.end));
        bars.chain(bands)
            .reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
            .unwrap_or_default()
    }

    /// Where the host was held: calls of one function at one line together, in the order of the first.
    pub fn held(&self) -> Vec<Held<'_>> {
        let mut all: Vec<Held<'_>> = Vec::new();
        for (index, bar) in self.bars.iter().enumerate() {
            if bar.kind != Kind::Held {
                continue;
            }
            let alike = |held: &&mut Held<'_>| {
                let first = held.first;
                (first.lane, &first.name, &first.at) == (bar.lane, &bar.name, &bar.at)
            };
            match all.iter_mut().find(alike) {
                Some(held) => {
                    held.times += 1;
                    held.total += bar.end - bar.start;
                }
                None => {
                    let total = bar.end - bar.start;
                    all.push(Held { index, first: bar, times: 1, total });
                }
            }
        }
        all
    }

    /// How many rows its regions take.
    pub fn band_rows(&self) -> usize {
        self.bands.iter().map(|band| band.row + 1).max().unwrap_or(0)
    }

    /// Lanes were numbered as they came; now they get their order.
    fn put_lanes(&mut self, lanes: &BTreeMap<LaneId, usize>, names: &Names) {
        let mut place = vec![0; lanes.len()];
        for (index, (id, number)) in lanes.iter().enumerate() {
            place[*number] = index;
            let name = match id {
                LaneId::Thread(thread) => format!("host thread {}", thread.0),
                LaneId::Stream(stream) => match names.stream_name(*stream) {
                    Some(name) => format!("stream {name}"),
                    None => names.stream(*stream).trim_start_matches("the ").to_owned(),
                },
            };
            self.lanes.push(Lane { id: *id, name });
        }
        let ends = self.arrows.iter_mut().flat_map(|arrow| [&mut arrow.from, &mut arrow.to]);
        for lane in self.bars.iter_mut().map(|bar| &mut bar.lane).chain(ends.map(|e| &mut e.lane)) {
            *lane = place[*lane];
        }
    }

    fn put_band(&mut self, name: &str, start: i64, end: i64) {
        let taken = |row: usize| {
            let others = self.bands.iter().filter(move |band| band.row == row);
            others.into_iter().any(|band| start < band.end && band.start < end)
        };
        let row = (0..).find(|row| !taken(*row)).unwrap_or(0);
        self.bands.push(Band { name: name.to_owned(), row, start, end });
    }
}

fn since(zero: Nanos, at: Nanos) -> i64 {
    i64::try_from(i128::from(at) - i128::from(zero)).unwrap_or(i64::MAX)
}

fn remarks(trace: &Trace, timeline: &Timeline, drawn: usize) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(seed) = trace.header.seed {
        remarks.push(format!("Operations were held back by legal delays, drawn from seed {seed}."));
    }
    let unknown = timeline.bars.iter().filter(|bar| !bar.times_known).count();
    if unknown > 0 {
        remarks.push(format!(
            "When {} ran on the device is not known: drawn where the call was made.",
            counted(unknown, "operation"),
        ));
    }
    if drawn == LIMIT {
        remarks.push(format!("Only the first {LIMIT} calls are drawn."));
    }
    if trace.items.iter().any(|item| matches!(item, Item::Truncated { .. })) {
        remarks.push("The recorder ran out of room: the last calls are missing.".to_owned());
    }
    remarks
}

#[cfg(test)]
mod tests;
