//! The default-stream rules: who waits for whom without being told.

use std::time::Duration;

use crate::Row;
use crate::support::*;

pub const ROWS: &[Row] = &[
    ("null_waits_for_blocking", |cuda| waits(cuda, blocking(), null(), true), &[]),
    ("null_ignores_nonblocking", |cuda| waits(cuda, nb(), null(), false), &[]),
    ("blocking_waits_for_null", |cuda| waits(cuda, null(), blocking(), true), &[]),
    ("nonblocking_ignores_null", |cuda| waits(cuda, null(), nb(), false), &[]),
    ("blocking_streams_are_unordered", |cuda| waits(cuda, blocking(), blocking(), false), &[]),
    ("null_is_a_barrier_among_blocking", null_is_a_barrier_among_blocking, &[]),
    ("per_thread_stream_is_blocking", per_thread_stream_is_blocking, &[]),
    ("per_thread_streams_are_one_a_thread", per_thread_streams_are_one_a_thread, &[]),
    ("null_speaks_for_blocking_streams", null_speaks_for_blocking_streams, &[]),
    ("legacy_handle_is_the_null_stream", legacy_handle_is_the_null_stream, &[]),
    ("cudarc_makes_nonblocking_streams", cudarc_makes_nonblocking_streams, &[]),
    ("cust_makes_blocking_streams", cust_makes_blocking_streams, &[]),
];

const PER_THREAD: CUstream = 2 as CUstream;
const LEGACY: CUstream = 1 as CUstream;

/// Asserts whether work on `then` waits for what is on `first` already.
#[track_caller]
fn waits(cuda: &Cuda, first: CUstream, then: CUstream, expected: bool) {
    assert_eq!(does_wait(cuda, first, then), expected);
}

fn does_wait(cuda: &Cuda, first: CUstream, then: CUstream) -> bool {
    let done = event();
    sync_all();
    cuda.spin(first, SPIN);
    cuda.spin(then, Duration::ZERO);
    record(done, then);
    let held = time(|| ok(cu!(cuEventSynchronize(done))));
    sync_all();
    assert!(held >= SPIN / 2 || held < SPIN / 4, "neither waited nor ran at once: {held:?}");
    held >= SPIN / 2
}

fn null_is_a_barrier_among_blocking(cuda: &Cuda) {
    let (b1, b2, done) = (blocking(), blocking(), event());
    sync_all();
    cuda.spin(b1, SPIN);
    cuda.spin(null(), Duration::ZERO);
    cuda.spin(b2, Duration::ZERO);
    record(done, b2);
    let held = time(|| ok(cu!(cuEventSynchronize(done))));
    assert!(held >= SPIN / 2, "{held:?}");
}

fn per_thread_stream_is_blocking(cuda: &Cuda) {
    waits(cuda, PER_THREAD, null(), true);
    waits(cuda, null(), PER_THREAD, true);
    waits(cuda, nb(), PER_THREAD, false);
    waits(cuda, PER_THREAD, nb(), false);
}

fn per_thread_streams_are_one_a_thread(cuda: &Cuda) {
    let context = out(|context| cu!(cuCtxGetCurrent(context))) as usize;
    let spin = cuda.spin as usize;
    sync_all();
    cuda.spin(PER_THREAD, SPIN);
    let held = std::thread::spawn(move || {
        ok(cu!(cuCtxSetCurrent(context as sys::CUcontext)));
        let mut nanos = 0_u64;
        let mut params = [(&raw mut nanos).cast()];
        let none = std::ptr::null_mut();
        ok(cu!(cuLaunchKernel(
            spin as CUfunction,
            1,
            1,
            1,
            1,
            1,
            1,
            0,
            PER_THREAD,
            params.as_mut_ptr(),
            none
        )));
        time(|| sync(PER_THREAD))
    })
    .join()
    .expect("the thread's calls succeed");
    assert!(held < SPIN / 4, "{held:?}");
    sync_all();
}

fn null_speaks_for_blocking_streams(cuda: &Cuda) {
    let busy = blocking();
    holds(cuda, busy, || sync(null()));
    returns(cuda, busy, || {
        assert_eq!(cu!(cuStreamQuery(null())), CUresult::CUDA_ERROR_NOT_READY);
    });
    // Not the other way round: a blocking stream without work of its own is done.
    let idle = blocking();
    returns(cuda, null(), || {
        assert_eq!(cu!(cuStreamQuery(idle)), OK);
        sync(idle);
    });
}

fn legacy_handle_is_the_null_stream(cuda: &Cuda) {
    holds(cuda, null(), || sync(LEGACY));
    holds(cuda, LEGACY, || sync(null()));
}

fn cudarc_makes_nonblocking_streams(cuda: &Cuda) {
    let context = cudarc::driver::CudaContext::new(0).expect("a context");
    let stream = context.new_stream().expect("a stream");
    waits(cuda, stream.cu_stream(), null(), false);
    assert!(context.default_stream().cu_stream().is_null());
}

/// cust 0.3.2 takes StreamFlags::NON_BLOCKING, and makes the stream with flags 0 all the same.
fn cust_makes_blocking_streams(cuda: &Cuda) {
    use cust::stream::{Stream, StreamFlags};
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream");
    waits(cuda, stream.as_inner().cast(), null(), true);
}
