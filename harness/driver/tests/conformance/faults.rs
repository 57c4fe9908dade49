//! What a kernel that writes to a bad address does to everything after it.

use crate::Row;
use crate::support::*;

pub const ROWS: &[Row] = &[
    ("fault_surfaces_at_the_next_synchronize", fault_surfaces_late, &[]),
    ("fault_is_sticky", fault_is_sticky, &[]),
    ("launch_blocking_reports_at_the_launch", launch_blocking, &[("CUDA_LAUNCH_BLOCKING", "1")]),
    ("names_of_errors", names_of_errors, &[]),
];

const ILLEGAL: CUresult = CUresult::CUDA_ERROR_ILLEGAL_ADDRESS;
/// An address that no allocation has.
const BAD: CUdeviceptr = 0x10;

fn fault_surfaces_late(cuda: &Cuda) {
    let stream = nb();
    ok(cuda.try_fill(stream, BAD, 1.0, 1));
    assert_eq!(cu!(cuStreamSynchronize(stream)), ILLEGAL);
}

fn fault_is_sticky(cuda: &Cuda) {
    let (stream, other, x, e) = (nb(), nb(), alloc(4), event());
    ok(cuda.try_fill(stream, BAD, 1.0, 1));
    assert_eq!(cu!(cuCtxSynchronize()), ILLEGAL);
    let (mut address, mut handle, mut new) = (0, std::ptr::null_mut(), std::ptr::null_mut());
    assert_eq!(cuda.try_fill(other, x, 1.0, 1), ILLEGAL, "launch");
    assert_eq!(cu!(cuStreamSynchronize(other)), ILLEGAL, "stream synchronize");
    assert_eq!(cu!(cuCtxSynchronize()), ILLEGAL, "context synchronize");
    assert_eq!(cu!(cuMemAlloc_v2(&mut address, 4)), ILLEGAL, "allocate");
    assert_eq!(cu!(cuMemFree_v2(x)), ILLEGAL, "free");
    assert_eq!(cu!(cuEventCreate(&mut handle, 0)), ILLEGAL, "event create");
    assert_eq!(cu!(cuEventRecord(e, other)), ILLEGAL, "event record");
    assert_eq!(cu!(cuEventQuery(e)), ILLEGAL, "event query");
    assert_eq!(cu!(cuStreamQuery(other)), ILLEGAL, "stream query");
    assert_eq!(cu!(cuStreamCreate(&mut new, 1)), ILLEGAL, "stream create");
    assert_eq!(cu!(cuMemsetD8Async(x, 0, 4, other)), ILLEGAL, "memset");
}

fn launch_blocking(cuda: &Cuda) {
    assert_eq!(cuda.try_fill(nb(), BAD, 1.0, 1), ILLEGAL);
}

fn names_of_errors(_: &Cuda) {
    let name = out(|name| cu!(cuGetErrorName(ILLEGAL, name)));
    // SAFETY: a static string of the driver.
    let name = unsafe { std::ffi::CStr::from_ptr(name) };
    assert_eq!(name.to_str(), Ok("CUDA_ERROR_ILLEGAL_ADDRESS"));
}
