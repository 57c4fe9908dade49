//! Which calls hold the host, but for copies.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::Row;
use crate::support::*;

pub const ROWS: &[Row] = &[
    ("launch_returns", launch_returns, &[]),
    ("launch_1022_in_a_queue_holds", launch_1022_in_a_queue_holds, &[]),
    ("records_and_waits_do_not_fill_the_queue", records_and_waits_do_not_fill_the_queue, &[]),
    ("alloc_returns", alloc_returns, &[]),
    ("free_holds_for_all_streams", free_holds_for_all_streams, &[]),
    ("free_of_stream_ordered_memory_returns", free_of_stream_ordered_memory_returns, &[]),
    ("alloc_async_and_free_async_return", alloc_async_and_free_async_return, &[]),
    ("host_alloc_returns", host_alloc_returns, &[]),
    ("free_host_holds_for_all_streams", free_host_holds_for_all_streams, &[]),
    ("host_unregister_holds_for_all_streams", host_unregister_holds_for_all_streams, &[]),
    ("module_load_and_unload_hold", module_load_and_unload_hold, &[]),
    ("first_launch_of_a_function_returns", first_launch_of_a_function_returns, &[]),
    ("streams_come_and_go", streams_come_and_go, &[]),
    ("events_come_and_go", events_come_and_go, &[]),
    ("records_waits_and_queries_return", records_waits_and_queries_return, &[]),
    ("host_functions_return_and_run_in_order", host_functions_return_and_run_in_order, &[]),
    ("synchronize_holds_for_what_it_names", synchronize_holds_for_what_it_names, &[]),
];

fn launch_returns(cuda: &Cuda) {
    let (s1, s2) = (nb(), nb());
    returns(cuda, s1, || cuda.spin(s1, Duration::ZERO));
    returns(cuda, s1, || cuda.spin(s2, Duration::ZERO));
}

/// The index of the first of `calls` that took a quarter of the spinning kernel or more.
fn first_held(cuda: &Cuda, stream: CUstream, calls: usize, call: impl Fn()) -> Option<usize> {
    sync_all();
    cuda.spin(stream, 2 * SPIN);
    let first = (0..calls).find(|_| time(&call) > SPIN / 2);
    sync_all();
    first
}

fn launch_1022_in_a_queue_holds(cuda: &Cuda) {
    let stream = nb();
    let first = first_held(cuda, stream, 1100, || cuda.spin(stream, Duration::ZERO));
    assert_eq!(first, Some(1021));
}

fn records_and_waits_do_not_fill_the_queue(cuda: &Cuda) {
    // Fewer than a queue of launches: whatever records and waits take, it is not more than that.
    let (stream, event) = (nb(), event());
    let first = first_held(cuda, stream, 400, || {
        record(event, stream);
        wait(stream, event);
    });
    assert_eq!(first, None);
}

fn alloc_returns(cuda: &Cuda) {
    let stream = nb();
    returns(cuda, stream, || {
        alloc(MIB);
    });
}

fn free_holds_for_all_streams(cuda: &Cuda) {
    for bytes in [KIB, 16 * MIB] {
        let x = alloc(bytes);
        holds(cuda, nb(), || ok(cu!(cuMemFree_v2(x))));
    }
}

fn free_of_stream_ordered_memory_returns(cuda: &Cuda) {
    let stream = nb();
    let x = alloc_async(MIB, stream);
    returns(cuda, stream, || ok(cu!(cuMemFree_v2(x))));
}

fn alloc_async_and_free_async_return(cuda: &Cuda) {
    let stream = nb();
    // The pool's first allocation maps memory.
    free_async(alloc_async(MIB, stream), stream);
    returns(cuda, stream, || free_async(alloc_async(MIB, stream), stream));
}

fn host_alloc_returns(cuda: &Cuda) {
    let stream = nb();
    // Larger memory takes milliseconds of its own, for its pages.
    returns(cuda, stream, || {
        let _: *mut c_void = out(|address| cu!(cuMemHostAlloc(address, 2 * MIB, 0)));
    });
}

fn free_host_holds_for_all_streams(cuda: &Cuda) {
    let memory = pinned(MIB);
    holds(cuda, nb(), || ok(cu!(cuMemFreeHost(memory.as_mut_ptr().cast()))));
}

fn host_unregister_holds_for_all_streams(cuda: &Cuda) {
    let mut memory = vec![0_u8; MIB];
    let address: *mut c_void = memory.as_mut_ptr().cast();
    ok(cu!(cuMemHostRegister_v2(address, MIB, 0)));
    holds(cuda, nb(), || ok(cu!(cuMemHostUnregister(address))));
}

fn module_load_and_unload_hold(cuda: &Cuda) {
    let module = load();
    holds(cuda, nb(), || {
        load();
    });
    holds(cuda, nb(), || ok(cu!(cuModuleUnload(module))));
}

fn first_launch_of_a_function_returns(cuda: &Cuda) {
    let stream = nb();
    let spin = function(load(), "spin");
    returns(cuda, stream, || {
        let mut nanos = 0_u64;
        ok(cuda.launch(spin, 1, stream, &mut [(&raw mut nanos).cast()]));
    });
}

fn streams_come_and_go(cuda: &Cuda) {
    let (busy, doomed) = (nb(), nb());
    returns(cuda, busy, || {
        nb();
        blocking();
        // With work pending on it: the work is still done.
        cuda.spin(doomed, Duration::from_millis(1));
        ok(cu!(cuStreamDestroy_v2(doomed)));
    });
}

fn events_come_and_go(cuda: &Cuda) {
    let stream = nb();
    returns(cuda, stream, || {
        let pending = event();
        record(pending, stream);
        ok(cu!(cuEventDestroy_v2(pending)));
    });
}

fn records_waits_and_queries_return(cuda: &Cuda) {
    let (s1, s2, event) = (nb(), nb(), event());
    returns(cuda, s1, || {
        record(event, s1);
        wait(s2, event);
        assert_eq!(cu!(cuEventQuery(event)), CUresult::CUDA_ERROR_NOT_READY);
        assert_eq!(cu!(cuStreamQuery(s2)), CUresult::CUDA_ERROR_NOT_READY);
    });
    assert_eq!(cu!(cuEventQuery(event)), OK);
    assert_eq!(cu!(cuStreamQuery(s2)), OK);
}

static ORDER: AtomicU32 = AtomicU32::new(0);

/// A digit in place of a pointer: the function does not look behind it.
fn digit(digit: usize) -> *mut c_void {
    std::ptr::without_provenance_mut(digit)
}

unsafe extern "C" fn note(digit: *mut c_void) {
    let _ = ORDER.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |order| {
        Some(order * 10 + digit as usize as u32)
    });
}

fn host_functions_return_and_run_in_order(cuda: &Cuda) {
    let stream = nb();
    returns(cuda, stream, || {
        ok(cu!(cuLaunchHostFunc(stream, Some(note), digit(1))));
        cuda.spin(stream, Duration::ZERO);
        ok(cu!(cuLaunchHostFunc(stream, Some(note), digit(2))));
        assert_eq!(ORDER.load(Ordering::SeqCst), 0, "it ran before the kernel ahead of it");
    });
    assert_eq!(ORDER.load(Ordering::SeqCst), 12);
}

fn synchronize_holds_for_what_it_names(cuda: &Cuda) {
    let (busy, idle, event) = (nb(), nb(), event());
    holds(cuda, busy, || sync(busy));
    holds(cuda, busy, sync_all);
    holds(cuda, busy, || {
        record(event, busy);
        ok(cu!(cuEventSynchronize(event)));
    });
    returns(cuda, busy, || sync(idle));
    returns(cuda, busy, || {
        record(event, idle);
        ok(cu!(cuEventSynchronize(event)));
    });
}
