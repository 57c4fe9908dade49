//! The device itself: what it is and what it can do.

use std::ffi::c_char;

use super::{Emulator, Out, Status, model};
use crate::backend::API_VERSION;
use crate::sys::*;

/// The one memory pool that there is.
pub const DEFAULT_POOL: Handle = 0x5eed_0001;

fn check(device: Device) -> Status {
    if device == 0 { Ok(()) } else { Err(CUDA_ERROR_INVALID_DEVICE) }
}

pub fn init(_: &Emulator, flags: u32) -> Status {
    if flags == 0 { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
}

pub fn driver_get_version(_: &Emulator, version: Out<i32>) -> Status {
    version.fill(API_VERSION)
}

pub fn get(_: &Emulator, device: Out<Device>, ordinal: i32) -> Status {
    check(ordinal)?;
    device.fill(ordinal)
}

pub fn get_count(_: &Emulator, count: Out<i32>) -> Status {
    count.fill(1)
}

pub fn get_name(_: &Emulator, name: Out<c_char>, length: i32, device: Device) -> Status {
    check(device)?;
    if name.is_null() || length <= 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let text = &model::NAME.as_bytes()[..model::NAME.len().min(length as usize - 1)];
    // SAFETY: the caller gives room for `length` bytes.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), name.0, text.len());
        *name.0.add(text.len()) = 0;
    }
    Ok(())
}

pub fn total_mem(emulator: &Emulator, bytes: Out<usize>, device: Device) -> Status {
    check(device)?;
    let capacity = emulator.lock().arena.capacity();
    bytes.fill(capacity as usize)
}

pub fn get_uuid(_: &Emulator, uuid: Out<u8>, device: Device) -> Status {
    check(device)?;
    if uuid.is_null() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: a CUuuid is 16 bytes.
    unsafe { std::ptr::copy_nonoverlapping(b"streamlings-emul".as_ptr(), uuid.0, 16) };
    Ok(())
}

pub fn compute_capability(
    _: &Emulator,
    major: Out<i32>,
    minor: Out<i32>,
    device: Device,
) -> Status {
    check(device)?;
    major.fill(8).and(minor.fill(6))
}

pub fn get_mem_pool(_: &Emulator, pool: Out<Handle>, device: Device) -> Status {
    check(device)?;
    pool.fill(DEFAULT_POOL)
}

pub fn get_attribute(_: &Emulator, value: Out<i32>, attribute: i32, device: Device) -> Status {
    check(device)?;
    value.fill(attribute_value(attribute))
}

/// CUdevice_attribute, by its number in cuda.h; what the device lacks is 0.
fn attribute_value(attribute: i32) -> i32 {
    match attribute {
        1..=3 => 1024,     // threads of a block; its x; its y
        4 => 64,           // its z
        5 => i32::MAX,     // blocks of a grid in x
        6 | 7 => 65_535,   // in y and z
        8 => 48 << 10,     // shared memory of a block
        9 => 64 << 10,     // constant memory
        10 => 32,          // warp
        12 | 82 => 65_536, // registers of a block, of a multiprocessor
        13 => model::KILOHERTZ,
        14 => 512, // alignment of textures
        15 => 1,   // GPU overlap
        16 => model::MULTIPROCESSORS as i32,
        19 => 1,         // can map host memory
        31 => 1,         // concurrent kernels
        36 => 1_000_000, // memory clock, kHz
        37 => 128,       // memory bus, bits
        38 => 2 << 20,   // L2 cache
        39 => 1536,      // threads of a multiprocessor
        40 => 2,         // copy engines
        41 => 1,         // unified addressing
        75 => 8,         // compute capability, major
        76 => 6,         // and minor
        78 => 1,         // stream priorities
        81 => 100 << 10, // shared memory of a multiprocessor
        95 => 0,         // cooperative launch
        97 => 99 << 10,  // shared memory of a block, opted in
        106 => 16,       // blocks of a multiprocessor
        115 => 1,        // memory pools
        _ => 0,
    }
}
