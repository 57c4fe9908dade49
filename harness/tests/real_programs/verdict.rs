//! What the analyses find in a program, in words that can be compared.
//!
//! | found | said as |
//! |---|---|
//! | a race | `race on BUFFER: ACCESS, then ACCESS: EDGE that is missing`, and whether memory was reused |
//! | a call in a watched region that holds the host | `block: REASON on STREAM [mark]` |
//! | what a bare clock around the region `timed` measured | `clock: WHAT, of N operations` |
//! | what a pair of events measured | `events: N operations`, and the problems |

use streamlings::trace::blocks::{Block, blocks, blocks_in};
use streamlings::trace::order::races;
use streamlings::trace::order::report::{Access, Race, What};
use streamlings::trace::regions::{regions, regions_named};
use streamlings::trace::timing::Timeline;
use streamlings::trace::{AccessKind, Call, Item, ThreadId, Trace};

use crate::programs;

/// All of it, sorted.
pub fn of(trace: &Trace) -> Vec<String> {
    let mut lines: Vec<String> = races(trace).iter().map(race).collect();
    let main = trace.calls().map(|call| call.thread).find(|thread| *thread != ThreadId(0));
    lines.extend(watched_blocks(trace).iter().map(|found| block(found, main)));
    let timeline = Timeline::new(trace);
    for region in regions_named(trace, "timed") {
        let clock = timeline.clock(&region);
        lines.push(format!("clock: {:?}, of {} operations", clock.measured, clock.enqueued.len()));
    }
    for pair in trace.calls().filter_map(|call| timeline.elapsed(call)) {
        let mut line = format!("events: {} operations", pair.bracketed.len());
        for problem in pair.problems() {
            line += &format!(", {problem:?}");
        }
        lines.push(line);
    }
    lines.sort();
    lines
}

/// The calls in watched regions that hold the host.
pub fn watched_blocks(trace: &Trace) -> Vec<Block> {
    let blocks = blocks(trace);
    let regions = regions(trace);
    regions.iter().flat_map(|region| blocks_in(&blocks, region).cloned()).collect()
}

/// The calls at a line's mark that put work on a stream.
pub fn work_at<'a>(trace: &'a Trace, mark: &str) -> Vec<&'a Call> {
    let frame = |call: &Call| {
        trace.items.iter().find_map(|item| match item {
            Item::Stack { id, stack } if Some(*id) == call.stack => stack.at(),
            _ => None,
        })
    };
    let wanted = format!("[{mark}]");
    trace
        .calls()
        .filter(|call| call.op.is_work() && programs::mark(frame(call)) == wanted)
        .collect()
}

fn race(race: &Race) -> String {
    let buffer = race.buffer.as_deref().unwrap_or("unnamed memory");
    let (earlier, later) = (access(&race.earlier), access(&race.later));
    let reuse = if race.reuse.is_some() { ", memory reused" } else { "" };
    format!("race on {buffer}: {earlier}, then {later}: {:?}{reuse}", race.missing)
}

fn access(access: &Access) -> String {
    let what = match &access.what {
        What::Kernel(name) => name.as_str(),
        What::Upload => "upload",
        What::Download => "download",
        What::Copy => "copy",
        What::Memset => "memset",
        What::Alloc => "alloc",
        What::Free => "free",
        What::Host => "code",
    };
    let did = match (&access.what, access.kind) {
        (What::Alloc | What::Free, _) => "",
        (_, AccessKind::Read) => " reads",
        (_, AccessKind::Write) => " writes",
        (_, AccessKind::Update) => " updates",
    };
    format!("{what}{did} on {} {}", plain(&access.actor), programs::mark(access.at.as_ref()))
}

fn block(block: &Block, main: Option<ThreadId>) -> String {
    let on = block.stream_name.as_deref().map_or("the device", plain);
    let thread = if Some(block.thread) == main { "" } else { " in another thread" };
    format!("block: {:?} on {on} {}{thread}", block.reason, programs::mark(block.at.as_ref()))
}

fn plain(name: &str) -> &str {
    name.trim_matches('`')
}
