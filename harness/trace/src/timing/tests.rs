//! Pairs and clocks, each way of getting one wrong.

use rstest::rstest;

use super::*;
use crate::build::Builder;
use crate::model::NameId as Name;
use crate::regions::regions_named;

const S: StreamId = StreamId(1);
const SIDE: StreamId = StreamId(2);
const START: EventId = EventId(1);
const END: EventId = EventId(2);

/// One step of a small program; the device runs each launch for 1 ms after the last.
#[derive(Clone, Copy)]
enum Do {
    Launch(StreamId),
    Record(EventId, StreamId),
    Wait(EventId, StreamId),
    Sync(EventId),
    SyncStream(StreamId),
    Query(EventId),
    Load,
    Begin,
    Finish,
    Elapsed(u32),
}
use Do::*;

fn run(timing: bool, warm: bool, program: &[Do]) -> Trace {
    let mut b = Builder::new();
    let kernel = b.name("matmul");
    assert_eq!(kernel, Name(0));
    for stream in [S, SIDE] {
        b.call("cuStreamCreate", Op::StreamCreate { stream, blocking: false });
    }
    for event in [START, END] {
        b.call("cuEventCreate", Op::EventCreate { event, timing });
    }
    let mut device = 0;
    let launch =
        |stream| Op::Launch { stream, kernel, accesses: vec![], assumed: false, blocks: 1 };
    if warm {
        b.call("cuLaunchKernel", launch(S)).call("cuCtxSynchronize", Op::ContextSync);
    }
    for (line, step) in (1..).zip(program) {
        b.line(line);
        match *step {
            Launch(stream) => {
                let ran = Span { start: device, end: device + 1_000_000 };
                device = ran.end;
                b.call("cuLaunchKernel", launch(stream)).last(|call| call.ran = Some(ran))
            }
            Record(event, stream) => {
                let ran = Span { start: device, end: device };
                b.call("cuEventRecord", Op::EventRecord { event, stream })
                    .last(|call| call.ran = Some(ran))
            }
            Wait(event, stream) => b.call("cuStreamWaitEvent", Op::StreamWait { event, stream }),
            Sync(event) => b.call("cuEventSynchronize", Op::EventSync { event }),
            SyncStream(stream) => b.call("cuStreamSynchronize", Op::StreamSync { stream }),
            Query(event) => b.call("cuEventQuery", Op::EventQuery { event, done: true }),
            Load => b.call("cuModuleLoadData", Op::ModuleLoad),
            Begin => b.mark(MarkKind::Begin { region: "clock".into() }),
            Finish => b.mark(MarkKind::End { region: "clock".into() }),
            Elapsed(result) => b
                .call("cuEventElapsedTime", Op::EventElapsed { start: START, end: END, ms: 1.0 })
                .last(|call| call.result = result),
        };
    }
    b.trace()
}

#[rstest]
#[case::honest(&[Record(START, S), Launch(S), Record(END, S), Sync(END), Elapsed(0)], &[])]
#[case::polled(&[Record(START, S), Launch(S), Record(END, S), Query(END), Elapsed(0)], &[])]
#[case::stream_sync(&[Record(START, S), Launch(S), Record(END, S), SyncStream(S), Elapsed(0)], &[])]
#[case::not_ready(&[Record(START, S), Launch(S), Record(END, S), Elapsed(600)], &[PairProblem::NotReady])]
#[case::luck(&[Record(START, S), Launch(S), Record(END, S), Elapsed(0)], &[PairProblem::ReadWithoutWaiting])]
#[case::wrong_sync(&[Record(START, S), Launch(S), Record(END, S), SyncStream(SIDE), Elapsed(0)], &[PairProblem::ReadWithoutWaiting])]
#[case::other_stream(
    &[Record(START, SIDE), Launch(S), Record(END, SIDE), Sync(END), Elapsed(0)],
    &[PairProblem::BracketsNothing, PairProblem::WorkElsewhere])]
#[case::before_the_launch(
    &[Record(START, S), Record(END, S), Launch(S), Sync(END), Elapsed(0)],
    &[PairProblem::BracketsNothing, PairProblem::RecordedBeforeTheWork])]
#[case::swapped(
    &[Record(END, S), Launch(S), Record(START, S), Sync(START), Elapsed(0)],
    &[PairProblem::EndBeforeStart, PairProblem::BracketsNothing, PairProblem::RecordedBeforeTheWork])]
#[case::never_recorded(&[Launch(S), Record(END, S), Sync(END), Elapsed(400)], &[PairProblem::NeverRecorded(Side::Start)])]
#[case::two_streams(
    &[Record(START, S), Launch(S), Record(END, SIDE), Sync(END), Elapsed(0)],
    &[PairProblem::DifferentStreams, PairProblem::BracketsNothing, PairProblem::WorkElsewhere])]
#[case::two_streams_joined(
    &[Record(START, S), Launch(S), Record(EventId(3), S), Wait(EventId(3), SIDE), Record(END, SIDE), Sync(END), Elapsed(0)],
    &[PairProblem::DifferentStreams])]
#[case::side_stream_joined(
    &[Record(START, S), Launch(SIDE), Record(EventId(3), SIDE), Wait(EventId(3), S), Record(END, S), Sync(END), Elapsed(0)],
    &[])]
#[case::module_inside(&[Record(START, S), Load, Launch(S), Record(END, S), Sync(END), Elapsed(0)], &[PairProblem::WarmUpInside])]
fn pair_problems(#[case] program: &[Do], #[case] expected: &[PairProblem]) {
    let found = pairs(&run(true, true, program));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].problems(), expected, "{:#?}", found[0]);
}

#[test]
fn the_first_launch_is_warm_up() {
    let program = [Record(START, S), Launch(S), Launch(S), Record(END, S), Sync(END), Elapsed(0)];
    let pair = &pairs(&run(true, false, &program))[0];
    assert_eq!(pair.problems(), [PairProblem::WarmUpInside]);
    let [WarmUp::FirstLaunch { work }] = &pair.warm_ups[..] else { panic!("{:?}", pair.warm_ups) };
    assert_eq!(work.seq, pair.bracketed[0].seq);
}

#[test]
fn an_event_without_timing_is_named() {
    let program = [Record(START, S), Launch(S), Record(END, S), Sync(END), Elapsed(400)];
    let problems = pairs(&run(false, true, &program))[0].problems();
    let both = [Side::Start, Side::End].map(PairProblem::NotForTiming);
    assert_eq!(problems, both);
}

#[test]
fn the_same_event_twice() {
    let mut trace = run(true, true, &[Record(START, S), Launch(S), Sync(START), Elapsed(0)]);
    for item in &mut trace.items {
        if let Item::Call(Call { op: Op::EventElapsed { end, .. }, .. }) = item {
            *end = START;
        }
    }
    assert_eq!(pairs(&trace)[0].problems(), [PairProblem::SameEvent]);
}

#[test]
fn tells_the_devices_own_time() {
    let program =
        [Record(START, S), Launch(S), Launch(S), Record(END, S), Launch(S), Sync(END), Elapsed(0)];
    let pair = &pairs(&run(true, true, &program))[0];
    assert_eq!(pair.device, Some(2_000_000));
    assert_eq!(pair.between_records, Some(2_000_000));
    assert_eq!((pair.bracketed.len(), pair.after.len()), (2, 1));
    assert_eq!(pair.bracketed[1].at.as_ref().unwrap().line, 3);
}

#[rstest]
#[case::bare(&[Begin, Launch(S), Finish], Measured::EnqueueOnly, 0)]
#[case::synchronized(&[Begin, Launch(S), SyncStream(S), Finish], Measured::EnqueueAndWait, 1)]
#[case::by_event(&[Begin, Launch(S), Record(END, S), Sync(END), Finish], Measured::EnqueueAndWait, 1)]
#[case::record_before(&[Begin, Record(END, S), Launch(S), Sync(END), Finish], Measured::EnqueueOnly, 0)]
#[case::part(&[Begin, Launch(S), Record(END, S), Launch(S), Sync(END), Finish], Measured::PartOfTheWork, 1)]
#[case::wrong_stream(&[Launch(SIDE), Begin, Launch(S), SyncStream(SIDE), Finish], Measured::SomethingElse, 0)]
#[case::former_work(&[Launch(S), Begin, SyncStream(S), Finish], Measured::SomethingElse, 0)]
#[case::nothing(&[Begin, Finish, Launch(S)], Measured::HostOnly, 0)]
#[case::waited_later(&[Begin, Launch(S), Finish, SyncStream(S)], Measured::EnqueueOnly, 0)]
#[case::never_ended(&[Begin, Launch(S), SyncStream(S)], Measured::EnqueueAndWait, 1)]
fn clocks(#[case] program: &[Do], #[case] expected: Measured, #[case] waited_for: usize) {
    let trace = run(true, true, program);
    let region = &regions_named(&trace, "clock")[0];
    let clock = Timeline::new(&trace).clock(region);
    assert_eq!(clock.measured, expected, "{clock:#?}");
    assert_eq!(clock.waited_for.len(), waited_for);
    assert!(clock.warm_ups.is_empty());
}

#[test]
fn a_clock_tells_its_warm_up() {
    let trace = run(true, false, &[Begin, Load, Launch(S), SyncStream(S), Finish]);
    let clock = Timeline::new(&trace).clock(&regions_named(&trace, "clock")[0]);
    assert_eq!(clock.warm_ups.len(), 2);
    assert_eq!(clock.device, Some(1_000_000));
    assert_eq!(clock.host, trace.marks().last().unwrap().at - trace.marks().next().unwrap().at);
}
