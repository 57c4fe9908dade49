//! Events: what they order, what they time, and what they return.

use std::time::Duration;

use crate::Row;
use crate::support::*;

pub const ROWS: &[Row] = &[
    ("elapsed_time_of_a_pending_event_is_not_ready", elapsed_time_of_a_pending_event, &[]),
    ("elapsed_time_needs_two_timed_records", elapsed_time_needs_two_timed_records, &[]),
    ("never_recorded_event_is_done", never_recorded_event_is_done, &[]),
    ("wait_binds_at_the_call", wait_binds_at_the_call, &[]),
    ("record_again_does_not_move_a_wait", record_again_does_not_move_a_wait, &[]),
    ("destroyed_event_still_orders", destroyed_event_still_orders, &[]),
    ("two_records_are_a_microsecond_apart", two_records_are_a_microsecond_apart, &[]),
    ("event_pair_times_a_kernel", event_pair_times_a_kernel, &[]),
];

fn elapsed(start: CUevent, end: CUevent) -> CUresult {
    let mut ms = 0.0;
    cu!(cuEventElapsedTime(&mut ms, start, end))
}

fn elapsed_time_of_a_pending_event(cuda: &Cuda) {
    let (stream, start, end) = (nb(), event(), event());
    returns(cuda, stream, || {
        record(start, stream);
        record(end, stream);
        assert_eq!(elapsed(start, end), CUresult::CUDA_ERROR_NOT_READY);
    });
    assert_eq!(elapsed(start, end), OK);
}

fn elapsed_time_needs_two_timed_records(_: &Cuda) {
    let (stream, start, never) = (nb(), event(), event());
    let untimed = out(|event| cu!(cuEventCreate(event, 2)));
    record(start, stream);
    record(untimed, stream);
    sync(stream);
    assert_eq!(elapsed(start, never), CUresult::CUDA_ERROR_INVALID_HANDLE);
    assert_eq!(elapsed(never, start), CUresult::CUDA_ERROR_INVALID_HANDLE);
    assert_eq!(elapsed(start, untimed), CUresult::CUDA_ERROR_INVALID_HANDLE);
    assert_eq!(elapsed(untimed, start), CUresult::CUDA_ERROR_INVALID_HANDLE);
}

fn never_recorded_event_is_done(cuda: &Cuda) {
    let (busy, other, never) = (nb(), nb(), event());
    returns(cuda, busy, || {
        assert_eq!(cu!(cuEventQuery(never)), OK);
        ok(cu!(cuEventSynchronize(never)));
        wait(other, never);
        sync(other);
    });
}

/// What a stream reads of `x` behind whatever it was told to wait for.
fn reads(x: CUdeviceptr, stream: CUstream) -> &'static [u8] {
    let target = pinned(4);
    download(target, x, stream);
    target
}

fn as_float(bytes: &[u8]) -> f32 {
    f32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

fn wait_binds_at_the_call(cuda: &Cuda) {
    let (producer, consumer, e) = (nb(), nb(), event());
    let x = alloc(4);
    cuda.fill(producer, x, 0.0, 1);
    sync_all();
    cuda.spin(producer, SPIN);
    cuda.fill(producer, x, 1.0, 1);
    record(e, producer);
    wait(consumer, e);
    let seen = reads(x, consumer);
    sync_all();
    assert_eq!(as_float(seen), 1.0);
}

fn record_again_does_not_move_a_wait(cuda: &Cuda) {
    let (producer, consumer, e) = (nb(), nb(), event());
    let x = alloc(4);
    cuda.fill(producer, x, 0.0, 1);
    sync_all();
    cuda.spin(producer, SPIN);
    cuda.fill(producer, x, 1.0, 1);
    record(e, producer);
    wait(consumer, e);
    cuda.spin(producer, SPIN);
    cuda.fill(producer, x, 2.0, 1);
    record(e, producer);
    let seen = reads(x, consumer);
    sync_all();
    assert_eq!(as_float(seen), 1.0);
}

fn destroyed_event_still_orders(cuda: &Cuda) {
    let (producer, consumer, e) = (nb(), nb(), event());
    let x = alloc(4);
    cuda.fill(producer, x, 0.0, 1);
    sync_all();
    cuda.spin(producer, SPIN);
    cuda.fill(producer, x, 1.0, 1);
    record(e, producer);
    wait(consumer, e);
    ok(cu!(cuEventDestroy_v2(e)));
    let seen = reads(x, consumer);
    sync_all();
    assert_eq!(as_float(seen), 1.0);
}

fn two_records_are_a_microsecond_apart(cuda: &Cuda) {
    let (stream, start, end) = (nb(), event(), event());
    let mut shortest = f32::MAX;
    for _ in 0..20 {
        // Both are enqueued before either runs.
        cuda.spin(stream, Duration::from_millis(2));
        record(start, stream);
        record(end, stream);
        sync(stream);
        shortest = shortest.min(elapsed_ms(start, end));
    }
    assert!((0.0009..0.02).contains(&shortest), "{shortest} ms");
}

fn event_pair_times_a_kernel(cuda: &Cuda) {
    let (stream, start, end) = (nb(), event(), event());
    for ms in [1.0_f32, 2.0, 5.0, 10.0] {
        // The pair waits behind another kernel, so that nothing of the host is in it.
        cuda.spin(stream, Duration::from_millis(2));
        record(start, stream);
        cuda.spin(stream, Duration::from_micros((ms * 1000.0) as u64));
        record(end, stream);
        sync(stream);
        let read = elapsed_ms(start, end);
        assert!((ms..ms * 1.01 + 0.05).contains(&read), "{ms} ms read as {read} ms");
    }
}
