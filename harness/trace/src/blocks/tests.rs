//! The table of the module's header, row by row, on a GPU trace and on one of the emulated device.

use rstest::rstest;

use super::*;
use crate::build::Builder;
use crate::model::{EventId, MarkKind, NameId, Place, Range, Span};
use crate::regions::regions_named;

const NB: StreamId = StreamId(1);
const OTHER: StreamId = StreamId(2);
const BLOCKING: StreamId = StreamId(3);
const E: EventId = EventId(1);

fn place(memory: MemoryKind, bytes: u64) -> Place {
    let base = match memory {
        MemoryKind::Device => 0x1_0000_0000,
        MemoryKind::Pinned => 0x2_0000_0000,
        MemoryKind::Pageable => 0x3_0000_0000,
    };
    Place { range: Range::new(base, bytes), memory }
}

fn copy(stream: StreamId, asynchronous: bool, from: MemoryKind, to: MemoryKind, bytes: u64) -> Op {
    Op::Copy { stream, asynchronous, src: place(from, bytes), dst: place(to, bytes) }
}

fn launch(stream: StreamId) -> Op {
    Op::Launch { stream, kernel: NameId(0), accesses: vec![], assumed: false, blocks: 1 }
}

fn start() -> Builder {
    let mut b = Builder::new();
    b.name("spin");
    for (stream, blocking) in [(NB, false), (OTHER, false), (BLOCKING, true)] {
        b.call("cuStreamCreate", Op::StreamCreate { stream, blocking });
    }
    b.mark(MarkKind::NameStream { stream: NB, name: "side".into() });
    b
}

fn free(stream_ordered: bool) -> Op {
    Op::Free { range: Range::new(64, 64), stream: None, stream_ordered }
}

const MIB: u64 = 1 << 20;
use MemoryKind::{Device, Pageable, Pinned};

/// `behind`: held behind a launch on these streams; on the others it only would have held.
#[rstest]
#[case::stream_sync(Op::StreamSync { stream: NB }, Reason::StreamSync, &[NB])]
#[case::null_sync(Op::StreamSync { stream: StreamId::LEGACY }, Reason::StreamSync, &[StreamId::LEGACY, BLOCKING])]
#[case::context_sync(Op::ContextSync, Reason::ContextSync, &[NB, OTHER, BLOCKING, StreamId::LEGACY])]
#[case::download(copy(NB, true, Device, Pageable, 4), Reason::PageableDownload, &[NB])]
#[case::download_blocking(copy(BLOCKING, true, Device, Pageable, 4), Reason::PageableDownload, &[BLOCKING, StreamId::LEGACY])]
#[case::large_upload(copy(NB, true, Pageable, Device, 2 * MIB + 1), Reason::LargePageableUpload, &[NB])]
#[case::sync_upload(copy(StreamId::LEGACY, false, Pageable, Device, 4), Reason::SynchronousCopy, &[StreamId::LEGACY, BLOCKING])]
#[case::sync_download(copy(StreamId::LEGACY, false, Device, Pinned, 4), Reason::SynchronousCopy, &[StreamId::LEGACY, BLOCKING])]
#[case::mem_free(free(false), Reason::MemFree, &[NB, OTHER, BLOCKING, StreamId::LEGACY])]
#[case::host_free(Op::HostFree { range: Range::new(0, 1) }, Reason::HostFree, &[NB, OTHER, BLOCKING, StreamId::LEGACY])]
#[case::unregister(Op::HostUnregister { range: Range::new(0, 1) }, Reason::HostUnregister, &[NB, OTHER, BLOCKING, StreamId::LEGACY])]
#[case::module_load(Op::ModuleLoad, Reason::ModuleLoad, &[NB, OTHER, BLOCKING, StreamId::LEGACY])]
#[case::module_unload(Op::ModuleUnload, Reason::ModuleUnload, &[NB, OTHER, BLOCKING, StreamId::LEGACY])]
fn holds(#[case] op: Op, #[case] reason: Reason, #[case] behind: &[StreamId]) {
    for busy in [NB, OTHER, BLOCKING, StreamId::LEGACY] {
        let mut b = start();
        b.line(10).call("cuLaunchKernel", launch(busy));
        let work = b.seq();
        b.line(11).call("call", op.clone());
        let found = blocks(&b.trace());
        assert_eq!(found.len(), 1, "{found:?}");
        let block = &found[0];
        assert_eq!((block.seq, block.reason), (b.seq(), reason));
        assert_eq!(block.at.as_ref().unwrap().line, 11);
        assert_eq!(block.held, behind.contains(&busy), "behind {busy:?}");
        let named = block.behind.as_ref().map(|b| (b.seq, b.stream, b.operation.as_str()));
        assert_eq!(named, block.held.then_some((work, busy, "kernel `spin`")));
    }
}

#[rstest]
#[case::small_upload(copy(NB, true, Pageable, Device, 2 * MIB))]
#[case::pinned_upload(copy(NB, true, Pinned, Device, 64 * MIB))]
#[case::pinned_download(copy(NB, true, Device, Pinned, 64 * MIB))]
#[case::device_copy(copy(NB, true, Device, Device, 64 * MIB))]
#[case::device_copy_without_stream(copy(StreamId::LEGACY, false, Device, Device, 4))]
#[case::memset(Op::Memset { stream: StreamId::LEGACY, asynchronous: false, range: Range::new(0, 4) })]
#[case::launch(launch(NB))]
#[case::host_func(Op::HostFunc { stream: NB })]
#[case::alloc(Op::Alloc { range: Range::new(0, 64), stream: None })]
#[case::alloc_async(Op::Alloc { range: Range::new(0, 64), stream: Some(NB) })]
#[case::free_async(Op::Free { range: Range::new(0, 64), stream: Some(NB), stream_ordered: true })]
#[case::free_of_stream_ordered(free(true))]
#[case::host_alloc(Op::HostAlloc { range: Range::new(0, 64) })]
#[case::stream_destroy(Op::StreamDestroy { stream: NB })]
#[case::record(Op::EventRecord { event: E, stream: NB })]
#[case::wait(Op::StreamWait { event: E, stream: NB })]
#[case::never_recorded(Op::EventSync { event: E })]
#[case::query(Op::EventQuery { event: E, done: false })]
#[case::stream_query(Op::StreamQuery { stream: NB, done: false })]
fn does_not_hold(#[case] op: Op) {
    let mut b = start();
    b.call("cuLaunchKernel", launch(NB)).call("cuLaunchKernel", launch(BLOCKING)).call("call", op);
    assert_eq!(blocks(&b.trace()), []);
}

#[test]
fn a_failed_call_is_none_and_enqueues_nothing() {
    let mut b = start();
    b.call("cuLaunchKernel", launch(NB)).last(|call| call.result = 700);
    b.call("cuMemFree", free(false)).last(|call| call.result = 700);
    assert_eq!(blocks(&b.trace()), []);
    b.call("cuStreamSynchronize", Op::StreamSync { stream: NB });
    let found = blocks(&b.trace());
    assert_eq!((found.len(), found[0].held), (1, false));
}

#[test]
fn an_event_holds_up_to_its_record_and_what_that_waited_for() {
    let mut b = start();
    b.call("cuLaunchKernel", launch(OTHER));
    let other = b.seq();
    b.call("cuEventRecord", Op::EventRecord { event: EventId(2), stream: OTHER });
    b.call("cuStreamWaitEvent", Op::StreamWait { event: EventId(2), stream: NB });
    b.call("cuEventRecord", Op::EventRecord { event: E, stream: NB });
    b.call("cuLaunchKernel", launch(NB));
    b.call("cuEventSynchronize", Op::EventSync { event: E });
    b.call("cuStreamSynchronize", Op::StreamSync { stream: OTHER });
    let found = blocks(&b.trace());
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].behind.as_ref().unwrap().seq, other);
    assert_eq!(found[0].pending, 1);
    assert!(!found[1].held, "waiting for the event has shown that the other stream is idle");
}

#[rstest]
#[case::sync(Op::StreamSync { stream: NB })]
#[case::query(Op::StreamQuery { stream: NB, done: true })]
#[case::download(copy(NB, true, Device, Pageable, 4))]
#[case::mem_free(free(false))]
fn what_was_waited_for_is_over(#[case] waits: Op) {
    let mut b = start();
    b.call("cuLaunchKernel", launch(NB)).call("waits", waits);
    b.call("cuCtxSynchronize", Op::ContextSync);
    let found = blocks(&b.trace());
    assert!(!found.last().unwrap().held, "{found:?}");
}

#[test]
fn a_pending_query_shows_nothing() {
    let mut b = start();
    b.call("cuLaunchKernel", launch(NB));
    b.call("cuStreamQuery", Op::StreamQuery { stream: NB, done: false });
    b.last(|call| call.result = 600);
    b.call("cuCtxSynchronize", Op::ContextSync);
    assert!(blocks(&b.trace())[0].held);
}

#[test]
fn the_third_mebibyte_finds_staging_full_and_a_sync_empties_it() {
    let mut b = start();
    b.call("cuLaunchKernel", launch(NB));
    for _ in 0..3 {
        b.call("cuMemcpyHtoDAsync", copy(NB, true, Pageable, Device, MIB));
    }
    let third = b.seq();
    let found = blocks(&b.trace());
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].seq, found[0].reason, found[0].held), (third, Reason::StagingFull, true));
    b.call("cuStreamSynchronize", Op::StreamSync { stream: NB });
    for _ in 0..2 {
        b.call("cuMemcpyHtoDAsync", copy(NB, true, Pageable, Device, MIB));
    }
    assert_eq!(blocks(&b.trace()).len(), 2, "only the sync is new");
}

#[test]
fn the_device_says_how_long() {
    let mut b = start();
    b.call("cuLaunchKernel", launch(NB)).last(|c| c.ran = Some(Span { start: 0, end: 900 }));
    b.call("cuStreamSynchronize", Op::StreamSync { stream: NB });
    b.last(|call| call.waited = Some(750));
    let found = blocks(&b.trace());
    assert_eq!((found[0].time, found[0].time_is_wait, found[0].held), (750, true, true));
    b.last(|call| call.waited = Some(0));
    assert!(!blocks(&b.trace())[0].held, "it was over by itself");
}

#[test]
fn a_download_that_waits_for_itself_alone_is_behind_nothing() {
    let mut b = start();
    b.call("cuLaunchKernel", launch(NB)).last(|c| c.ran = Some(Span { start: 0, end: 900 }));
    b.call("cuMemcpyDtoHAsync", copy(NB, true, Device, Pageable, 4));
    b.last(|call| (call.waited, call.ran) = (Some(50), Some(Span { start: 5000, end: 5050 })));
    let found = blocks(&b.trace());
    assert_eq!((found[0].held, found[0].behind.as_ref()), (false, None));
    b.last(|call| call.ran = Some(Span { start: 900, end: 950 }));
    assert!(blocks(&b.trace())[0].held);
}

/// As cudarc does it: an event record between the kernel and the copy takes the device a moment.
#[test]
fn a_copy_that_begins_a_moment_after_the_work_ahead_of_it_was_behind_it() {
    let mut b = start();
    b.call("cuLaunchKernel", launch(NB)).last(|c| c.ran = Some(Span { start: 0, end: 90_000 }));
    b.call("cuEventRecord", Op::EventRecord { event: E, stream: NB });
    b.call("cuMemcpyDtoHAsync_v2", copy(NB, true, Device, Pageable, 4));
    let ran = Span { start: 91_300, end: 93_800 };
    b.last(|call| (call.waited, call.ran) = (Some(80_000), Some(ran)));
    let found = blocks(&b.trace());
    assert!(found[0].held, "{found:?}");
    assert_eq!(found[0].pending, 1);
}

#[test]
fn what_ended_before_something_that_is_over_is_over() {
    let mut b = start();
    b.call("cuLaunchKernel", launch(OTHER)).last(|c| c.ran = Some(Span { start: 0, end: 100 }));
    b.call("cuLaunchKernel", launch(NB)).last(|c| c.ran = Some(Span { start: 0, end: 200 }));
    b.call("cuStreamSynchronize", Op::StreamSync { stream: NB });
    b.call("cuStreamSynchronize", Op::StreamSync { stream: OTHER });
    let held: Vec<bool> = blocks(&b.trace()).iter().map(|block| block.held).collect();
    assert_eq!(held, [true, false]);
}

#[rstest]
#[case::gpu_fast(None, 1_000, false)]
#[case::gpu_slow(None, 40_000_000, true)]
#[case::emulated_room(Some(0), 1_000, false)]
#[case::emulated_full(Some(40_000_000), 40_000_000, true)]
fn launch_1023_behind_a_running_one_finds_the_queue_full(
    #[case] waited: Option<Nanos>,
    #[case] took: Nanos,
    #[case] full: bool,
) {
    let mut b = start();
    for _ in 0..QUEUE_DEPTH {
        b.call("cuLaunchKernel", launch(NB)).last(|call| call.waited = waited.map(|_| 0));
    }
    assert_eq!(blocks(&b.trace()), []);
    b.call("cuLaunchKernel", launch(NB));
    b.last(|call| (call.waited, call.left) = (waited, call.entered + took));
    let found = blocks(&b.trace());
    let reasons: Vec<Reason> = found.iter().map(|block| block.reason).collect();
    assert_eq!(reasons, if full { vec![Reason::QueueFull] } else { vec![] });
}

#[test]
fn a_launch_that_waits_with_room_in_the_queue_is_a_blocking_launch() {
    let mut b = start();
    b.call("cuLaunchKernel", launch(NB)).last(|call| call.waited = Some(5_000));
    let found = blocks(&b.trace());
    assert_eq!((found[0].reason, found[0].held), (Reason::BlockingLaunch, true));
}

#[rstest]
#[case::small_upload(copy(NB, true, Pageable, Device, 64), Reason::StagingFull)]
#[case::pinned_upload(copy(NB, true, Pinned, Device, 64), Reason::Unexplained)]
#[case::alloc(Op::Alloc { range: Range::new(0, 64), stream: None }, Reason::Unexplained)]
fn a_wait_that_the_device_reports_is_never_passed_over(#[case] op: Op, #[case] reason: Reason) {
    let mut b = start();
    b.call("cuLaunchKernel", launch(NB)).call("call", op).last(|call| call.waited = Some(5_000));
    let found = blocks(&b.trace());
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].reason, found[0].held), (reason, true));
}

#[test]
fn a_region_has_the_calls_of_its_thread_between_its_marks() {
    let mut b = start();
    let sync = || Op::StreamSync { stream: NB };
    b.call("cuStreamSynchronize", sync());
    b.mark(MarkKind::Begin { region: "loop".into() });
    b.call("cuStreamSynchronize", sync());
    let inside = b.seq();
    b.thread(2).call("cuStreamSynchronize", sync()).thread(1);
    b.mark(MarkKind::End { region: "loop".into() });
    b.call("cuStreamSynchronize", sync());
    let trace = b.trace();
    let found = blocks(&trace);
    assert_eq!(found.len(), 4);
    let regions = regions_named(&trace, "loop");
    assert_eq!(regions.len(), 1);
    let seqs: Vec<Seq> = blocks_in(&found, &regions[0]).map(|block| block.seq).collect();
    assert_eq!(seqs, [inside]);
}

/// Another thread's wait counts while the region lasts: not one that goes on when it has ended.
#[test]
fn a_region_lasts_for_what_other_threads_wait_for() {
    let mut b = start();
    let sync = || Op::StreamSync { stream: NB };
    b.thread(2).call("cuStreamSynchronize", sync()).thread(1);
    b.mark(MarkKind::Begin { region: "loop".into() });
    b.thread(2).call("cuStreamSynchronize", sync()).thread(1);
    let within = b.seq();
    b.thread(2).call("cuStreamSynchronize", sync()).thread(1);
    b.mark(MarkKind::End { region: "loop".into() });
    b.last(|call| call.left += 1_000_000_000);
    b.thread(2).call("cuStreamSynchronize", sync()).thread(1);
    let trace = b.trace();
    let found = blocks(&trace);
    assert_eq!(found.len(), 4);
    let region = &regions_named(&trace, "loop")[0];
    assert_eq!(blocks_in(&found, region).count(), 0);
    let seqs: Vec<Seq> = blocks_during(&found, region).map(|block| block.seq).collect();
    assert_eq!(seqs, [within]);
}
