//! Memory: device allocations, page-locked host memory, what a pointer is.

use std::alloc::Layout;
use std::ffi::c_void;

use super::arena::{For, POISON, Pinned};
use super::engine::Work;
use super::{Emulator, Out, Status, device, engine};
use crate::sys::*;

/// Pages of host memory.
const PAGE: usize = 4096;

pub fn alloc(emulator: &Emulator, address: Out<DevicePtr>, bytes: usize) -> Status {
    let (mut guard, context) = emulator.enter()?;
    let state = &mut *guard;
    let ops = &state.ops;
    let at = state.arena.alloc(bytes, For::Host, |op| ops.contains_key(&op))?;
    address.fill(at)?;
    // The poison is written before anything that is enqueued later can start: the executor works in
    // the order of the clock.
    let key = state.own_stream(context);
    let at = state.arena.bytes_of(at);
    state.enqueue(key, Work::Poison { at, bytes }, &[]);
    crate::record::note_operation(0);
    emulator.wake(state);
    Ok(())
}

pub fn free(emulator: &Emulator, address: DevicePtr) -> Status {
    let (state, context) = emulator.enter()?;
    if address == 0 {
        return Ok(());
    }
    let live = state.arena.at(address).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    if live.stream_ordered {
        // Returns at once; the memory is used again when all that is pending now is done.
        let mut state = state;
        let key = state.own_stream(context);
        let behind = state.context_ops(context);
        let op = state.enqueue(key, Work::Mark, &behind);
        crate::record::note_operation(0);
        state.arena.free(address, Some((key, op)));
        emulator.wake(&mut state);
        return Ok(());
    }
    let mut state = emulator.wait_for_context(state, context)?;
    state.arena.free(address, None);
    Ok(())
}

pub fn alloc_async(
    emulator: &Emulator,
    address: Out<DevicePtr>,
    bytes: usize,
    stream: Handle,
) -> Status {
    let (mut guard, context) = emulator.enter()?;
    let key = guard.stream(stream, context)?;
    let state = &mut *guard;
    let knows = state.streams.get(&key).map(|stream| stream.knows.clone()).unwrap_or_default();
    let ops = &state.ops;
    let at = state.arena.alloc(bytes, For::Stream(key, &knows), |op| ops.contains_key(&op))?;
    address.fill(at)?;
    let at = state.arena.bytes_of(at);
    state.enqueue(key, Work::Poison { at, bytes }, &[]);
    emulator.wake(state);
    Ok(())
}

pub fn alloc_from_pool_async(
    emulator: &Emulator,
    address: Out<DevicePtr>,
    bytes: usize,
    pool: Handle,
    stream: Handle,
) -> Status {
    if pool != device::DEFAULT_POOL {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    alloc_async(emulator, address, bytes, stream)
}

pub fn free_async(emulator: &Emulator, address: DevicePtr, stream: Handle) -> Status {
    let (mut state, context) = emulator.enter()?;
    if address == 0 {
        return Ok(());
    }
    let key = state.stream(stream, context)?;
    state.arena.at(address).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let op = state.enqueue(key, Work::Mark, &[]);
    state.arena.free(address, Some((key, op)));
    emulator.wake(&mut state);
    Ok(())
}

pub fn host_alloc(
    emulator: &Emulator,
    address: Out<*mut c_void>,
    bytes: usize,
    flags: u32,
) -> Status {
    let (state, _) = emulator.enter()?;
    drop(state);
    if bytes == 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let layout = Layout::from_size_align(bytes, PAGE).map_err(|_| CUDA_ERROR_OUT_OF_MEMORY)?;
    // SAFETY: the layout is not empty.
    let memory = unsafe { std::alloc::alloc(layout) };
    if memory.is_null() {
        return Err(CUDA_ERROR_OUT_OF_MEMORY);
    }
    // SAFETY: just allocated. Touching the pages is what page-locking costs; the poison shows who
    // reads what nobody wrote.
    unsafe { engine::write_pattern(memory as usize, POISON.to_ne_bytes(), bytes) };
    // SAFETY: the caller's out-parameter.
    address.fill(memory.cast())?;
    let pinned = Pinned { length: bytes as u64, flags, allocated: true };
    emulator.lock().arena.pinned.insert(memory as u64, pinned);
    Ok(())
}

pub fn alloc_host(emulator: &Emulator, address: Out<*mut c_void>, bytes: usize) -> Status {
    host_alloc(emulator, address, bytes, 0)
}

pub fn free_host(emulator: &Emulator, address: Out<c_void>) -> Status {
    let (state, context) = emulator.enter()?;
    let pinned = state.arena.pinned.get(&(address.address() as u64)).copied();
    let pinned = pinned.filter(|pinned| pinned.allocated).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let mut state = emulator.wait_for_context(state, context)?;
    if state.arena.pinned.remove(&(address.address() as u64)).is_none() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    drop(state);
    let layout = Layout::from_size_align(pinned.length as usize, PAGE)
        .map_err(|_| CUDA_ERROR_INVALID_VALUE)?;
    // SAFETY: allocated by `host_alloc` with this layout, and taken out of the list above, so freed
    // once; no pending operation uses it.
    unsafe { std::alloc::dealloc(address.0.cast(), layout) };
    Ok(())
}

pub fn host_register(
    emulator: &Emulator,
    address: Out<c_void>,
    bytes: usize,
    flags: u32,
) -> Status {
    let (mut state, _) = emulator.enter()?;
    if address.is_null() || bytes == 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let start = address.address() as u64;
    let last = start.saturating_add(bytes as u64 - 1);
    let before = state.arena.pinned.range(..=last).next_back();
    if before.is_some_and(|(other, pinned)| other + pinned.length > start) {
        return Err(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    }
    let pinned = Pinned { length: bytes as u64, flags, allocated: false };
    state.arena.pinned.insert(start, pinned);
    Ok(())
}

pub fn host_unregister(emulator: &Emulator, address: Out<c_void>) -> Status {
    let (state, context) = emulator.enter()?;
    let pinned = state.arena.pinned.get(&(address.address() as u64));
    pinned.filter(|pinned| !pinned.allocated).ok_or(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)?;
    let mut state = emulator.wait_for_context(state, context)?;
    state.arena.pinned.remove(&(address.address() as u64));
    Ok(())
}

pub fn host_get_device_pointer(
    emulator: &Emulator,
    device: Out<DevicePtr>,
    host: Out<c_void>,
    _flags: u32,
) -> Status {
    let (state, _) = emulator.enter()?;
    state.arena.pinned_holder(host.address() as u64).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    device.fill(host.address() as u64)
}

pub fn host_get_flags(emulator: &Emulator, flags: Out<u32>, host: Out<c_void>) -> Status {
    let (state, _) = emulator.enter()?;
    let (_, pinned) =
        state.arena.pinned_holder(host.address() as u64).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    flags.fill(pinned.flags)
}

pub fn get_info(emulator: &Emulator, free: Out<usize>, total: Out<usize>) -> Status {
    let (state, _) = emulator.enter()?;
    let (available, capacity) = (state.arena.available(), state.arena.capacity());
    free.fill(available as usize).and(total.fill(capacity as usize))
}

pub fn get_address_range(
    emulator: &Emulator,
    base: Out<DevicePtr>,
    size: Out<usize>,
    address: DevicePtr,
) -> Status {
    let (state, _) = emulator.enter()?;
    let (start, length) = state.arena.holder(address).ok_or(CUDA_ERROR_NOT_FOUND)?;
    // Either may be null: the caller then does not want it.
    if !base.is_null() {
        base.fill(start)?;
    }
    if size.is_null() { Ok(()) } else { size.fill(length as usize) }
}

pub fn pointer_get_attribute(
    emulator: &Emulator,
    value: Out<c_void>,
    attribute: i32,
    address: DevicePtr,
) -> Status {
    let (state, context) = emulator.enter()?;
    let is_device = state.arena.holder(address).is_some();
    if !is_device && state.arena.pinned_holder(address).is_none() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    // CUpointer_attribute, by its number in cuda.h.
    // SAFETY: each has a type of its own, and the caller gives a place for it.
    unsafe {
        match attribute {
            1 => value.cast().fill(context),
            2 => value.cast().fill(if is_device { 2_u32 } else { 1 }),
            3 => value.cast().fill(address),
            4 if !is_device => value.cast().fill(address),
            4 => Err(CUDA_ERROR_INVALID_VALUE),
            8 => value.cast().fill(false),
            9 => value.cast().fill(0_i32),
            _ => Err(CUDA_ERROR_NOT_SUPPORTED),
        }
    }
}

pub fn pool_get_attribute(
    emulator: &Emulator,
    _pool: Handle,
    attribute: i32,
    value: Out<c_void>,
) -> Status {
    let (state, _) = emulator.enter()?;
    let used = state.arena.capacity() - state.arena.available();
    // CUmemPool_attribute, by its number in cuda.h.
    // SAFETY: the three reuse switches are ints, the rest 64-bit sizes; the caller gives a place for one.
    unsafe {
        match attribute {
            1..=3 => value.cast().fill(1_i32),
            4 => value.cast().fill(u64::MAX),
            5..=8 => value.cast().fill(used),
            _ => Err(CUDA_ERROR_INVALID_VALUE),
        }
    }
}

pub fn pool_set_attribute(
    emulator: &Emulator,
    _pool: Handle,
    attribute: i32,
    _value: Out<c_void>,
) -> Status {
    drop(emulator.enter()?);
    if (1..=8).contains(&attribute) { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
}

pub fn pool_trim_to(emulator: &Emulator, _pool: Handle, _keep: usize) -> Status {
    emulator.enter().map(|_| ())
}
