//! Stream-ordered memory: when a block is used again, and what that does to a reader.

use crate::Row;
use crate::support::*;

pub const ROWS: &[Row] = &[
    ("reuse_on_the_same_stream_is_at_once", reuse_on_the_same_stream_is_at_once, &[]),
    ("pending_free_is_not_reused_elsewhere", pending_free_is_not_reused_elsewhere, &[]),
    ("reuse_follows_an_event", reuse_follows_an_event, &[]),
    ("reuse_races_with_a_late_reader", reuse_races_with_a_late_reader, &[]),
    ("errors_of_memory_calls", errors_of_memory_calls, &[]),
];

fn reuse_on_the_same_stream_is_at_once(cuda: &Cuda) {
    let stream = nb();
    let x = alloc_async(MIB, stream);
    let mut y = 0;
    returns(cuda, stream, || {
        free_async(x, stream);
        y = alloc_async(MIB, stream);
    });
    assert_eq!(x, y);
}

fn pending_free_is_not_reused_elsewhere(cuda: &Cuda) {
    let (s1, s2) = (nb(), nb());
    let x = alloc_async(MIB, s1);
    let mut y = 0;
    returns(cuda, s1, || {
        free_async(x, s1);
        y = alloc_async(MIB, s2);
    });
    assert_ne!(x, y);
}

fn reuse_follows_an_event(cuda: &Cuda) {
    let (s1, s2, freed) = (nb(), nb(), event());
    let x = alloc_async(MIB, s1);
    let mut y = 0;
    returns(cuda, s1, || {
        free_async(x, s1);
        record(freed, s1);
        wait(s2, freed);
        y = alloc_async(MIB, s2);
    });
    assert_eq!(x, y);
}

fn reuse_races_with_a_late_reader(cuda: &Cuda) {
    let (s1, s2, filled) = (nb(), nb(), event());
    let n = 1024;
    let x = alloc_async(n * 4, s1);
    let target = pinned(n * 4);
    cuda.fill(s1, x, 1.0, n as u32);
    record(filled, s1);
    wait(s2, filled);
    cuda.spin(s2, SPIN / 2);
    download(target, x, s2);
    // Nothing makes the free wait for the reader.
    free_async(x, s1);
    let y = alloc_async(n * 4, s1);
    cuda.fill(s1, y, 2.0, n as u32);
    sync_all();
    assert_eq!(x, y);
    let read = f32::from_ne_bytes([target[0], target[1], target[2], target[3]]);
    assert_eq!(read, 2.0, "the side stream reads the next tensor's value");
}

fn errors_of_memory_calls(_: &Cuda) {
    let mut address = 0;
    assert_eq!(cu!(cuMemAlloc_v2(&mut address, 0)), CUresult::CUDA_ERROR_INVALID_VALUE);
    let too_much = cu!(cuMemAlloc_v2(&mut address, 1 << 50));
    assert_eq!(too_much, CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    ok(cu!(cuMemFree_v2(0)));
    let never_allocated = cu!(cuMemFree_v2(0x10));
    assert_eq!(never_allocated, CUresult::CUDA_ERROR_INVALID_VALUE);
    let x = alloc(16);
    let beyond = cu!(cuMemcpyHtoD_v2(x, std::ptr::null(), 16));
    assert_eq!(beyond, CUresult::CUDA_ERROR_INVALID_VALUE);
}
