//! Streams.

use std::ffi::c_void;
use std::sync::MutexGuard;

use super::arena::{Knows, StreamKey};
use super::engine::{Callback, OpId, Work};
use super::state::{Kind, Stream};
use super::{Emulator, Out, State, Status, model};
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

pub fn create(emulator: &Emulator, stream: Out<Handle>, flags: u32) -> Status {
    create_with_priority(emulator, stream, flags, 0)
}

pub fn create_with_priority(
    emulator: &Emulator,
    stream: Out<Handle>,
    flags: u32,
    priority: i32,
) -> Status {
    let (mut state, context) = emulator.enter()?;
    if flags & !STREAM_NON_BLOCKING != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let kind = if flags & STREAM_NON_BLOCKING != 0 { Kind::NonBlocking } else { Kind::Blocking };
    let handle = state.handle();
    stream.fill(handle)?;
    state.streams.insert(handle, Stream::new(context, kind, priority.clamp(-5, 0)));
    Ok(())
}

pub fn destroy(emulator: &Emulator, stream: Handle) -> Status {
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

/// The newest operations that a stream's synchronize and query are about. The legacy stream speaks for
/// the blocking streams, too, which it is a barrier for.
fn newest(state: &State, context: Handle, key: StreamKey) -> Vec<OpId> {
    let legacy = state.streams.get(&key).is_some_and(|stream| stream.kind == Kind::Legacy);
    let all = state.streams.iter().filter(|(other, stream)| {
        **other == key || (legacy && stream.context == context && stream.kind == Kind::Blocking)
    });
    all.filter_map(|(_, stream)| stream.last).collect()
}

pub fn synchronize(emulator: &Emulator, stream: Handle) -> Status {
    let (mut state, context) = emulator.enter()?;
    let key = state.stream(stream, context)?;
    let ops = newest(&state, context, key);
    emulator.wait_for(state, context, &ops).map(|_| ())
}

pub fn query(emulator: &Emulator, stream: Handle) -> Status {
    let (mut state, context) = emulator.enter()?;
    let key = state.stream(stream, context)?;
    let pending = newest(&state, context, key).iter().any(|op| state.pending(*op));
    if pending { Err(CUDA_ERROR_NOT_READY) } else { Ok(()) }
}

pub fn wait_event(emulator: &Emulator, stream: Handle, event: Handle, _flags: u32) -> Status {
    let (mut state, context) = emulator.enter()?;
    let key = state.stream(stream, context)?;
    let event = state.events.get(&event).ok_or(CUDA_ERROR_INVALID_HANDLE)?;
    let Some(record) = &event.record else { return Ok(()) };
    let op = record.op;
    let mut knows = record.knows.clone();
    knows.insert(record.stream, op);
    if let Some(stream) = state.streams.get_mut(&key) {
        stream.learn(&knows);
    }
    if state.pending(op) {
        state.enqueue(key, Work::Mark, &[op]);
        emulator.wake(&mut state);
    }
    Ok(())
}

/// What a record on a stream tells those who wait for it.
pub(super) fn knowledge(state: &State, stream: StreamKey) -> Knows {
    state.streams.get(&stream).map(|stream| stream.knows.clone()).unwrap_or_default()
}

pub fn get_flags(emulator: &Emulator, stream: Handle, flags: Out<u32>) -> Status {
    let (mut state, context) = emulator.enter()?;
    let key = state.stream(stream, context)?;
    let kind = state.streams.get(&key).map(|stream| stream.kind);
    flags.fill(u32::from(kind == Some(Kind::NonBlocking)))
}

pub fn get_priority(emulator: &Emulator, stream: Handle, priority: Out<i32>) -> Status {
    let (mut state, context) = emulator.enter()?;
    let key = state.stream(stream, context)?;
    let value = state.streams.get(&key).map_or(0, |stream| stream.priority);
    priority.fill(value)
}

pub fn get_ctx(emulator: &Emulator, stream: Handle, context: Out<Handle>) -> Status {
    let (mut state, current) = emulator.enter()?;
    let key = state.stream(stream, current)?;
    let owner = state.streams.get(&key).map_or(current, |stream| stream.context);
    context.fill(owner)
}

pub fn get_id(emulator: &Emulator, stream: Handle, id: Out<u64>) -> Status {
    let (mut state, context) = emulator.enter()?;
    let key = state.stream(stream, context)?;
    id.fill(key as u64)
}

pub fn is_capturing(emulator: &Emulator, stream: Handle, status: Out<i32>) -> Status {
    let (mut state, context) = emulator.enter()?;
    state.stream(stream, context)?;
    status.fill(0)
}

pub fn launch_host_func(
    emulator: &Emulator,
    stream: Handle,
    function: HostFn,
    data: Out<c_void>,
) -> Status {
    let (mut state, context) = emulator.enter()?;
    if function.is_none() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let key = state.stream(stream, context)?;
    let work = Work::Callback { function: Callback::Host(function), data: data.address() };
    emulator.submit(state, context, key, work).map(|_| ())
}

pub fn add_callback(
    emulator: &Emulator,
    stream: Handle,
    callback: StreamCallback,
    data: Out<c_void>,
    flags: u32,
) -> Status {
    let (mut state, context) = emulator.enter()?;
    if callback.is_none() || flags != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let key = state.stream(stream, context)?;
    let function = Callback::Stream(callback, stream);
    let work = Work::Callback { function, data: data.address() };
    emulator.submit(state, context, key, work).map(|_| ())
}
