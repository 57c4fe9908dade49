//! What is drawn of small traces.

use streamlings_trace::build::Builder;
use streamlings_trace::{EventId, MarkKind, Op};

use super::*;
use crate::timeline::sample;

fn bar<'a>(timeline: &'a Timeline, name: &str) -> (usize, &'a Bar) {
    let mut bars = timeline.bars.iter().enumerate().filter(|(_, bar)| bar.name == name);
    let found = bars.next().unwrap_or_else(|| panic!("there is no {name}"));
    assert!(bars.next().is_none(), "{name} is drawn twice");
    found
}

#[test]
fn threads_come_before_streams() {
    let timeline = Timeline::of(&sample::trace());
    let names: Vec<&str> = timeline.lanes.iter().map(|lane| lane.name.as_str()).collect();
    assert_eq!(names, ["host thread 1", "stream first", "stream <b>"]);
}

#[test]
fn operations_are_on_their_streams_and_calls_on_their_threads() {
    let timeline = Timeline::of(&sample::trace());
    let (_, fill) = bar(&timeline, "kernel fill");
    // The region begins at 8 us.
    assert_eq!((fill.lane, fill.start, fill.end), (1, 12_000, 112_000));
    assert_eq!(fill.at.as_ref().map(ToString::to_string), Some("src/lib.rs:10".to_owned()));
    assert_eq!(fill.enqueued, Some(1_000));
    let (_, record) = bar(&timeline, "cuEventRecord");
    assert_eq!((record.lane, record.kind, record.end - record.start), (0, Kind::Call, 1000));
    let (_, download) = bar(&timeline, "download");
    assert_eq!((download.kind, download.bytes), (Kind::Download, Some(2048)));
    assert!(timeline.bars.iter().all(|bar| bar.times_known));
    assert_eq!(timeline.remarks, Vec::<String>::new());
}

#[test]
fn a_wait_goes_from_the_last_operation_before_the_record_to_the_next_one() {
    let timeline = Timeline::of(&sample::trace());
    let [arrow] = &timeline.arrows[..] else { panic!("{:?}", timeline.arrows) };
    let (from, to) = (bar(&timeline, "kernel fill").0, bar(&timeline, "kernel <b>overwrite").0);
    assert_eq!(arrow.from, End { lane: 1, at: 112_000, bar: from });
    assert_eq!(arrow.to, End { lane: 2, at: 112_000, bar: to });
}

#[test]
fn a_call_that_held_the_host_says_why_and_for_how_long() {
    let timeline = Timeline::of(&sample::trace());
    let held = timeline.held();
    let [Held { first: held, times: 1, total: 241_000, .. }] = held[..] else { panic!("{held:?}") };
    assert_eq!((held.name.as_str(), held.lane), ("cuMemcpyDtoHAsync_v2", 0));
    assert_eq!(held.at.as_ref().map(|at| at.line), Some(13));
    assert!(held.notes[0].starts_with("Held the host for 230.000 us: a download"), "{held:?}");
    assert!(held.notes[0].ends_with("It waited for kernel <b>overwrite on <b>."), "{held:?}");
}

#[test]
fn a_race_names_both_of_its_bars() {
    let timeline = Timeline::of(&sample::trace());
    let [race] = &timeline.races[..] else { panic!("{:?}", timeline.races) };
    let (sum, overwrite) = (bar(&timeline, "kernel sum"), bar(&timeline, "kernel <b>overwrite"));
    assert_eq!(race.bars, Some((sum.0, overwrite.0)));
    assert_eq!((&sum.1.races[..], &overwrite.1.races[..]), (&[0][..], &[0][..]));
    assert!(race.text.contains("nothing makes (2) wait for (1)"), "{}", race.text);
}

#[test]
fn a_wait_before_any_work_begins_and_ends_at_its_calls() {
    let mut b = Builder::new();
    let (event, from, to) = (EventId(1), StreamId(1), StreamId(2));
    b.call("cuEventRecord", Op::EventRecord { event, stream: from });
    b.call("cuStreamWaitEvent", Op::StreamWait { event, stream: to });
    // On its own stream a wait orders nothing, and on an event without a record neither.
    b.call("cuStreamWaitEvent", Op::StreamWait { event, stream: from });
    b.call("cuStreamWaitEvent", Op::StreamWait { event: EventId(2), stream: to });
    let timeline = Timeline::of(&b.trace());
    let [arrow] = &timeline.arrows[..] else { panic!("{:?}", timeline.arrows) };
    assert_eq!((arrow.from.bar, arrow.from.at, arrow.from.lane), (0, 1000, 1));
    assert_eq!((arrow.to.bar, arrow.to.at, arrow.to.lane), (1, 3000, 2));
    let waits = |id: StreamId| timeline.lanes.iter().any(|l| l.id == LaneId::Stream(id));
    assert!(waits(from) && waits(to));
}

#[test]
fn what_was_there_before_is_not_drawn_and_what_is_not_known_is_said() {
    let mut b = Builder::new();
    let stream = StreamId(1);
    b.thread(0).call("cuStreamCreate", Op::StreamCreate { stream, blocking: false });
    b.thread(1).call("cuLaunchHostFunc", Op::HostFunc { stream });
    let timeline = Timeline::of(&b.trace());
    assert_eq!((timeline.lanes.len(), timeline.bars.len()), (2, 2));
    assert_eq!((timeline.bars[1].start, timeline.bars[1].times_known), (0, false));
    assert!(timeline.remarks[0].starts_with("When 1 operation ran"), "{:?}", timeline.remarks);
}

#[test]
fn regions_that_overlap_are_in_rows_of_their_own() {
    let mut b = Builder::new();
    let region = |name: &str| name.to_owned();
    b.mark(MarkKind::Begin { region: region("run") });
    b.mark(MarkKind::Begin { region: region("forward") });
    b.mark(MarkKind::End { region: region("forward") });
    b.mark(MarkKind::Begin { region: region("backward") });
    b.mark(MarkKind::End { region: region("backward") });
    b.mark(MarkKind::End { region: region("run") });
    let timeline = Timeline::of(&b.trace());
    let rows: Vec<(&str, usize, i64, i64)> =
        timeline.bands.iter().map(|b| (b.name.as_str(), b.row, b.start, b.end)).collect();
    assert_eq!(
        rows,
        [("run", 0, 0, 5000), ("forward", 1, 1000, 2000), ("backward", 1, 3000, 4000)]
    );
    assert_eq!(timeline.band_rows(), 2);
}

#[test]
fn a_long_run_is_cut_and_says_so() {
    let mut b = Builder::new();
    for _ in 0..=LIMIT {
        b.call("cuCtxSynchronize", Op::ContextSync);
    }
    let timeline = Timeline::of(&b.trace());
    assert_eq!(timeline.bars.len(), LIMIT);
    assert_eq!(timeline.remarks, ["Only the first 4000 calls are drawn."]);
}
