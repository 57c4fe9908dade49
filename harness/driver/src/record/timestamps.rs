//! When operations ran on a GPU, by event records of our own around them.
//!
//! Only where a recording asks for it: an event is recorded on the operation's own stream right before
//! and right after it. That adds no edge to the order, and a few microseconds to the stream.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use streamlings_trace::{Nanos, Span};

use super::{Left, driver, now};
use crate::backend::{Backend, backend};
use crate::sys::*;

static ON: AtomicBool = AtomicBool::new(false);

#[derive(Default)]
struct Events {
    /// Events that may be used again.
    spare: Vec<Handle>,
    /// Recorded at the start of the recording, when the device was idle, and the host's time then.
    base: Option<(Handle, Nanos)>,
    /// For each call: the events before and after its operation.
    pairs: Vec<(u64, Handle, Handle)>,
}

static EVENTS: Mutex<Events> =
    Mutex::new(Events { spare: Vec::new(), base: None, pairs: Vec::new() });

fn events() -> MutexGuard<'static, Events> {
    EVENTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts or stops, with the device idle; whether it is on now.
pub fn set(on: bool) -> bool {
    let on = on && matches!(backend(), Backend::Gpu(_));
    ON.store(on, Ordering::Relaxed);
    recycle();
    if on
        && let Some(base) = event()
        && driver::record(base, 0) == CUDA_SUCCESS
        && driver::synchronize(base) == CUDA_SUCCESS
    {
        events().base = Some((base, now()));
    }
    on
}

/// An event for timing; the lock is not held while the driver makes one.
fn event() -> Option<Handle> {
    let spare = events().spare.pop();
    spare.or_else(|| {
        let mut event = 0;
        (driver::create(&mut event, 0) == CUDA_SUCCESS).then_some(event)
    })
}

/// Records the event before an operation, where a recording asks for it.
pub fn before(stream: Handle) -> Option<Handle> {
    if !ON.load(Ordering::Relaxed) {
        return None;
    }
    let event = event()?;
    (driver::record(event, stream) == CUDA_SUCCESS).then_some(event)
}

/// Records the event after it, if there is one before it.
#[inline]
pub fn after(before: Option<Handle>, stream: Handle, left: Left) {
    if let Some(before) = before {
        after_slowly(before, stream, left);
    }
}

#[cold]
fn after_slowly(before: Handle, stream: Handle, left: Left) {
    if let Some(after) = event()
        && driver::record(after, stream) == CUDA_SUCCESS
    {
        events().pairs.push((left.seq(), before, after));
    }
}

/// Where the calls' operations ran, by sequence number, on the host's clock. Those that are still
/// pending have none.
pub fn take() -> HashMap<u64, Span> {
    ON.store(false, Ordering::Relaxed);
    let (base, pairs) = {
        let events = events();
        (events.base, events.pairs.clone())
    };
    let Some((base, host)) = base else { return HashMap::new() };
    let moment = |event: Handle| {
        let mut ms = 0.0;
        let known = driver::elapsed(&mut ms, base, event) == CUDA_SUCCESS;
        known.then(|| host + (f64::from(ms) * 1e6).max(0.0) as Nanos)
    };
    let spans = pairs
        .into_iter()
        .filter_map(|(seq, before, after)| {
            Some((seq, Span { start: moment(before)?, end: moment(after)? }))
        })
        .collect();
    recycle();
    spans
}

fn recycle() {
    let mut events = events();
    let pairs = std::mem::take(&mut events.pairs);
    for (_, before, after) in pairs {
        events.spare.extend([before, after]);
    }
    let base = events.base.take();
    events.spare.extend(base.map(|(event, _)| event));
}
