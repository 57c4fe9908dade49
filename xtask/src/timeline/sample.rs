//! A small run, written by hand: a wait, a race, a host block, a region, and a name that is markup.

use streamlings_trace::build::Builder;
use streamlings_trace::{
    Access, AccessKind, EventId, MarkKind, MemoryKind, Op, Place, Range, Span, StreamId, Trace,
};

use super::model::Timeline;
use super::{Figure, Picture, Run};

const FIRST: StreamId = StreamId(1);
const SIDE: StreamId = StreamId(2);

fn launch(b: &mut Builder, name: &str, stream: StreamId, kind: AccessKind, ran: (u64, u64)) {
    let kernel = b.name(name);
    let accesses = vec![Access { range: Range::new(0x1000, 64), kind }];
    b.call("cuLaunchKernel", Op::Launch { stream, kernel, accesses, assumed: false, blocks: 1 });
    b.last(|call| call.ran = Some(Span { start: ran.0, end: ran.1 }));
}

/// The trace.
///
/// On `first`, `fill` writes and `sum` reads after it; `side` waits for the event between the two, and
/// `<b>overwrite` writes there while `sum` reads.
pub fn trace() -> Trace {
    let mut b = Builder::new();
    for stream in [FIRST, SIDE] {
        b.call("cuStreamCreate", Op::StreamCreate { stream, blocking: false });
    }
    let event = EventId(1);
    b.call("cuEventCreate", Op::EventCreate { event, timing: false });
    b.mark(MarkKind::NameStream { stream: FIRST, name: "first".into() });
    b.mark(MarkKind::NameStream { stream: SIDE, name: "<b>".into() });
    b.mark(MarkKind::Begin { region: "run".into() });
    b.line(10);
    launch(&mut b, "fill", FIRST, AccessKind::Write, (20_000, 120_000));
    b.line(11).call("cuEventRecord", Op::EventRecord { event, stream: FIRST });
    launch(&mut b, "sum", FIRST, AccessKind::Read, (120_000, 220_000));
    b.line(12).call("cuStreamWaitEvent", Op::StreamWait { event, stream: SIDE });
    launch(&mut b, "<b>overwrite", SIDE, AccessKind::Write, (120_000, 200_000));
    let (src, dst) = (
        Place { range: Range::new(0x1000, 2048), memory: MemoryKind::Device },
        Place { range: Range::new(0x9000, 2048), memory: MemoryKind::Pageable },
    );
    b.line(13)
        .call("cuMemcpyDtoHAsync_v2", Op::Copy { stream: SIDE, asynchronous: true, src, dst });
    b.last(|call| {
        call.left = 260_000;
        call.waited = Some(230_000);
        call.ran = Some(Span { start: 220_000, end: 255_000 });
    });
    b.mark(MarkKind::End { region: "run".into() });
    b.trace()
}

/// Its picture, twice.
pub fn picture() -> Picture {
    let run = |whose: &str| Run {
        whose: whose.to_owned(),
        outcome: Some("raced".to_owned()),
        remarks: vec!["A remark with <i>markup</i>.".to_owned()],
        figures: vec![Figure { what: "sum took".to_owned(), value: "0.1000 ms".to_owned() }],
        device: trace().header.device,
        timeline: Timeline::of(&trace()),
    };
    Picture {
        title: "04 <sum>: 'a' & \"b\"".to_owned(),
        runs: vec![run("your run"), run("the solution's run")],
    }
}
