//! The pages that are looked at, and what has to be on them: the same trace as a file for Perfetto, which
//! another part of `xtask trace` writes.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use streamlings_trace::build::Builder;
use streamlings_trace::format::Writer;
use streamlings_trace::{
    Access, AccessKind, EventId, Frame, Item, MarkKind, MemoryKind, Op, Place, Range, Span, Stack,
    StackId, StreamId, Trace,
};

use crate::browser::Result;

/// A page, and what it was made of.
pub struct Drawn {
    /// The page.
    pub page: PathBuf,
    /// The document for Perfetto.
    pub document: Value,
}

/// Draws a trace in a folder, once or more often, one below the other.
pub fn drawn(folder: &Path, name: &str, trace: &Trace, times: usize) -> Result<Drawn> {
    let file = folder.join(format!("{name}.trace"));
    let mut writer = Writer::new(Vec::new(), &trace.header).map_err(|error| error.to_string())?;
    for item in &trace.items {
        writer.write(item).map_err(|error| error.to_string())?;
    }
    let bytes = writer.finish().map_err(|error| error.to_string())?;
    std::fs::write(&file, bytes).map_err(|error| error.to_string())?;
    let draw = |format: &str, extension: &str| {
        let output = folder.join(format!("{name}.{extension}"));
        let said = Command::new(env!("CARGO_BIN_EXE_xtask"))
            .arg("trace")
            .args(std::iter::repeat_n(&file, times))
            .args(["--format", format, "--output"])
            .arg(&output)
            .arg("--workspace")
            .arg(folder)
            .output()
            .map_err(|error| error.to_string())?;
        let complaint = || String::from_utf8_lossy(&said.stderr).into_owned();
        if said.status.success() { Ok(output) } else { Err(complaint()) }
    };
    let page = draw("html", "html")?;
    let text = std::fs::read(draw("perfetto", "json")?).map_err(|error| error.to_string())?;
    let document = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    Ok(Drawn { page, document })
}

const MAIN: StreamId = StreamId(1);
const SIDE: StreamId = StreamId(2);
const LATE: StreamId = StreamId(3);

fn launch(
    b: &mut Builder,
    name: &str,
    stream: StreamId,
    kind: AccessKind,
    ran: Option<(u64, u64)>,
) {
    let kernel = b.name(name);
    let accesses = vec![Access { range: Range::new(0x1000, 4096), kind }];
    b.call("cuLaunchKernel", Op::Launch { stream, kernel, accesses, assumed: true, blocks: 1 });
    b.last(|call| call.ran = ran.map(|(start, end)| Span { start, end }));
}

/// Something of everything that a page can show, with names that no line can be broken in.
pub fn everything() -> Trace {
    let mut b = Builder::new();
    b.file("exercises/04_side_stream_ordering/src/a_module_whose_name_does_not_end/lib.rs");
    let ready = EventId(1);
    for (stream, name) in [(MAIN, "main"), (SIDE, "side"), (LATE, "<i>late</i>")] {
        b.call("cuStreamCreate", Op::StreamCreate { stream, blocking: false });
        b.mark(MarkKind::NameStream { stream, name: name.to_owned() });
    }
    b.mark(MarkKind::NameBuffer { range: Range::new(0x1000, 4096), name: "weights".into() });
    b.mark(MarkKind::Begin { region: "run".into() });
    b.no_line();
    launch(&mut b, "spin", MAIN, AccessKind::Read, Some((30_000, 200_000)));
    let host = Place { range: Range::new(0x9000, 4096), memory: MemoryKind::Pinned };
    let device = Place { range: Range::new(0x1000, 4096), memory: MemoryKind::Device };
    b.line(41).call(
        "cuMemcpyHtoDAsync_v2",
        Op::Copy { stream: MAIN, asynchronous: true, src: host, dst: device },
    );
    b.last(|call| call.ran = Some(Span { start: 200_000, end: 260_000 }));
    b.line(42).mark(MarkKind::HostWrite { range: host.range });
    b.mark(MarkKind::Begin { region: "a_region_with_a_name_that_is_long".into() });
    b.line(43).call("cuEventCreate", Op::EventCreate { event: ready, timing: false });
    b.call("cuEventRecord", Op::EventRecord { event: ready, stream: MAIN });
    launch(
        &mut b,
        "a_kernel_whose_name_goes_on_and_on",
        MAIN,
        AccessKind::Read,
        Some((260_000, 420_000)),
    );
    b.line(44).call("cuStreamWaitEvent", Op::StreamWait { event: ready, stream: SIDE });
    launch(&mut b, "overwrite", SIDE, AccessKind::Write, Some((260_000, 330_000)));
    let memset = Op::Memset { stream: SIDE, asynchronous: true, range: Range::new(0x4000, 64) };
    b.line(45).call("cuMemsetD8Async", memset);
    b.last(|call| call.ran = Some(Span { start: 330_000, end: 345_000 }));
    let elsewhere = Place { range: Range::new(0x5000, 4096), memory: MemoryKind::Device };
    let copy = Op::Copy { stream: SIDE, asynchronous: true, src: device, dst: elsewhere };
    b.line(46).call("cuMemcpyDtoDAsync_v2", copy);
    b.last(|call| call.ran = Some(Span { start: 345_000, end: 360_000 }));
    b.mark(MarkKind::End { region: "a_region_with_a_name_that_is_long".into() });
    b.thread(2).line(50);
    b.call("cuLaunchHostFunc", Op::HostFunc { stream: LATE });
    b.line(51).call("cuEventQuery", Op::Other);
    b.last(|call| call.result = 700);
    b.thread(1);
    let pageable = Place { range: Range::new(0xa000, 4096), memory: MemoryKind::Pageable };
    let download = Op::Copy { stream: SIDE, asynchronous: true, src: elsewhere, dst: pageable };
    b.line(61).call("cuMemcpyDtoHAsync_v2", download);
    b.last(|call| {
        call.left = 500_000;
        call.waited = Some(400_000);
        call.ran = Some(Span { start: 430_000, end: 495_000 });
    });
    b.mark(MarkKind::End { region: "run".into() });
    let mut trace = b.trace();
    graders(&mut trace, "spin");
    trace
}

/// Kernels of microseconds, one of which waits for the other, behind the grader's own of 10 ms.
pub fn behind_a_spin() -> Trace {
    let mut b = Builder::new();
    let event = EventId(1);
    b.no_line();
    launch(&mut b, "spin", MAIN, AccessKind::Read, Some((2_000, 10_000_000)));
    b.line(7);
    launch(&mut b, "fill", MAIN, AccessKind::Write, Some((10_000_000, 10_004_000)));
    b.line(8).call("cuEventCreate", Op::EventCreate { event, timing: false });
    b.call("cuEventRecord", Op::EventRecord { event, stream: MAIN });
    b.line(9).call("cuStreamWaitEvent", Op::StreamWait { event, stream: SIDE });
    launch(&mut b, "sum", SIDE, AccessKind::Read, Some((10_005_000, 10_009_000)));
    let mut trace = b.trace();
    graders(&mut trace, "spin");
    trace
}

/// Lets the grader have launched a kernel.
fn graders(trace: &mut Trace, kernel: &str) {
    let id = StackId(10_000);
    let frame = Frame { function: "case".into(), file: Some("tests/cases.rs".into()), line: 7 };
    trace.items.insert(0, Item::Stack { id, stack: Stack { frames: vec![frame], learner: None } });
    let named = trace.items.iter().find_map(|item| match item {
        Item::Name { id, text } if text == kernel => Some(*id),
        _ => None,
    });
    for item in &mut trace.items {
        if let Item::Call(call) = item
            && matches!(call.op, Op::Launch { kernel, .. } if Some(kernel) == named)
        {
            call.stack = Some(id);
        }
    }
}

/// More than a page draws: many waits, and many calls that held the host.
pub fn long() -> Trace {
    let mut b = Builder::new();
    b.line(1);
    for stream in [MAIN, SIDE] {
        b.call("cuStreamCreate", Op::StreamCreate { stream, blocking: false });
    }
    let event = EventId(1);
    b.call("cuEventCreate", Op::EventCreate { event, timing: false });
    for round in 0_u64..900 {
        let start = 20_000 + round * 10_000;
        launch(&mut b, "fill", MAIN, AccessKind::Read, Some((start, start + 4_000)));
        b.call("cuEventRecord", Op::EventRecord { event, stream: MAIN });
        b.call("cuStreamWaitEvent", Op::StreamWait { event, stream: SIDE });
        launch(&mut b, "sum", SIDE, AccessKind::Read, Some((start + 4_000, start + 9_000)));
        b.call("cuStreamSynchronize", Op::StreamSync { stream: SIDE });
        b.last(|call| {
            call.left = start + 9_500;
            call.waited = Some(5_000);
        });
    }
    b.trace()
}
