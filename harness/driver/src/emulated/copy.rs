//! Copies and memsets: which memory they are between decides who is held up.

use std::ffi::c_void;

use super::engine::{DOWN, OpId, Source, Target, UP, Work, read};
use super::model::{self, Route};
use super::{Emulator, Out, Status, stream};
use crate::sys::*;

/// The form of a call: with a stream, or synchronous on the legacy default stream.
#[derive(Clone, Copy)]
enum Form {
    Synchronous,
    On(Handle),
}

/// Either end of a copy.
#[derive(Clone, Copy)]
enum End {
    Device(DevicePtr),
    Host(usize),
}

pub fn htod(e: &Emulator, to: DevicePtr, from: *const c_void, bytes: usize) -> Status {
    copy(e, End::Device(to), End::Host(from as usize), bytes, Form::Synchronous)
}

pub fn htod_async(
    e: &Emulator,
    to: DevicePtr,
    from: *const c_void,
    bytes: usize,
    stream: Handle,
) -> Status {
    copy(e, End::Device(to), End::Host(from as usize), bytes, Form::On(stream))
}

pub fn dtoh(e: &Emulator, to: Out<c_void>, from: DevicePtr, bytes: usize) -> Status {
    copy(e, End::Host(to.address()), End::Device(from), bytes, Form::Synchronous)
}

pub fn dtoh_async(
    e: &Emulator,
    to: Out<c_void>,
    from: DevicePtr,
    bytes: usize,
    stream: Handle,
) -> Status {
    copy(e, End::Host(to.address()), End::Device(from), bytes, Form::On(stream))
}

pub fn dtod(e: &Emulator, to: DevicePtr, from: DevicePtr, bytes: usize) -> Status {
    copy(e, End::Device(to), End::Device(from), bytes, Form::Synchronous)
}

pub fn dtod_async(
    e: &Emulator,
    to: DevicePtr,
    from: DevicePtr,
    bytes: usize,
    stream: Handle,
) -> Status {
    copy(e, End::Device(to), End::Device(from), bytes, Form::On(stream))
}

pub fn any(e: &Emulator, to: DevicePtr, from: DevicePtr, bytes: usize) -> Status {
    let (to, from) = (end_of(e, to), end_of(e, from));
    copy(e, to, from, bytes, Form::Synchronous)
}

pub fn any_async(
    e: &Emulator,
    to: DevicePtr,
    from: DevicePtr,
    bytes: usize,
    stream: Handle,
) -> Status {
    let (to, from) = (end_of(e, to), end_of(e, from));
    copy(e, to, from, bytes, Form::On(stream))
}

/// What a unified address is: device memory, or the host's.
fn end_of(emulator: &Emulator, address: u64) -> End {
    if emulator.lock().arena.is_device(address) {
        End::Device(address)
    } else {
        End::Host(address as usize)
    }
}

/// What the host waits for after a copy was enqueued.
enum Wait {
    /// Nothing.
    No,
    /// Its end.
    End,
    /// All but its last part, which may still be on its way: so it is of a synchronous pageable upload,
    /// <https://docs.nvidia.com/cuda/cuda-driver-api/api-sync-behavior.html>.
    AllButLast,
}

fn copy(emulator: &Emulator, to: End, from: End, bytes: usize, form: Form) -> Status {
    let (mut state, context) = emulator.enter()?;
    if bytes == 0 {
        return Ok(());
    }
    let handle = match form {
        Form::Synchronous => STREAM_LEGACY,
        Form::On(stream) => stream,
    };
    let key = state.stream(handle, context)?;
    for end in [to, from] {
        match end {
            End::Device(address) if state.arena.locate(address, bytes as u64).is_none() => {
                return Err(CUDA_ERROR_INVALID_VALUE);
            }
            End::Host(0) => return Err(CUDA_ERROR_INVALID_VALUE),
            _ => {}
        }
    }
    let synchronous = matches!(form, Form::Synchronous);
    let is_pinned = |address: usize| state.arena.pinned_holder(address as u64).is_some();
    let (work, wait) = match (from, to) {
        (End::Device(from), End::Device(to)) => {
            // Asynchronous to the host in either form.
            let (from, to) = (Source::Device(from), Target::Device(to));
            (Work::Copy { from, to, bytes, route: Route::Device, unit: None }, Wait::No)
        }
        (End::Host(from), End::Device(to)) if is_pinned(from) => {
            let (from, to) = (Source::Host(from), Target::Device(to));
            let wait = if synchronous { Wait::End } else { Wait::No };
            (Work::Copy { from, to, bytes, route: Route::Pinned, unit: Some(UP) }, wait)
        }
        (End::Host(from), End::Device(to)) => {
            let to = Target::Device(to);
            let (route, unit) = (Route::Pageable, Some(UP));
            if synchronous {
                let from = Source::Host(from);
                (Work::Copy { from, to, bytes, route, unit }, Wait::AllButLast)
            } else if bytes <= model::STAGED_COPY {
                // SAFETY: the caller's source, readable until the call returns.
                let data = unsafe { read(from, bytes) };
                state = emulator.wait_until(state, |state| {
                    state
                        .contexts
                        .get(&context)
                        .is_none_or(|context| context.staged + bytes <= model::STAGING)
                });
                stream::fault_of(&state, context)?;
                if let Some(context) = state.contexts.get_mut(&context) {
                    context.staged += bytes;
                }
                (Work::Copy { from: Source::Staged(data), to, bytes, route, unit }, Wait::No)
            } else {
                let from = Source::Host(from);
                (Work::Copy { from, to, bytes, route, unit }, Wait::End)
            }
        }
        (End::Device(from), End::Host(to)) => {
            let pinned = is_pinned(to);
            let (from, to) = (Source::Device(from), Target::Host(to));
            let route = if pinned { Route::Pinned } else { Route::Pageable };
            let wait = if synchronous || !pinned { Wait::End } else { Wait::No };
            (Work::Copy { from, to, bytes, route, unit: Some(DOWN) }, wait)
        }
        (End::Host(from), End::Host(to)) => {
            let (from, to) = (Source::Host(from), Target::Host(to));
            (Work::Copy { from, to, bytes, route: Route::Host, unit: None }, Wait::End)
        }
    };
    let (state, op) = emulator.submit(state, context, key, work)?;
    match wait {
        Wait::No => Ok(()),
        Wait::End => emulator.wait_for(state, context, &[op]).map(|_| ()),
        Wait::AllButLast => {
            drop(state);
            wait_for_source(emulator, context, op, bytes)
        }
    }
}

/// Waits until the last part of a synchronous pageable upload is all that is left.
fn wait_for_source(emulator: &Emulator, context: Handle, op: OpId, bytes: usize) -> Status {
    let last = bytes.min(model::UNFINISHED_UPLOAD);
    let ahead = model::copy(bytes, Route::Pageable) - model::copy(last, Route::Pageable);
    let state = emulator.wait_until(emulator.lock(), |state| state.has_started(op));
    stream::fault_of(&state, context)?;
    let Some(started) = state.started(op) else { return Ok(()) };
    drop(state);
    emulator.pause_until(started + ahead);
    Ok(())
}

pub fn memset_d8(e: &Emulator, to: DevicePtr, value: u8, count: usize) -> Status {
    set(e, to, [value; 4], count, 1, Form::Synchronous)
}

pub fn memset_d8_async(
    e: &Emulator,
    to: DevicePtr,
    value: u8,
    count: usize,
    stream: Handle,
) -> Status {
    set(e, to, [value; 4], count, 1, Form::On(stream))
}

fn twice(value: u16) -> [u8; 4] {
    let [low, high] = value.to_ne_bytes();
    [low, high, low, high]
}

pub fn memset_d16(e: &Emulator, to: DevicePtr, value: u16, count: usize) -> Status {
    set(e, to, twice(value), count, 2, Form::Synchronous)
}

pub fn memset_d16_async(
    e: &Emulator,
    to: DevicePtr,
    value: u16,
    count: usize,
    stream: Handle,
) -> Status {
    set(e, to, twice(value), count, 2, Form::On(stream))
}

pub fn memset_d32(e: &Emulator, to: DevicePtr, value: u32, count: usize) -> Status {
    set(e, to, value.to_ne_bytes(), count, 4, Form::Synchronous)
}

pub fn memset_d32_async(
    e: &Emulator,
    to: DevicePtr,
    value: u32,
    count: usize,
    stream: Handle,
) -> Status {
    set(e, to, value.to_ne_bytes(), count, 4, Form::On(stream))
}

fn set(
    emulator: &Emulator,
    at: DevicePtr,
    value: [u8; 4],
    count: usize,
    size: usize,
    form: Form,
) -> Status {
    let (mut state, context) = emulator.enter()?;
    let handle = match form {
        Form::Synchronous => STREAM_LEGACY,
        Form::On(stream) => stream,
    };
    let key = state.stream(handle, context)?;
    if count == 0 {
        return Ok(());
    }
    let bytes = count.checked_mul(size).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    if !at.is_multiple_of(size as u64) || state.arena.locate(at, bytes as u64).is_none() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    emulator.submit(state, context, key, Work::Set { at, value, bytes }).map(|_| ())
}
