//! Streams.

use std::ffi::c_void;
use std::sync::MutexGuard;

use super::arena::{Knows, StreamKey};
use super::engine::{Callback, OpId, Work};
use super::state::{Kind, Stream};
use super::{Emulator, State, Status, fill, model};
use crate::sys::*;

type Guard<'a> = MutexGuard<'a, State>;

impl Emulator {
    /// Enqueues an operation, waiting first for a place in the stream's queue if it needs one.
    pub(super) fn submit<'a>(
        &'a self,
        state: Guard<'a>,
        context: Handle,
        stream: StreamKey,
        work: Work,
    ) -> Result<(Guard<'a>, OpId), CUresult> {
        let mut state = if work.fills_queue() {
            let state = self.wait_until(state, |state| {
                state.streams.get(&stream).is_none_or(|stream| stream.depth < model::QUEUE)
            });
            fault_of(&state, context)?;
            state
        } else {
            state
        };
        let op = state.enqueue(stream, work, &[]);
        self.wake(&mut state);
        Ok((state, op))
    }

    /// Waits for operations; then says whether the context is still sound.
    pub(super) fn wait_for<'a>(
        &'a self,
        state: Guard<'a>,
        context: Handle,
        ops: &[OpId],
    ) -> Result<Guard<'a>, CUresult> {
        let state = self.wait_until(state, |state| ops.iter().all(|op| !state.pending(*op)));
        fault_of(&state, context)?;
        Ok(state)
    }

    /// Waits for all that a context has pending at this moment.
    pub(super) fn wait_for_context<'a>(
        &'a self,
        state: Guard<'a>,
        context: Handle,
    ) -> Result<Guard<'a>, CUresult> {
        let ops = state.context_ops(context);
        self.wait_for(state, context, &ops)
    }
}

pub(super) fn fault_of(state: &State, context: Handle) -> Status {
    match state.contexts.get(&context).map(|context| context.fault) {
        Some(None) => Ok(()),
        Some(Some(fault)) => Err(fault),
        None => Err(CUDA_ERROR_INVALID_CONTEXT),
    }
}

pub unsafe fn create(emulator: &Emulator, stream: *mut Handle, flags: u32) -> Status {
    unsafe { create_with_priority(emulator, stream, flags, 0) }
}

pub unsafe fn create_with_priority(
    emulator: &Emulator,
    stream: *mut Handle,
    flags: u32,
    priority: i32,
) -> Status {
    let (mut state, context) = emulator.enter()?;
    if flags & !STREAM_NON_BLOCKING != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let kind = if flags & STREAM_NON_BLOCKING != 0 { Kind::NonBlocking } else { Kind::Blocking };
    let handle = state.handle();
    unsafe { fill(stream, handle) }?;
    state.streams.insert(handle, Stream::new(context, kind, priority.clamp(-5, 0)));
    Ok(())
}

pub unsafe fn destroy(emulator: &Emulator, stream: Handle) -> Status {
    let (mut state, context) = emulator.enter()?;
    let key = state.stream(stream, context)?;
    if key != stream {
        // A default stream cannot be destroyed.
        return Err(CUDA_ERROR_INVALID_HANDLE);
    }
    let pending = state
        .streams
        .get(&key)
        .and_then(|stream| stream.last)
        .is_some_and(|last| state.pending(last));
    if pending {
        if let Some(stream) = state.streams.get_mut(&key) {
            stream.destroyed = true;
        }
    } else {
        state.streams.remove(&key);
    }
    Ok(())
}

pub unsafe fn synchronize(emulator: &Emulator, stream: Handle) -> Status {
    let (mut state, context) = emulator.enter()?;
    let key = state.stream(stream, context)?;
    let mut ops: Vec<OpId> = state.streams.get(&key).and_then(|s| s.last).into_iter().collect();
    // The legacy stream's work includes that of the blocking streams that it is a barrier for.
    if state.streams.get(&key).is_some_and(|stream| stream.kind == Kind::Legacy) {
        let blocking = state
            .streams
            .values()
            .filter(|stream| stream.context == context && stream.kind == Kind::Blocking);
        ops.extend(blocking.filter_map(|stream| stream.last));
    }
    emulator.wait_for(state, context, &ops).map(|_| ())
}

pub unsafe fn query(emulator: &Emulator, stream: Handle) -> Status {
    let (mut state, context) = emulator.enter()?;
    let key = state.stream(stream, context)?;
    let last = state.streams.get(&key).and_then(|stream| stream.last);
    match last {
        Some(last) if state.pending(last) => Err(CUDA_ERROR_NOT_READY),
        _ => Ok(()),
    }
}

pub unsafe fn wait_event(
    emulator: &Emulator,
    stream: Handle,
    event: Handle,
    _flags: u32,
) -> Status {
    let (mut state, context) = emulator.enter()?;
    let key = state.stream(stream, context)?;
    let event = state.events.get(&event).ok_or(CUDA_ERROR_INVALID_HANDLE)?;
    let Some(record) = &event.record else { return Ok(()) };
    let (op, knows) = (record.op, {
        let mut knows = record.knows.clone();
        knows.insert(record.stream, op_of(record));
        knows
    });
    if let Some(stream) = state.streams.get_mut(&key) {
        stream.learn(&knows);
    }
    if state.pending(op) {
        state.enqueue(key, Work::Mark, &[op]);
        emulator.wake(&mut state);
    }
    Ok(())
}

fn op_of(record: &super::state::Record) -> OpId {
    record.op
}

/// What a record on a stream tells those who wait for it.
pub(super) fn knowledge(state: &State, stream: StreamKey) -> Knows {
    state.streams.get(&stream).map(|stream| stream.knows.clone()).unwrap_or_default()
}

pub unsafe fn get_flags(emulator: &Emulator, stream: Handle, flags: *mut u32) -> Status {
    let (mut state, context) = emulator.enter()?;
    let key = state.stream(stream, context)?;
    let kind = state.streams.get(&key).map(|stream| stream.kind);
    unsafe { fill(flags, u32::from(kind == Some(Kind::NonBlocking))) }
}

pub unsafe fn get_priority(emulator: &Emulator, stream: Handle, priority: *mut i32) -> Status {
    let (mut state, context) = emulator.enter()?;
    let key = state.stream(stream, context)?;
    let value = state.streams.get(&key).map_or(0, |stream| stream.priority);
    unsafe { fill(priority, value) }
}

pub unsafe fn get_ctx(emulator: &Emulator, stream: Handle, context: *mut Handle) -> Status {
    let (mut state, current) = emulator.enter()?;
    let key = state.stream(stream, current)?;
    let owner = state.streams.get(&key).map_or(current, |stream| stream.context);
    unsafe { fill(context, owner) }
}

pub unsafe fn get_id(emulator: &Emulator, stream: Handle, id: *mut u64) -> Status {
    let (mut state, context) = emulator.enter()?;
    let key = state.stream(stream, context)?;
    unsafe { fill(id, key as u64) }
}

pub unsafe fn is_capturing(emulator: &Emulator, stream: Handle, status: *mut i32) -> Status {
    let (mut state, context) = emulator.enter()?;
    state.stream(stream, context)?;
    unsafe { fill(status, 0) }
}

pub unsafe fn launch_host_func(
    emulator: &Emulator,
    stream: Handle,
    function: HostFn,
    data: *mut c_void,
) -> Status {
    let (mut state, context) = emulator.enter()?;
    if function.is_none() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let key = state.stream(stream, context)?;
    let work = Work::Callback { function: Callback::Host(function), data: data as usize };
    emulator.submit(state, context, key, work).map(|_| ())
}

pub unsafe fn add_callback(
    emulator: &Emulator,
    stream: Handle,
    callback: StreamCallback,
    data: *mut c_void,
    flags: u32,
) -> Status {
    let (mut state, context) = emulator.enter()?;
    if callback.is_none() || flags != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let key = state.stream(stream, context)?;
    let function = Callback::Stream(callback, stream);
    let work = Work::Callback { function, data: data as usize };
    emulator.submit(state, context, key, work).map(|_| ())
}
