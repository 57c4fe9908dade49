//! What runs side by side.

use std::time::Duration;

use crate::Row;
use crate::support::*;

pub const ROWS: &[Row] = &[
    ("kernels_run_side_by_side", kernels_run_side_by_side, &[]),
    ("two_copy_engines", two_copy_engines, &[]),
    ("uploads_share_an_engine", uploads_share_an_engine, &[]),
    ("pinned_is_faster_than_pageable", pinned_is_faster_than_pageable, &[]),
    ("a_copy_runs_beside_a_kernel", a_copy_runs_beside_a_kernel, &[]),
];

fn kernels_run_side_by_side(cuda: &Cuda) {
    for count in [2, 40] {
        let streams: Vec<_> = (0..count).map(|_| nb()).collect();
        sync_all();
        let took = time(|| {
            for stream in &streams {
                cuda.spin(*stream, SPIN);
            }
            sync_all();
        });
        assert!(took >= SPIN && took < SPIN * 3 / 2, "{count} took {took:?}");
    }
}

const COPIES: usize = 8;
const BYTES: usize = 16 * MIB;

/// How long the device takes for `work` on streams that all start at once and are all waited for.
fn device_time(cuda: &Cuda, streams: &[CUstream], work: impl FnOnce()) -> Duration {
    let (first, start, end) = (nb(), event(), event());
    sync_all();
    // Held back until everything is enqueued.
    cuda.spin(first, Duration::from_millis(20));
    record(start, first);
    for stream in streams {
        wait(*stream, start);
    }
    work();
    for stream in streams {
        let done = event();
        record(done, *stream);
        wait(first, done);
    }
    record(end, first);
    sync_all();
    Duration::from_secs_f32(elapsed_ms(start, end) / 1000.0)
}

fn two_copy_engines(cuda: &Cuda) {
    let (s1, s2) = (nb(), nb());
    let (x, y) = (alloc(BYTES), alloc(BYTES));
    let (source, target) = (pinned(BYTES), pinned(BYTES));
    let up = || (0..COPIES).for_each(|_| upload(x, source, s1));
    let mut down = || (0..COPIES).for_each(|_| download(target, y, s2));
    let one = device_time(cuda, &[s1], up);
    let other = device_time(cuda, &[s2], &mut down);
    let both = device_time(cuda, &[s1, s2], || {
        up();
        down();
    });
    let longer = one.max(other);
    assert!(both < longer * 3 / 2, "up {one:?}, down {other:?}, both {both:?}");
}

fn uploads_share_an_engine(cuda: &Cuda) {
    let (s1, s2) = (nb(), nb());
    let (x, y) = (alloc(BYTES), alloc(BYTES));
    let source = pinned(BYTES);
    let one = device_time(cuda, &[s1], || (0..COPIES).for_each(|_| upload(x, source, s1)));
    let two = device_time(cuda, &[s1, s2], || {
        (0..COPIES).for_each(|_| {
            upload(x, source, s1);
            upload(y, source, s2);
        })
    });
    assert!(two > one * 3 / 2, "one stream {one:?}, two {two:?}");
}

fn pinned_is_faster_than_pageable(cuda: &Cuda) {
    let (stream, x, bytes) = (nb(), alloc(32 * MIB), 32 * MIB);
    let (locked, pageable) = (pinned(bytes), vec![1; bytes]);
    let fast = device_time(cuda, &[stream], || upload(x, locked, stream));
    sync_all();
    let slow = time(|| upload(x, &pageable, stream));
    assert!(slow > fast * 2, "pinned {fast:?}, pageable {slow:?}");
}

fn a_copy_runs_beside_a_kernel(cuda: &Cuda) {
    let (s1, s2, x) = (nb(), nb(), alloc(BYTES));
    let source = pinned(BYTES);
    let copies = device_time(cuda, &[s1], || (0..COPIES).for_each(|_| upload(x, source, s1)));
    let both = device_time(cuda, &[s1, s2], || {
        cuda.spin(s2, copies);
        (0..COPIES).for_each(|_| upload(x, source, s1));
    });
    assert!(both < copies * 3 / 2, "copies {copies:?}, beside a kernel as long {both:?}");
}
