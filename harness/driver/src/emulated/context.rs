//! Contexts: the primary one, others, and which is current on each thread.

use std::cell::RefCell;
use std::ffi::c_void;

use super::state::Context;
use super::{Emulator, Out, Status, engine};
use crate::sys::*;

thread_local! {
    static CURRENT: RefCell<Vec<Handle>> = const { RefCell::new(Vec::new()) };
}

/// The context that is current on this thread.
pub fn current() -> Option<Handle> {
    CURRENT.try_with(|stack| stack.borrow().last().copied()).ok().flatten().filter(|top| *top != 0)
}

fn set(context: Handle) {
    let _ = CURRENT.try_with(|stack| {
        let mut stack = stack.borrow_mut();
        stack.pop();
        if context != 0 {
            stack.push(context);
        }
    });
}

fn push(context: Handle) {
    let _ = CURRENT.try_with(|stack| stack.borrow_mut().push(context));
}

fn check_device(device: Device) -> Status {
    if device == 0 { Ok(()) } else { Err(CUDA_ERROR_INVALID_DEVICE) }
}

pub fn primary_retain(emulator: &Emulator, context: Out<Handle>, device: Device) -> Status {
    check_device(device)?;
    let mut state = emulator.lock();
    let handle = match state.primary {
        Some(handle) => handle,
        None => {
            let handle = state.handle();
            state.primary = Some(handle);
            handle
        }
    };
    state.contexts.entry(handle).or_default().retained += 1;
    drop(state);
    context.fill(handle)
}

pub fn primary_release(emulator: &Emulator, device: Device) -> Status {
    check_device(device)?;
    let mut state = emulator.lock();
    let Some(handle) = state.primary else { return Err(CUDA_ERROR_INVALID_CONTEXT) };
    let Some(context) = state.contexts.get_mut(&handle) else {
        return Err(CUDA_ERROR_INVALID_CONTEXT);
    };
    if context.retained == 0 {
        return Err(CUDA_ERROR_INVALID_CONTEXT);
    }
    context.retained -= 1;
    if context.retained > 0 {
        return Ok(());
    }
    let mut state = emulator.wait_until(state, |state| !state.context_busy(handle));
    tear_down(&mut state, handle);
    state.contexts.insert(handle, Context::default());
    Ok(())
}

pub fn primary_reset(emulator: &Emulator, device: Device) -> Status {
    check_device(device)?;
    let mut state = emulator.lock();
    if let Some(handle) = state.primary {
        engine::drop_ops(&mut state, handle);
        tear_down(&mut state, handle);
        state.contexts.insert(handle, Context::default());
    }
    emulator.completed.notify_all();
    Ok(())
}

pub fn primary_set_flags(emulator: &Emulator, device: Device, flags: u32) -> Status {
    check_device(device)?;
    let mut state = emulator.lock();
    if let Some(handle) = state.primary
        && let Some(context) = state.contexts.get_mut(&handle)
    {
        context.flags = flags;
    }
    Ok(())
}

pub fn primary_get_state(
    emulator: &Emulator,
    device: Device,
    flags: Out<u32>,
    active: Out<i32>,
) -> Status {
    check_device(device)?;
    let state = emulator.lock();
    let primary = state.primary.and_then(|handle| state.contexts.get(&handle));
    let (is_active, its_flags) =
        primary.map_or((0, 0), |context| (i32::from(context.retained > 0), context.flags));
    flags.fill(its_flags).and(active.fill(is_active))
}

/// Forgets all that belongs to a context: its streams, events and modules. Its memory stays taken
/// until it is freed, as nothing notes whose it is.
fn tear_down(state: &mut super::State, handle: Handle) {
    state.contexts.remove(&handle);
    state.streams.retain(|_, stream| stream.context != handle);
    state.per_thread.retain(|(context, _), _| *context != handle);
    state.events.retain(|_, event| event.context != handle);
    state.modules.retain(|_, module| module.context != handle);
}

pub fn create(emulator: &Emulator, context: Out<Handle>, flags: u32, device: Device) -> Status {
    check_device(device)?;
    let mut state = emulator.lock();
    let handle = state.handle();
    state.contexts.insert(handle, Context { retained: 1, flags, ..Context::default() });
    drop(state);
    context.fill(handle)?;
    push(handle);
    Ok(())
}

pub fn create_v3(
    emulator: &Emulator,
    context: Out<Handle>,
    _affinity: Out<c_void>,
    count: i32,
    flags: u32,
    device: Device,
) -> Status {
    if count != 0 {
        return Err(CUDA_ERROR_NOT_SUPPORTED);
    }
    create(emulator, context, flags, device)
}

pub fn destroy(emulator: &Emulator, context: Handle) -> Status {
    let state = emulator.lock();
    if !state.contexts.contains_key(&context) || state.primary == Some(context) {
        return Err(CUDA_ERROR_INVALID_CONTEXT);
    }
    let mut state = emulator.wait_until(state, |state| !state.context_busy(context));
    tear_down(&mut state, context);
    drop(state);
    if current() == Some(context) {
        set(0);
    }
    Ok(())
}

pub fn get_current(_: &Emulator, context: Out<Handle>) -> Status {
    context.fill(current().unwrap_or(0))
}

pub fn set_current(emulator: &Emulator, context: Handle) -> Status {
    if context != 0 && !emulator.lock().contexts.contains_key(&context) {
        return Err(CUDA_ERROR_INVALID_CONTEXT);
    }
    set(context);
    Ok(())
}

pub fn push_current(emulator: &Emulator, context: Handle) -> Status {
    if !emulator.lock().contexts.contains_key(&context) {
        return Err(CUDA_ERROR_INVALID_CONTEXT);
    }
    push(context);
    Ok(())
}

pub fn pop_current(_: &Emulator, context: Out<Handle>) -> Status {
    let Some(top) = current() else { return Err(CUDA_ERROR_INVALID_CONTEXT) };
    set(0);
    if context.is_null() { Ok(()) } else { context.fill(top) }
}

/// The current context, which must be there.
fn needed() -> Result<Handle, CUresult> {
    current().ok_or(CUDA_ERROR_INVALID_CONTEXT)
}

pub fn get_device(_: &Emulator, device: Out<Device>) -> Status {
    needed()?;
    device.fill(0)
}

pub fn get_flags(emulator: &Emulator, flags: Out<u32>) -> Status {
    let context = needed()?;
    let value = emulator.lock().contexts.get(&context).map_or(0, |context| context.flags);
    flags.fill(value)
}

pub fn get_id(_: &Emulator, context: Handle, id: Out<u64>) -> Status {
    let handle = if context == 0 { needed()? } else { context };
    id.fill(handle as u64)
}

pub fn get_api_version(_: &Emulator, _context: Handle, version: Out<u32>) -> Status {
    version.fill(3020)
}

pub fn get_limit(_: &Emulator, value: Out<usize>, limit: i32) -> Status {
    needed()?;
    let size = match limit {
        0 => 1 << 10, // stack of a thread
        1 => 1 << 20, // printf buffer
        2 => 8 << 20, // heap
        _ => return Err(CUDA_ERROR_UNSUPPORTED_LIMIT),
    };
    value.fill(size)
}

pub fn set_limit(_: &Emulator, limit: i32, _value: usize) -> Status {
    needed()?;
    if (0..=2).contains(&limit) { Ok(()) } else { Err(CUDA_ERROR_UNSUPPORTED_LIMIT) }
}

pub fn get_config(_: &Emulator, config: Out<i32>) -> Status {
    needed()?;
    config.fill(0)
}

pub fn set_config(_: &Emulator, _config: i32) -> Status {
    needed().map(|_| ())
}

pub fn get_stream_priority_range(_: &Emulator, least: Out<i32>, greatest: Out<i32>) -> Status {
    needed()?;
    // Either may be null: the caller then does not want it.
    if !least.is_null() {
        least.fill(0)?;
    }
    if greatest.is_null() { Ok(()) } else { greatest.fill(-5) }
}

pub fn synchronize(emulator: &Emulator) -> Status {
    let (state, context) = emulator.enter()?;
    emulator.wait_for_context(state, context).map(|_| ())
}
