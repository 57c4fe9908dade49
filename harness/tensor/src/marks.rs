//! What the allocator and the tensors tell the record, beside the driver calls that it holds anyway.
//!
//! A mark takes a lock and walks the stack, and marks are kept until a recording begins. So they are
//! off until someone who records wants them: see [`set_marks`].

use std::sync::atomic::{AtomicBool, Ordering};

use streamlings_driver::recording;
use streamlings_trace::{MarkKind, Range, StreamId};

use crate::stream::Stream;

static ON: AtomicBool = AtomicBool::new(false);

/// Whether blocks, names and host accesses are told to the record from now on. Off at first; turn it
/// on before `recording::begin` to record, and off again after `recording::finish`.
pub fn set_marks(on: bool) {
    ON.store(on, Ordering::Relaxed);
}

/// Whether they are.
pub fn marks() -> bool {
    ON.load(Ordering::Relaxed)
}

#[inline]
fn mark(kind: impl FnOnce() -> MarkKind) {
    if marks() {
        recording::mark(kind());
    }
}

/// A stream in a mark. The record numbers streams only when it is read back, so this is no number
/// that it uses; none of its own is ever this high.
fn stand_in(stream: &Stream) -> StreamId {
    StreamId(stream.handle() as u32 | 1 << 31)
}

/// The allocator handed a block out.
#[inline]
pub fn block_out(start: u64, size: u64, stream: &Stream) {
    mark(|| MarkKind::BlockOut { range: Range::new(start, size), stream: stand_in(stream) });
}

/// It was handed back.
#[inline]
pub fn block_back(start: u64, size: u64) {
    mark(|| MarkKind::BlockBack { range: Range::new(start, size) });
}

/// Its use on another stream was recorded.
#[inline]
pub fn block_use(start: u64, size: u64, stream: &Stream) {
    mark(|| MarkKind::BlockUse { range: Range::new(start, size), stream: stand_in(stream) });
}

/// Memory got a name.
pub fn name(start: u64, size: u64, name: &str) {
    mark(|| MarkKind::NameBuffer { range: Range::new(start, size), name: name.to_owned() });
}

/// The host reads pinned memory.
pub fn host_read(start: u64, size: u64) {
    mark(|| MarkKind::HostRead { range: Range::new(start, size) });
}

/// The host writes pinned memory.
pub fn host_write(start: u64, size: u64) {
    mark(|| MarkKind::HostWrite { range: Range::new(start, size) });
}
