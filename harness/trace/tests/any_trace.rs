//! Any trace gets an answer, however little sense it makes: no analysis panics.

use proptest::prelude::*;

use streamlings_trace::{
    Access, AccessKind, Call, Device, DeviceKind, EventId, Frame, Header, Item, Mark, MarkKind,
    MemoryKind, NameId, Op, Place, Range, Seq, Span, Stack, StackId, StreamId, ThreadId, Trace,
    blocks, order, overlap, regions, timing,
};

/// Mostly small, so that things meet; sometimes at the edge of what there is.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..4u64, 2 => 0..5000u64, 1 => Just(u64::MAX), 1 => any::<u64>()]
}

fn id() -> impl Strategy<Value = u32> {
    number().prop_map(|n| u32::try_from(n).unwrap_or(u32::MAX))
}

fn range() -> impl Strategy<Value = Range> {
    (number(), number()).prop_map(|(start, end)| Range { start, end })
}

fn place() -> impl Strategy<Value = Place> {
    let memory = [MemoryKind::Device, MemoryKind::Pinned, MemoryKind::Pageable];
    (range(), proptest::sample::select(memory.to_vec()))
        .prop_map(|(range, memory)| Place { range, memory })
}

fn access() -> impl Strategy<Value = Access> {
    let kinds = vec![AccessKind::Read, AccessKind::Write, AccessKind::Update];
    (range(), proptest::sample::select(kinds)).prop_map(|(range, kind)| Access { range, kind })
}

fn op() -> impl Strategy<Value = Op> {
    let stream = || id().prop_map(StreamId);
    let event = || id().prop_map(EventId);
    let flag = any::<bool>;
    prop_oneof![
        (stream(), flag()).prop_map(|(stream, blocking)| Op::StreamCreate { stream, blocking }),
        stream().prop_map(|stream| Op::StreamDestroy { stream }),
        (stream(), id(), proptest::collection::vec(access(), 0..4), flag()).prop_map(
            |(stream, kernel, accesses, assumed)| {
                Op::Launch { stream, kernel: NameId(kernel), accesses, assumed, blocks: 0 }
            }
        ),
        (stream(), flag(), place(), place()).prop_map(|(stream, asynchronous, src, dst)| {
            Op::Copy { stream, asynchronous, src, dst }
        }),
        (stream(), flag(), range()).prop_map(|(stream, asynchronous, range)| Op::Memset {
            stream,
            asynchronous,
            range
        }),
        stream().prop_map(|stream| Op::HostFunc { stream }),
        (event(), flag()).prop_map(|(event, timing)| Op::EventCreate { event, timing }),
        event().prop_map(|event| Op::EventDestroy { event }),
        (event(), stream()).prop_map(|(event, stream)| Op::EventRecord { event, stream }),
        (event(), stream()).prop_map(|(event, stream)| Op::StreamWait { event, stream }),
        event().prop_map(|event| Op::EventSync { event }),
        (event(), flag()).prop_map(|(event, done)| Op::EventQuery { event, done }),
        (event(), event(), any::<f32>()).prop_map(|(start, end, ms)| Op::EventElapsed {
            start,
            end,
            ms
        }),
        stream().prop_map(|stream| Op::StreamSync { stream }),
        (stream(), flag()).prop_map(|(stream, done)| Op::StreamQuery { stream, done }),
        Just(Op::ContextSync),
        (range(), proptest::option::of(stream()))
            .prop_map(|(range, stream)| Op::Alloc { range, stream }),
        (range(), proptest::option::of(stream()), flag()).prop_map(|(range, stream, ordered)| {
            Op::Free { range, stream, stream_ordered: ordered }
        }),
        range().prop_map(|range| Op::HostAlloc { range }),
        range().prop_map(|range| Op::HostFree { range }),
        range().prop_map(|range| Op::HostRegister { range }),
        range().prop_map(|range| Op::HostUnregister { range }),
        Just(Op::ModuleLoad),
        Just(Op::ModuleUnload),
        Just(Op::Other),
    ]
}

fn mark() -> impl Strategy<Value = MarkKind> {
    let name = || id().prop_map(|n| format!("n{n}"));
    let stream = || id().prop_map(StreamId);
    prop_oneof![
        name().prop_map(|region| MarkKind::Begin { region }),
        name().prop_map(|region| MarkKind::End { region }),
        (stream(), name()).prop_map(|(stream, name)| MarkKind::NameStream { stream, name }),
        (range(), name()).prop_map(|(range, name)| MarkKind::NameBuffer { range, name }),
        (id(), name()).prop_map(|(e, name)| MarkKind::NameEvent { event: EventId(e), name }),
        range().prop_map(|range| MarkKind::HostRead { range }),
        range().prop_map(|range| MarkKind::HostWrite { range }),
        range().prop_map(|range| MarkKind::HostDrop { range }),
        (range(), stream()).prop_map(|(range, stream)| MarkKind::BlockOut { range, stream }),
        range().prop_map(|range| MarkKind::BlockBack { range }),
        (range(), stream()).prop_map(|(range, stream)| MarkKind::BlockUse { range, stream }),
        id().prop_map(|child| MarkKind::ThreadBegin { child: ThreadId(child) }),
        id().prop_map(|child| MarkKind::ThreadJoin { child: ThreadId(child) }),
        id().prop_map(|other| MarkKind::CameBefore { other: ThreadId(other) }),
    ]
}

fn item() -> impl Strategy<Value = Item> {
    let stack = || proptest::option::of(id().prop_map(StackId));
    let span = (number(), number()).prop_map(|(start, end)| Span { start, end });
    let times = (number(), number(), proptest::option::of(number()), proptest::option::of(span));
    let result = prop_oneof![4 => Just(0u32), 1 => Just(600), 1 => any::<u32>()];
    let call = (number(), id(), times, result, op(), stack()).prop_map(
        |(seq, thread, (entered, left, waited, ran), result, op, stack)| {
            let (seq, thread, function) = (Seq(seq), ThreadId(thread), NameId(0));
            Item::Call(Call {
                seq,
                thread,
                function,
                entered,
                left,
                result,
                op,
                stack,
                waited,
                ran,
            })
        },
    );
    let marked =
        (number(), id(), number(), mark(), stack()).prop_map(|(seq, thread, at, kind, stack)| {
            Item::Mark(Mark { seq: Seq(seq), thread: ThreadId(thread), at, kind, stack })
        });
    let frame = (any::<bool>(), id(), id()).prop_map(|(file, line, learner)| {
        let file = file.then(|| "src/lib.rs".to_owned());
        Stack { frames: vec![Frame { function: "f".into(), file, line }], learner: Some(learner) }
    });
    prop_oneof![
        12 => call,
        4 => marked,
        1 => (id(), frame).prop_map(|(id, stack)| Item::Stack { id: StackId(id), stack }),
        1 => id().prop_map(|id| Item::Name { id: NameId(id), text: "name".into() }),
        1 => number().prop_map(|at| Item::Truncated { at }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn gets_an_answer(items in proptest::collection::vec(item(), 0..80)) {
        let device = Device { kind: DeviceKind::Gpu, name: String::new() };
        let trace = Trace { header: Header { device, seed: None }, items };
        for race in order::races(&trace) {
            prop_assert!(race.count > 0);
            prop_assert!(!race.to_string().is_empty());
            prop_assert!(race.earlier.kind.writes() || race.later.kind.writes());
        }
        let found = blocks::blocks(&trace);
        prop_assert!(found.iter().all(|block| block.held == (block.pending > 0) || block.behind.is_none()));
        let timeline = timing::Timeline::new(&trace);
        for call in trace.calls() {
            if let Some(pair) = timeline.elapsed(call) {
                prop_assert!(pair.problems().len() < 20);
            }
        }
        let all = overlap::overlap(&trace);
        prop_assert!(all.both <= all.possible());
        for region in regions::regions(&trace) {
            let clock = timeline.clock(&region);
            prop_assert!(clock.waited_for.len() <= clock.enqueued.len());
            prop_assert!(overlap::overlap_in(&trace, &region).copies.len() <= all.copies.len());
        }
    }

    #[test]
    fn any_text_is_a_case_or_an_error(text in "[a-z0-9 \n:+/,.\\[\\]#]{0,80}") {
        let answer = streamlings_trace::case::judge(&text);
        prop_assert!(answer.is_ok() || answer.is_err_and(|error| error.line > 0 && error.column > 0));
    }
}
