//! Which copies hold the host, and what they see.

use std::time::Duration;

use crate::Row;
use crate::support::*;

pub const ROWS: &[Row] = &[
    ("small_pageable_upload_returns", small_pageable_upload_returns, &[]),
    ("pageable_upload_copies_its_source_at_the_call", pageable_upload_copies_its_source, &[]),
    ("large_pageable_upload_holds", large_pageable_upload_holds, &[]),
    ("staging_holds_two_mebibytes", staging_holds_two_mebibytes, &[]),
    ("pageable_copy_1022_in_a_queue_holds", pageable_copy_1022_in_a_queue_holds, &[]),
    ("pinned_upload_returns", pinned_upload_returns, &[]),
    ("pinned_upload_reads_its_source_late", pinned_upload_reads_its_source_late, &[]),
    ("registered_memory_is_pinned", registered_memory_is_pinned, &[]),
    ("pageable_download_holds", pageable_download_holds, &[]),
    ("pinned_download_returns", pinned_download_returns, &[]),
    ("pinned_download_read_early_is_old", pinned_download_read_early_is_old, &[]),
    ("synchronous_copies_wait_for_blocking_streams", synchronous_copies_wait, &[]),
    ("synchronous_device_copies_return", synchronous_device_copies_return, &[]),
    ("asynchronous_device_copies_return", asynchronous_device_copies_return, &[]),
];

fn small_pageable_upload_returns(cuda: &Cuda) {
    let (stream, other, x) = (nb(), nb(), alloc(2 * MIB));
    for bytes in [4, MIB, 2 * MIB] {
        let source = vec![1; bytes];
        returns(cuda, stream, || upload(x, &source, stream));
        returns(cuda, stream, || upload(x, &source, other));
    }
}

fn pageable_upload_copies_its_source(cuda: &Cuda) {
    let (stream, x) = (nb(), alloc(MIB));
    for bytes in [4, MIB] {
        let mut source = vec![1; bytes];
        returns(cuda, stream, || {
            upload(x, &source, stream);
            source.fill(2);
        });
        let mut back = vec![0; bytes];
        download(&mut back, x, stream);
        assert!(back.iter().all(|byte| *byte == 1), "{:?}", &back[..4]);
    }
}

fn large_pageable_upload_holds(cuda: &Cuda) {
    let (stream, other, x) = (nb(), nb(), alloc(4 * MIB));
    for bytes in [3 * MIB, 4 * MIB] {
        let source = vec![1; bytes];
        holds(cuda, stream, || upload(x, &source, stream));
        // On another stream it takes its own time only.
        returns(cuda, stream, || upload(x, &source, other));
    }
}

fn staging_holds_two_mebibytes(cuda: &Cuda) {
    let (stream, x, source) = (nb(), alloc(MIB), vec![1; MIB]);
    returns(cuda, stream, || {
        upload(x, &source, stream);
        upload(x, &source, stream);
    });
    holds(cuda, stream, || {
        upload(x, &source, stream);
        upload(x, &source, stream);
        upload(x, &source, stream);
    });
}

fn pageable_copy_1022_in_a_queue_holds(cuda: &Cuda) {
    let (stream, x) = (nb(), alloc(4));
    sync_all();
    cuda.spin(stream, 2 * SPIN);
    let first = (0..1100).find(|_| time(|| upload(x, &[1; 4], stream)) > SPIN / 2);
    sync_all();
    assert_eq!(first, Some(1021));
}

fn pinned_upload_returns(cuda: &Cuda) {
    let (stream, x) = (nb(), alloc(16 * MIB));
    for bytes in [4, 16 * MIB] {
        let source = pinned(bytes);
        returns(cuda, stream, || upload(x, source, stream));
    }
}

fn pinned_upload_reads_its_source_late(cuda: &Cuda) {
    let (stream, x) = (nb(), alloc(MIB));
    let source = pinned(MIB);
    source.fill(1);
    returns(cuda, stream, || {
        upload(x, source, stream);
        source.fill(2);
    });
    let mut back = vec![0; MIB];
    download(&mut back, x, stream);
    assert!(back.iter().all(|byte| *byte == 2), "{:?}", &back[..4]);
}

fn registered_memory_is_pinned(cuda: &Cuda) {
    let (stream, x) = (nb(), alloc(4 * MIB));
    let mut source = vec![1_u8; 4 * MIB];
    ok(cu!(cuMemHostRegister_v2(source.as_mut_ptr().cast(), source.len(), 0)));
    returns(cuda, stream, || upload(x, &source, stream));
    returns(cuda, stream, || download(&mut source, x, stream));
}

fn pageable_download_holds(cuda: &Cuda) {
    let (stream, other, x) = (nb(), nb(), alloc(MIB));
    for bytes in [4, MIB] {
        let mut target = vec![0; bytes];
        holds(cuda, stream, || download(&mut target, x, stream));
        returns(cuda, stream, || download(&mut target, x, other));
    }
}

fn pinned_download_returns(cuda: &Cuda) {
    let (stream, x) = (nb(), alloc(16 * MIB));
    for bytes in [4, 16 * MIB] {
        let target = pinned(bytes);
        returns(cuda, stream, || download(target, x, stream));
    }
}

fn pinned_download_read_early_is_old(cuda: &Cuda) {
    let (stream, x) = (nb(), alloc(KIB));
    ok(cu!(cuMemsetD8_v2(x, 7, KIB)));
    let target = pinned(KIB);
    returns(cuda, stream, || {
        download(target, x, stream);
        // SAFETY: read as memory that the device may be writing: that is the point.
        let early = unsafe { target.as_ptr().read_volatile() };
        assert_eq!(early, 0);
    });
    assert!(target.iter().all(|byte| *byte == 7));
}

fn synchronous_copies_wait(cuda: &Cuda) {
    let x = alloc(KIB);
    let (mut pageable, locked) = (vec![1_u8; KIB], pinned(KIB));
    for address in [pageable.as_mut_ptr(), locked.as_mut_ptr()] {
        let up = || ok(cu!(cuMemcpyHtoD_v2(x, address.cast(), KIB)));
        let down = || ok(cu!(cuMemcpyDtoH_v2(address.cast(), x, KIB)));
        holds(cuda, blocking(), up);
        holds(cuda, blocking(), down);
        holds(cuda, null(), up);
        holds(cuda, null(), down);
        returns(cuda, nb(), up);
        returns(cuda, nb(), down);
    }
}

fn synchronous_device_copies_return(cuda: &Cuda) {
    let (x, y) = (alloc(MIB), alloc(MIB));
    for busy in [null(), blocking(), nb()] {
        returns(cuda, busy, || ok(cu!(cuMemcpyDtoD_v2(x, y, MIB))));
        returns(cuda, busy, || ok(cu!(cuMemsetD8_v2(x, 1, MIB))));
    }
}

fn asynchronous_device_copies_return(cuda: &Cuda) {
    let (stream, x, y) = (nb(), alloc(MIB), alloc(MIB));
    returns(cuda, stream, || {
        ok(cu!(cuMemsetD8Async(x, 3, MIB, stream)));
        ok(cu!(cuMemcpyDtoDAsync_v2(y, x, MIB, stream)));
        cuda.spin(stream, Duration::ZERO);
    });
    let mut back = vec![0; MIB];
    download(&mut back, y, stream);
    assert!(back.iter().all(|byte| *byte == 3));
}
