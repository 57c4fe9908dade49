//! Events.

use super::engine::Work;
use super::state::{Event, Record};
use super::{Emulator, Out, Status, stream};
use crate::sys::*;

pub fn create(emulator: &Emulator, event: Out<Handle>, flags: u32) -> Status {
    let (mut state, context) = emulator.enter()?;
    let handle = state.handle();
    event.fill(handle)?;
    let timing = flags & EVENT_DISABLE_TIMING == 0;
    state.events.insert(handle, Event { context, timing, record: None });
    Ok(())
}

pub fn destroy(emulator: &Emulator, event: Handle) -> Status {
    let (mut state, _) = emulator.enter()?;
    state.events.remove(&event).map(|_| ()).ok_or(CUDA_ERROR_INVALID_HANDLE)
}

pub fn record(emulator: &Emulator, event: Handle, stream: Handle) -> Status {
    let (mut state, context) = emulator.enter()?;
    if !state.events.contains_key(&event) {
        return Err(CUDA_ERROR_INVALID_HANDLE);
    }
    let key = state.stream(stream, context)?;
    let op = state.enqueue(key, Work::Record(event), &[]);
    let knows = stream::knowledge(&state, key);
    if let Some(event) = state.events.get_mut(&event) {
        event.record = Some(Record { op, stream: key, end: None, knows });
    }
    emulator.wake(&mut state);
    Ok(())
}

pub fn record_with_flags(
    emulator: &Emulator,
    event: Handle,
    stream: Handle,
    _flags: u32,
) -> Status {
    record(emulator, event, stream)
}

pub fn query(emulator: &Emulator, event: Handle) -> Status {
    let (state, _) = emulator.enter()?;
    let event = state.events.get(&event).ok_or(CUDA_ERROR_INVALID_HANDLE)?;
    match &event.record {
        Some(record) if state.pending(record.op) => Err(CUDA_ERROR_NOT_READY),
        _ => Ok(()),
    }
}

pub fn synchronize(emulator: &Emulator, event: Handle) -> Status {
    let (state, context) = emulator.enter()?;
    let event = state.events.get(&event).ok_or(CUDA_ERROR_INVALID_HANDLE)?;
    let Some(op) = event.record.as_ref().map(|record| record.op) else { return Ok(()) };
    emulator.wait_for(state, context, &[op]).map(|_| ())
}

pub fn elapsed_time(
    emulator: &Emulator,
    milliseconds: Out<f32>,
    start: Handle,
    end: Handle,
) -> Status {
    let (state, _) = emulator.enter()?;
    let moment = |handle: Handle| -> Result<_, CUresult> {
        let event = state.events.get(&handle).ok_or(CUDA_ERROR_INVALID_HANDLE)?;
        let record = event.record.as_ref().filter(|_| event.timing);
        Ok(record.ok_or(CUDA_ERROR_INVALID_HANDLE)?.end)
    };
    // Both are checked before either is read: a wrong handle is an error even while the other is pending.
    let (start, end) = (moment(start)?, moment(end)?);
    let (Some(start), Some(end)) = (start, end) else { return Err(CUDA_ERROR_NOT_READY) };
    let nanos = end as f64 - start as f64;
    milliseconds.fill((nanos / 1e6) as f32)
}
