//! Each rule of the module's header, with an edge that it gives and one that it does not; then what
//! the learner reads.

use rstest::rstest;

use crate::build::Builder;
use crate::case::judge;
use crate::model::*;
use crate::order::report::Missing;
use crate::order::{happens_before, races};

const SETUP: &str = "stream s1\nstream s2\nstream b1 blocking\nstream b2 blocking\nalloc x 64\n\
                     alloc y 64\nhost p 64 pinned\nhost q 64 pageable\n";

/// Without the expectation's word the number of races must be another: each case says `clean` or how
/// many.
#[rstest]
#[case::stream_order("write x on s1; read x on s1", 0)]
#[case::no_order("write x on s1; read x on s2", 1)]
#[case::reads_agree("read x on s1; read x on s2", 0)]
#[case::updates_do_not("update x on s1; update x on s2", 1)]
#[case::transitive(
    "write x on s1; record e on s1; wait e on s2; record f on s2; wait f on b1; read x on b1",
    0
)]
#[case::wait_without_record("write x on s1; wait e on s2; record e on s1; read x on s2", 1)]
#[case::destroyed_before_the_wait(
    "write x on s1; record e on s1; destroy e; wait e on s2; read x on s2",
    1
)]
#[case::event_sync("write x on s1; record e on s1; wait e; read x on s2", 0)]
#[case::stream_sync("write x on s1; sync s1; read x on s2", 0)]
#[case::sync_before("sync s1; write x on s1; read x on s2", 1)]
#[case::sync_is_transitive("write x on s1; record e on s1; wait e on s2; sync s2; read x on b1", 0)]
#[case::context_sync("write x on s1; write y on b1; sync all; read x on s2; read y on s2", 0)]
#[case::stream_query("write x on s1; query s1 done; read x on s2", 0)]
#[case::stream_query_pending("write x on s1; query s1 pending; read x on s2", 1)]
#[case::pageable_download("write x on s1; download y to q on s1; read x on s2", 0)]
#[case::pinned_download("write x on s1; download y to p on s1; read x on s2", 1)]
#[case::pageable_upload("write x on s1; upload q to y on s1; read x on s2", 1)]
#[case::sync_download_of_blocking("write x on b1; download y to p; read x on s2", 0)]
#[case::sync_download_ignores_nb("write x on s1; download y to p; read x on s2", 1)]
#[case::sync_pinned_upload("upload p to x; read x on s1", 0)]
#[case::sync_pageable_upload_may_be_under_way("upload q to x; read x on s1", 1)]
#[case::sync_pageable_upload_before_blocking("upload q to x; read x on b1", 0)]
#[case::sync_pageable_upload_waits_first("write y on b1; upload q to x; read y on s1", 0)]
#[case::sync_device_copy("copy x to y; read y on s1", 1)]
#[case::null_after_blocking("write x on b1; read x on null", 0)]
#[case::blocking_after_null("write x on null; read x on b1", 0)]
#[case::nb_after_null("write x on null; read x on s1", 1)]
#[case::barrier_by_record("write x on b1; record e on null; wait e on s1; read x on s1", 0)]
#[case::barrier_by_wait("write x on s1; record e on s1; wait e on null; read x on b2", 0)]
#[case::barrier_passes_between_blocking("write x on b1; record e on null; read x on b2", 0)]
#[case::sync_null_waits_for_blocking("write x on b1; sync null; read x on s1", 0)]
#[case::query_null_too("write x on b1; query null done; read x on s1", 0)]
#[case::sync_blocking_is_not_sync_null("write x on null; sync b1; read x on s1", 1)]
#[case::pinned_source("upload p to x on s1; host write p", 1)]
#[case::pinned_source_read("upload p to x on s1; host read p", 0)]
#[case::pinned_source_dropped("upload p to x on s1; host drop p", 1)]
#[case::pinned_target_read("download x to p on s1; host read p", 1)]
#[case::pinned_target_after_sync("download x to p on s1; sync s1; host read p", 0)]
#[case::pageable_source_dropped("upload q to x on s1; host drop q", 0)]
#[case::host_before_enqueue("host write p; upload p to x on s1", 0)]
#[case::stream_ordered_alloc("alloc z 64 on s1; record e on s1; wait e on s2; write z on s2", 0)]
#[case::stream_ordered_alloc_no_wait("alloc z 64 on s1; write z on s2", 1)]
#[case::free_on_another_stream("alloc z 64 on s1; write z on s1; free z on s2", 1)]
#[case::plain_free_is_no_edge("read x on s1; free x; alloc z 64 at x; write z on s2", 1)]
#[case::plain_free_orders_nothing_else("write y on s1; free x; read y on s2", 1)]
#[case::plain_free_of_plain_memory_waits("read x on s1; free x", 0)]
#[case::plain_free_of_stream_ordered_memory("alloc z 64 on s1; free z", 1)]
#[case::threads("host write p; begin t2; t2: upload p to x on s1", 0)]
#[case::thread_not_begun("host write p; t2: upload p to x on s1", 1)]
#[case::begun_before("begin t2; host write p; t2: upload p to x on s1", 1)]
#[case::joined("begin t2; t2: host write p; join t2; upload p to x on s1", 0)]
#[case::sync_of_another_thread("begin t2; write x on s1; t2: sync s1; read x on s2", 1)]
#[case::event_across_threads(
    "begin t2; write x on s1; record e on s1; t2: wait e on s2; t2: read x on s2",
    0
)]
#[case::every_former_access(
    "write x on s1; record e on s1; wait e on s2; write x on s2; read x on b1",
    2
)]
#[case::ranges("write x[0..32] on s1; write x[32..64] on s2", 0)]
#[case::ranges_meet("write x[0..33] on s1; write x[32..64] on s2", 1)]
#[case::in_and_out_is_one_access("write x, read x on s1; read x on s2", 1)]
fn rule(#[case] program: &str, #[case] races: usize) {
    let program = program.replace("; ", "\n");
    let verdict = judge(&format!("{SETUP}{program}\nexpect races {races}\n")).unwrap();
    assert!(verdict.is_ok(), "{verdict}");
}

fn launch(stream: u32, kernel: NameId, range: Range, kind: AccessKind) -> Op {
    let accesses = vec![Access { range, kind }];
    Op::Launch { stream: StreamId(stream), kernel, accesses, assumed: false, blocks: 1 }
}

const PARTIALS: Range = Range { start: 0x7000, end: 0x8000 };

fn two_streams() -> Builder {
    let mut b = Builder::new();
    for (id, name) in [(1, "default"), (2, "side")] {
        let stream = StreamId(id);
        b.call("cuStreamCreate", Op::StreamCreate { stream, blocking: false });
        b.mark(MarkKind::NameStream { stream, name: name.into() });
    }
    b
}

#[test]
fn reads_like_this() {
    let mut b = two_streams();
    let (fill, sum) = (b.name("fill"), b.name("sum"));
    b.call("cuMemAlloc_v2", Op::Alloc { range: PARTIALS, stream: None });
    b.mark(MarkKind::NameBuffer { range: PARTIALS, name: "partials".into() });
    b.line(41).call("cuLaunchKernel", launch(1, fill, PARTIALS, AccessKind::Write));
    b.line(44).call("cuLaunchKernel", launch(2, sum, PARTIALS, AccessKind::Read));
    let found = races(&b.trace());
    assert_eq!(found.len(), 1);
    insta::assert_snapshot!(found[0], @r"
    race on `partials`, bytes 0..4096
      (1) kernel `fill` wrote on stream `default`     src/lib.rs:41
      (2) kernel `sum` read on stream `side`          src/lib.rs:44
      nothing makes (2) wait for (1): `side` never waited for `default` after line 41
    ");
}

#[test]
fn reused_memory_tells_its_story() {
    let mut b = two_streams();
    let (fill, sum) = (b.name("fill"), b.name("sum"));
    let out = MarkKind::BlockOut { range: PARTIALS, stream: StreamId(1) };
    let name = |name: &str| MarkKind::NameBuffer { range: PARTIALS, name: name.into() };
    let event = EventId(1);
    b.line(20).mark(out.clone()).mark(name("ones"));
    b.line(21).call("cuLaunchKernel", launch(1, fill, PARTIALS, AccessKind::Write));
    b.line(22).call("cuEventRecord", Op::EventRecord { event, stream: StreamId(1) });
    b.line(23).call("cuStreamWaitEvent", Op::StreamWait { event, stream: StreamId(2) });
    b.line(24).call("cuLaunchKernel", launch(2, sum, PARTIALS, AccessKind::Read));
    b.line(25).mark(MarkKind::BlockBack { range: PARTIALS });
    b.line(26).mark(out).mark(name("twos"));
    b.line(27).call("cuLaunchKernel", launch(1, fill, PARTIALS, AccessKind::Write));
    let found = races(&b.trace());
    assert_eq!(found.len(), 1);
    insta::assert_snapshot!(found[0], @r"
    race on `twos`, bytes 0..4096
      (1) kernel `sum` read on stream `side`                              src/lib.rs:24
      (2) kernel `fill` wrote on stream `default`                         src/lib.rs:27
          `ones` was handed out                                           src/lib.rs:20
          handed back, its use on `side` not recorded (record_stream)     src/lib.rs:25
          handed out again as `twos`, before `side` was done with it      src/lib.rs:26
      nothing makes (2) wait for (1): `default` never waited for `side` after line 24
    ");
}

/// What the block's own stream did is no reason to hold the block back; the missing wait is all there is.
#[test]
fn reuse_on_the_blocks_own_stream_is_not_blamed() {
    let mut b = two_streams();
    let (fill, sum) = (b.name("fill"), b.name("sum"));
    let out = MarkKind::BlockOut { range: PARTIALS, stream: StreamId(2) };
    let name = |name: &str| MarkKind::NameBuffer { range: PARTIALS, name: name.into() };
    b.line(20).mark(out.clone()).mark(name("activation"));
    b.line(21).call("cuLaunchKernel", launch(2, fill, PARTIALS, AccessKind::Write));
    b.line(22).mark(MarkKind::BlockBack { range: PARTIALS });
    b.line(23).mark(out).mark(name("gradient"));
    b.line(24).call("cuLaunchKernel", launch(1, sum, PARTIALS, AccessKind::Read));
    let found = races(&b.trace());
    insta::assert_snapshot!(found[0], @r"
    race on `gradient`, bytes 0..4096
      (1) kernel `fill` wrote on stream `side`                               src/lib.rs:21
      (2) kernel `sum` read on stream `default`                              src/lib.rs:24
          (1) came before the memory was handed out again, as `gradient`     src/lib.rs:23
      nothing makes (2) wait for (1): `default` never waited for `side` after line 21
    ");
}

/// One line writes the memory in two lives, on the block's own stream: what it wrote last is what is read
/// too early.
#[test]
fn the_present_life_is_told_of_before_a_former_one_on_the_blocks_own_stream() {
    let mut b = two_streams();
    let (fill, sum) = (b.name("fill"), b.name("sum"));
    for name in ["activation", "gradient"] {
        b.line(23).mark(MarkKind::BlockOut { range: PARTIALS, stream: StreamId(2) });
        b.mark(MarkKind::NameBuffer { range: PARTIALS, name: name.into() });
        b.line(24).call("cuLaunchKernel", launch(2, fill, PARTIALS, AccessKind::Write));
        if name == "activation" {
            b.mark(MarkKind::BlockBack { range: PARTIALS });
        }
    }
    b.line(25).call("cuLaunchKernel", launch(1, sum, PARTIALS, AccessKind::Read));
    let found = races(&b.trace());
    assert_eq!(found.len(), 1, "one pair of lines: {found:?}");
    assert_eq!(found[0].earlier.buffer.as_deref(), Some("gradient"));
    assert_eq!(found[0].reuse, None);
}

/// The same two lines run into each other in two buffers, of which one was handed out again: the
/// report is about that one, in all it says.
#[test]
fn reuse_is_told_of_the_buffer_that_was_reused() {
    const OTHER: Range = Range { start: 0x9000, end: 0xa000 };
    let mut b = two_streams();
    let (fill, sum) = (b.name("fill"), b.name("sum"));
    let name = |range: Range, name: &str| MarkKind::NameBuffer { range, name: name.into() };
    let out = |range: Range| MarkKind::BlockOut { range, stream: StreamId(1) };
    b.mark(out(OTHER)).mark(name(OTHER, "other"));
    b.line(20).mark(out(PARTIALS)).mark(name(PARTIALS, "ones"));
    b.line(24).call("cuLaunchKernel", launch(2, sum, OTHER, AccessKind::Read));
    b.line(24).call("cuLaunchKernel", launch(2, sum, PARTIALS, AccessKind::Read));
    b.line(25).mark(MarkKind::BlockBack { range: PARTIALS });
    b.line(26).mark(out(PARTIALS)).mark(name(PARTIALS, "twos"));
    b.line(27).call("cuLaunchKernel", launch(1, fill, OTHER, AccessKind::Write));
    b.line(27).call("cuLaunchKernel", launch(1, fill, PARTIALS, AccessKind::Write));
    let found = races(&b.trace());
    assert_eq!(found.len(), 1, "one pair of lines: {found:?}");
    let race = &found[0];
    assert_eq!(race.count, 2);
    assert_eq!(race.buffer.as_deref(), Some("twos"));
    assert_eq!(race.range, PARTIALS);
    let reuse = race.reuse.as_ref().expect("it was handed out again");
    assert_eq!((reuse.former.as_deref(), reuse.now.as_deref()), (Some("ones"), Some("twos")));
}

#[test]
fn memory_that_nobody_was_seen_to_hand_out_begins_where_it_was_touched() {
    let mut b = two_streams();
    let kernel = b.name("fill");
    for stream in [1, 2] {
        b.call("cuLaunchKernel", launch(stream, kernel, PARTIALS, AccessKind::Write));
    }
    let found = races(&b.trace());
    assert_eq!(found[0].range, PARTIALS);
    assert_eq!(found[0].bytes, Range { start: 0, end: PARTIALS.end - PARTIALS.start });
    assert!(found[0].to_string().starts_with("race on memory at 0x7000, bytes 0..4096"));
}

#[test]
fn the_host_and_assumptions_are_named() {
    let mut b = two_streams();
    let odd = b.name("odd");
    b.call("cuMemHostAlloc", Op::HostAlloc { range: PARTIALS });
    let accesses = vec![Access { range: PARTIALS, kind: AccessKind::Update }];
    let stream = StreamId(2);
    for line in [7, 7] {
        let accesses = accesses.clone();
        let op = Op::Launch { stream, kernel: odd, accesses, assumed: true, blocks: 1 };
        b.line(line).call("cuLaunchKernel", op);
        b.line(9).mark(MarkKind::HostRead { range: Range::new(0x7010, 4) });
    }
    let found: Vec<String> = races(&b.trace()).iter().map(|race| race.to_string()).collect();
    insta::assert_snapshot!(found.join("\n\n"), @r"
    race on memory at 0x7000, bytes 16..20, 2 times
      (1) kernel `odd` read and wrote on stream `side`     src/lib.rs:7
      (2) the host read                                    src/lib.rs:9
      nothing makes (2) wait for (1): the host never waited for `side` after line 7
      assumed: `odd` is not in the kernels table, so its pointers count as read and written
    ");
}

/// Where no line stands for the earlier access, whoever prints it alone says what it is.
#[test]
fn without_a_line_the_earlier_access_is_named() {
    let mut b = two_streams();
    let (fill, sum) = (b.name("fill"), b.name("sum"));
    b.no_line().call("cuLaunchKernel", launch(1, fill, PARTIALS, AccessKind::Write));
    b.line(44).call("cuLaunchKernel", launch(2, sum, PARTIALS, AccessKind::Read));
    let found = races(&b.trace());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].missing_edge(), "`side` never waited for `default` after (1)");
    let first = format!("the grader's {}", found[0].earlier.doer());
    let alone = "`side` never waited for `default` after the grader's kernel `fill`";
    assert_eq!(found[0].missing_edge_after(&first), alone);
}

#[test]
fn overlapping_calls_on_one_stream_have_no_order() {
    let mut b = two_streams();
    let kernel = b.name("fill");
    b.mark(MarkKind::ThreadBegin { child: ThreadId(2) });
    let write = || launch(1, kernel, PARTIALS, AccessKind::Write);
    b.line(1).call("cuLaunchKernel", write()).last(|call| call.left += 5_000);
    b.last(|call| call.entered = call.left - 5_500);
    let began = b.trace().calls().last().unwrap().entered;
    b.thread(2).line(2).call("cuLaunchKernel", write());
    b.last(|call| (call.entered, call.left) = (began + 100, began + 200));
    b.line(3).call("cuLaunchKernel", write());
    b.last(|call| (call.entered, call.left) = (began + 9_000, began + 9_100));
    let found = races(&b.trace());
    assert_eq!(found.len(), 1, "the third call came after both: {found:?}");
    assert_eq!(found[0].missing, Missing::OverlappingCalls);
    insta::assert_snapshot!(found[0].missing_edge(), @"two host threads' calls on `default` overlapped in time, so which of the two came first is not known");
}

#[rstest]
#[case::never("", Missing::StreamWait)]
#[case::too_early("read y on s1\nrecord e on s1\nwait e on s2\n", Missing::LaterStreamWait)]
#[case::by_another_thread("begin t2\nt2: ", Missing::OtherThreadWaited(ThreadId(2)))]
fn says_whether_there_was_a_wait(#[case] before: &str, #[case] missing: Missing) {
    let (before, sync) = match before.strip_suffix("t2: ") {
        Some(begin) => (begin, "t2: sync s1\n"),
        None => (before, ""),
    };
    let text = format!("{SETUP}{before}write x on s1\n{sync}read x on s2\nexpect races 1");
    assert_eq!(judge(&text).unwrap().races[0].missing, missing);
}

#[test]
fn lines_tell_races_apart_where_they_are_known() {
    let mut b = two_streams();
    let kernel = b.name("fill");
    let mut pair = |one: u32, two: u32, at: u64| {
        let range = Range::new(at, 64);
        b.line(one).call("cuLaunchKernel", launch(1, kernel, range, AccessKind::Write));
        b.line(two).call("cuLaunchKernel", launch(2, kernel, range, AccessKind::Write));
    };
    for at in [0x1000, 0x2000, 0x3000] {
        pair(10, 11, at);
    }
    pair(20, 21, 0x4000);
    let found: Vec<(u64, u32)> =
        races(&b.trace()).iter().map(|r| (r.count, r.later.at.as_ref().unwrap().line)).collect();
    assert_eq!(found, [(3, 11), (1, 21)]);
}

#[test]
fn what_is_over_is_forgotten() {
    use crate::order::Order;
    use crate::workload::{Shape, Sharing, items};
    let remembered = |accesses| {
        let mut order = Order::new();
        let shape = Shape { accesses, sharing: Sharing::Chained, ..Shape::default() };
        let mut most = 0;
        for item in items(shape) {
            order.item(&item);
            most = most.max(order.remembered());
        }
        most
    };
    assert_eq!(remembered(200_000), remembered(50_000));
}

/// The first two launches of a program, one after the other.
#[rstest]
#[case::one_stream("write x on s1; write y on s1", true)]
#[case::two_streams("write x on s1; write y on s2", false)]
#[case::waited_for("write x on s1; record e on s1; wait e on s2; write y on s2", true)]
#[case::recorded_too_early("record e on s1; write x on s1; wait e on s2; write y on s2", false)]
#[case::by_the_host("write x on s1; sync s1; write y on s2", true)]
#[case::by_a_query("write x on s1; query s1 done; write y on s2", true)]
#[case::not_yet("write x on s1; query s1 pending; write y on s2", false)]
fn one_operation_happens_before_another(#[case] program: &str, #[case] ordered: bool) {
    let trace =
        crate::case::trace(&format!("{SETUP}{}\nexpect clean\n", program.replace("; ", "\n")));
    let trace = trace.expect("it can be read");
    let launches: Vec<Seq> = trace
        .calls()
        .filter(|call| matches!(call.op, Op::Launch { .. }))
        .map(|call| call.seq)
        .collect();
    let [first, second] = launches[..] else { panic!("{launches:?}") };
    assert_eq!(happens_before(&trace, first, second), ordered);
    assert!(!happens_before(&trace, second, first));
}
