//! What is drawn of small traces.

use streamlings_trace::build::Builder;
use streamlings_trace::{
    DeviceKind, EventId, Frame, MarkKind, MemoryKind, Op, Place as Memory, Range, Span, Stack,
    StackId,
};

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

#[test]
fn calls_from_no_line_of_the_graded_code_are_the_grader_s() {
    let mut trace = sample::trace();
    let mine = |timeline: &Timeline| {
        let bars = timeline.bars.iter().filter(|bar| bar.graders);
        bars.map(|bar| bar.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(mine(&Timeline::of(&trace)), Vec::<String>::new());
    let id = StackId(10_000);
    let frame = Frame { function: "case".into(), file: Some("cases.rs".into()), line: 3 };
    trace.items.insert(0, Item::Stack { id, stack: Stack { frames: vec![frame], learner: None } });
    let first = trace.items.iter_mut().find_map(|item| match item {
        Item::Call(call) if matches!(call.op, Op::Launch { .. }) => Some(call),
        _ => None,
    });
    first.expect("there are launches").stack = Some(id);
    let timeline = Timeline::of(&trace);
    assert_eq!(mine(&timeline), ["cuLaunchKernel", "kernel fill"]);
    assert!(bar(&timeline, "kernel fill").1.notes[0].starts_with("The grader's own"));

    // Also where the lines are not to be seen; and there is none anywhere.
    let hidden = Timeline::without_lines(&mut trace);
    assert_eq!(mine(&hidden), ["cuLaunchKernel", "kernel fill"]);
    let shown = format!("{hidden:?}");
    assert!(!shown.contains("src/lib.rs") && !shown.contains("cases.rs"), "{shown}");
    // Where no line is graded at all, nothing is known of it.
    assert_eq!(mine(&Timeline::of(&trace)), Vec::<String>::new());
}

#[test]
fn calls_that_held_the_host_at_one_line_are_told_together() {
    let mut b = Builder::new();
    let stream = StreamId(1);
    for line in [5, 6, 5, 5] {
        b.line(4).call("cuLaunchHostFunc", Op::HostFunc { stream });
        b.line(line).call("cuStreamSynchronize", Op::StreamSync { stream });
        b.last(|call| {
            call.left = call.entered + 50_000;
            call.waited = Some(49_000);
        });
    }
    let timeline = Timeline::of(&b.trace());
    let held: Vec<(u32, usize, i64)> = timeline
        .held()
        .iter()
        .map(|held| (held.first.at.as_ref().map_or(0, |at| at.line), held.times, held.total))
        .collect();
    assert_eq!(held, [(5, 3, 150_000), (6, 1, 50_000)]);
    assert!(timeline.held()[0].notes().starts_with("3 times; the calls took 150.000 us in all. "));
}

#[test]
fn a_reading_tells_what_lies_in_it() {
    let mut b = Builder::new();
    let (stream, side) = (StreamId(1), StreamId(2));
    let (start, end) = (EventId(1), EventId(2));
    b.mark(MarkKind::NameStream { stream: side, name: "side".into() });
    for event in [start, end] {
        b.call("cuEventCreate", Op::EventCreate { event, timing: true });
    }
    b.mark(MarkKind::Begin { region: "lap".into() });
    b.call("cuEventRecord", Op::EventRecord { event: start, stream });
    b.call("cuLaunchHostFunc", Op::HostFunc { stream });
    b.call("cuLaunchHostFunc", Op::HostFunc { stream: side });
    b.call("cuEventRecord", Op::EventRecord { event: end, stream });
    b.mark(MarkKind::End { region: "lap".into() });
    b.call("cuEventSynchronize", Op::EventSync { event: end });
    b.line(9).call("cuEventElapsedTime", Op::EventElapsed { start, end, ms: 4.1 });
    b.call("cuEventElapsedTime", Op::EventElapsed { start: end, end: start, ms: 0.0 });
    b.last(|call| call.result = 600);
    let readings = Timeline::of(&b.trace()).readings;
    let told: Vec<&str> = readings.iter().map(|reading| reading.text.as_str()).collect();
    assert_eq!(
        told,
        [
            "event 1 to event 2: 4.100 ms, around host function on stream 1; beside it, but not in it: \
             host function on side",
            "event 2 to event 1: not ready yet, around nothing; enqueued behind it: host function on \
             stream 1",
            "host clock around lap: 9.000 us, what enqueueing took, and nothing of the work",
        ]
    );
    assert_eq!(readings[0].at.as_ref().map(|at| at.line), Some(9));
}

/// A run on a GPU: two operations and a wait for both, with the device's times off by so many nanoseconds.
fn on_a_gpu(off: i64, known: [bool; 2]) -> Trace {
    let mut b = Builder::new();
    let stream = StreamId(1);
    // Enqueued at 0 and at 2 us; over at 100 us; the host knows that at 101 us.
    for (index, (start, end)) in [(5_000, 60_000), (60_000, 100_000)].into_iter().enumerate() {
        b.call("cuLaunchHostFunc", Op::HostFunc { stream });
        let at = |time: u64| time.saturating_add_signed(off);
        b.last(|call| {
            call.ran = known[index].then(|| Span { start: at(start), end: at(end) });
        });
    }
    b.call("cuStreamSynchronize", Op::StreamSync { stream });
    b.last(|call| call.left = 101_000);
    let mut trace = b.trace();
    trace.header.device.kind = DeviceKind::Gpu;
    trace
}

/// When its operations are drawn.
fn drawn(timeline: &Timeline) -> Vec<(i64, i64, bool)> {
    let operations = timeline.bars.iter().filter(|bar| bar.enqueued.is_some());
    operations.map(|bar| (bar.start, bar.end, bar.times_known)).collect()
}

#[test]
fn a_gpu_s_times_stay_as_they_are_if_they_can_be_right() {
    for off in [-4_000, 0, 900] {
        let timeline = Timeline::of(&on_a_gpu(off, [true, true]));
        let (one, other) = ((5_000, 60_000), (60_000, 100_000));
        let moved = |(start, end): (i64, i64)| (start + off, end + off, true);
        assert_eq!(drawn(&timeline), [moved(one), moved(other)]);
        assert_eq!(timeline.remarks, Vec::<String>::new(), "{off}");
    }
}

#[test]
fn a_gpu_s_clock_that_is_late_or_early_is_put_right() {
    // 8 us late: the work would have ended 7 us after the host had waited for it.
    let late = Timeline::of(&on_a_gpu(8_000, [true, true]));
    assert_eq!(drawn(&late), [(6_000, 61_000, true), (61_000, 101_000, true)]);
    assert_eq!(
        late.remarks,
        [
            "The device's times are drawn 7.000 us earlier than its clock had them, so that they fit the \
             host's waits and launches."
        ]
    );
    // 1 us early: the first operation would have begun before its call.
    let mut trace = on_a_gpu(0, [true, true]);
    for item in &mut trace.items {
        if let Item::Call(call) = item {
            (call.entered, call.left) = (call.entered + 6_000, call.left + 6_000);
        }
    }
    let early = Timeline::of(&trace);
    // Zero is the first call.
    assert_eq!(drawn(&early), [(0, 55_000, true), (55_000, 95_000, true)]);
    assert!(early.remarks[0].starts_with("The device's times are drawn 1.000 us later"));
    // The emulated device's clock is the host's.
    trace.header.device.kind = DeviceKind::Emulated;
    assert_eq!(Timeline::of(&trace).remarks, Vec::<String>::new());
}

#[test]
fn clocks_that_cannot_be_put_right_are_told_of() {
    let mut trace = on_a_gpu(8_000, [true, true]);
    let first = trace.items.iter_mut().find_map(|item| match item {
        Item::Call(call) => Some(call),
        _ => None,
    });
    first.expect("there are calls").ran = Some(Span { start: 3_000, end: 68_000 });
    let timeline = Timeline::of(&trace);
    assert_eq!(drawn(&timeline)[1], (68_000, 108_000, true));
    assert_eq!(
        timeline.remarks,
        [
            "The clocks of device and host disagree by up to 7.000 us: compare times on the device with \
             each other, and not with the host's."
        ]
    );
}

#[test]
fn only_what_a_wait_covers_bounds_a_gpu_s_clock() {
    let (stream, event) = (StreamId(1), EventId(1));
    let run = |wait: Op, result: u32| {
        let mut b = Builder::new();
        b.call("cuLaunchHostFunc", Op::HostFunc { stream });
        b.last(|call| call.ran = Some(Span { start: 9_000, end: 20_000 }));
        b.call("cuEventRecord", Op::EventRecord { event, stream });
        b.call("cuLaunchHostFunc", Op::HostFunc { stream });
        b.last(|call| call.ran = Some(Span { start: 20_000, end: 90_000 }));
        b.call("the wait", wait);
        b.last(|call| (call.left, call.result) = (18_000, result));
        let mut trace = b.trace();
        trace.header.device.kind = DeviceKind::Gpu;
        let timeline = Timeline::of(&trace);
        let at_odds = timeline.remarks.iter().any(|remark| remark.starts_with("The clocks of"));
        (drawn(&timeline)[0].1, at_odds)
    };
    // What came after the record is not waited for, nor is another stream's work.
    assert_eq!(run(Op::EventSync { event }, 0), (18_000, false));
    assert_eq!(run(Op::EventQuery { event, done: true }, 0), (18_000, false));
    assert_eq!(run(Op::StreamSync { stream: StreamId(2) }, 0), (20_000, false));
    assert_eq!(run(Op::EventQuery { event, done: false }, 600), (20_000, false));
    let place = |memory| Memory { range: Range::new(64, 64), memory };
    let (src, dst) = (place(MemoryKind::Device), place(MemoryKind::Pageable));
    let download = |stream| Op::Copy { stream, asynchronous: true, src, dst };
    assert_eq!(run(download(StreamId(2)), 0), (20_000, false));
    // All of the work was: that is more than can be made up for.
    assert_eq!(run(Op::ContextSync, 0), (20_000, true));
    assert_eq!(run(download(stream), 0), (20_000, true));
}

#[test]
fn a_gpu_s_run_with_few_times_or_none_is_drawn_all_the_same() {
    let none = Timeline::of(&on_a_gpu(0, [false, false]));
    assert_eq!(drawn(&none), [(0, 1_000, false), (2_000, 3_000, false)]);
    let told = "When 2 operations ran on the device is not known: drawn where the call was made.";
    assert_eq!(none.remarks, [told]);
    let one = Timeline::of(&on_a_gpu(8_000, [true, false]));
    assert_eq!(drawn(&one), [(13_000, 68_000, true), (2_000, 3_000, false)]);
    assert!(one.remarks[0].starts_with("When 1 operation ran"), "{:?}", one.remarks);
}

#[test]
fn a_wait_with_an_end_of_unknown_time_is_drawn_between_its_calls() {
    let (event, from, to) = (EventId(1), StreamId(1), StreamId(2));
    let mut b = Builder::new();
    b.call("cuLaunchHostFunc", Op::HostFunc { stream: from });
    b.last(|call| call.ran = Some(Span { start: 5_000, end: 90_000 }));
    b.call("cuEventRecord", Op::EventRecord { event, stream: from });
    b.call("cuStreamWaitEvent", Op::StreamWait { event, stream: to });
    b.call("cuLaunchHostFunc", Op::HostFunc { stream: to });
    let timeline = Timeline::of(&b.trace());
    let [arrow] = &timeline.arrows[..] else { panic!("{:?}", timeline.arrows) };
    assert_eq!((arrow.from.at, arrow.to.at), (3_000, 5_000));
    // It still says which two it is between.
    let names = [arrow.from, arrow.to].map(|end| timeline.bars[end.bar].kind);
    assert_eq!(names, [Kind::HostFunction, Kind::HostFunction]);
}

#[test]
fn an_operation_never_ends_before_it_begins() {
    let mut trace = on_a_gpu(0, [true, true]);
    for item in &mut trace.items {
        if let Item::Call(call) = item {
            call.ran = call.ran.map(|ran| Span { start: ran.end, end: ran.end - 500 });
        }
    }
    assert!(drawn(&Timeline::of(&trace)).iter().all(|(start, end, _)| start <= end));
}
