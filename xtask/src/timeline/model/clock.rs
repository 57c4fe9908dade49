//! How a GPU's clock lies against the host's.
//!
//! A recording puts the device's times on the host's clock by one moment that both know, and the host knows
//! it a little late: it has to come back from a wait first. What the calls themselves say bounds the offset:
//! no operation began before its call was entered, and none was still running when a call had waited for it.
//! If the device's times break one of the bounds, and can be moved so that they keep both, they are moved.
//! The emulated device's times need none of this: they are the host's.

use std::collections::HashMap;

use streamlings_trace::{Call, DeviceKind, EventId, MemoryKind, Nanos, Op, StreamId, Trace};

use super::since;
use crate::timeline::time;

/// By how much the device's times break the bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Clocks {
    /// The most that an operation ended after a call that had waited for it, in nanoseconds.
    late: i64,
    /// The most that an operation began before its call.
    early: i64,
}

/// Per stream, when operations ended that no wait is known to have covered, each with when its call
/// had returned.
type Pending = HashMap<StreamId, Vec<(Nanos, Nanos)>>;

impl Clocks {
    pub fn of(trace: &Trace) -> Clocks {
        if trace.header.device.kind != DeviceKind::Gpu {
            return Clocks::default();
        }
        // Whatever lies between the bounds may be right: then nothing is moved.
        let (mut late, mut early) = (i64::MIN, i64::MIN);
        let mut pending = Pending::new();
        let mut records: HashMap<EventId, (StreamId, Nanos)> = HashMap::new();
        for call in trace.calls().filter(|call| call.result == 0) {
            if let (Some(ran), Some(stream)) = (call.ran, call.op.stream()) {
                early = early.max(since(ran.start, call.entered));
                pending.entry(stream).or_default().push((call.left, ran.end));
            }
            match &call.op {
                Op::EventRecord { event, stream } => {
                    records.insert(*event, (*stream, call.entered));
                }
                Op::StreamSync { stream } | Op::StreamQuery { stream, done: true } => {
                    waited(&mut pending, Some(*stream), call.entered, call, &mut late);
                }
                Op::EventSync { event } | Op::EventQuery { event, done: true } => {
                    if let Some((stream, recorded)) = records.get(event) {
                        waited(&mut pending, Some(*stream), *recorded, call, &mut late);
                    }
                }
                Op::ContextSync => waited(&mut pending, None, call.entered, call, &mut late),
                Op::Copy { stream, dst, .. } if dst.memory == MemoryKind::Pageable => {
                    waited(&mut pending, Some(*stream), call.left, call, &mut late);
                }
                _ => {}
            }
        }
        Clocks { late, early }
    }

    /// What has to be added to the device's times.
    pub fn shift(self) -> i64 {
        match (self.late > 0, self.early > 0) {
            // Not farther than the other bound lets it.
            (true, false) if self.late.saturating_add(self.early) <= 0 => -self.late,
            (false, true) if self.late.saturating_add(self.early) <= 0 => self.early,
            _ => 0,
        }
    }

    /// What has to be said of it.
    pub fn remark(self) -> Option<String> {
        match self.shift() {
            0 if self.late <= 0 && self.early <= 0 => None,
            0 => Some(format!(
                "The clocks of device and host disagree by up to {}: compare times on the device with \
                 each other, and not with the host's.",
                time(self.late.max(self.early)),
            )),
            shift => Some(format!(
                "The device's times are drawn {} {} than its clock had them, so that they fit the \
                 host's waits and launches.",
                time(shift.abs()),
                if shift < 0 { "earlier" } else { "later" },
            )),
        }
    }
}

/// A call has waited for what was enqueued on a stream, or on any, before that moment.
fn waited(
    pending: &mut Pending,
    stream: Option<StreamId>,
    before: Nanos,
    call: &Call,
    late: &mut i64,
) {
    for (_, ends) in pending.iter_mut().filter(|(id, _)| stream.is_none_or(|one| **id == one)) {
        ends.retain(|(left, end)| {
            // Another thread's call at the same time may have come later.
            let covered = *left <= before;
            if covered {
                *late = (*late).max(since(call.left, *end));
            }
            !covered
        });
    }
}
