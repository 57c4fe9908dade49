//! What the allocator and the tensors tell the record, beside the driver calls that it holds anyway.
//! While no recording is in progress a mark costs next to nothing.

use streamlings_driver::recording;
use streamlings_trace::{MarkKind, Range};

use crate::stream::Stream;

/// The allocator handed a block out.
#[inline]
pub fn block_out(start: u64, size: u64, stream: &Stream) {
    recording::block_out(Range::new(start, size), stream.handle());
}

/// It was handed back.
#[inline]
pub fn block_back(start: u64, size: u64) {
    recording::block_back(Range::new(start, size));
}

/// Its use on another stream was recorded.
#[inline]
pub fn block_use(start: u64, size: u64, stream: &Stream) {
    recording::block_use(Range::new(start, size), stream.handle());
}

/// The cache of pinned buffers handed one out; it belongs to no stream.
pub fn pinned_out(start: u64, size: u64) {
    recording::block_out(Range::new(start, size), 0);
}

/// A copy on the stream of that handle took part of it.
pub fn pinned_use(start: u64, size: u64, stream: usize) {
    recording::block_use(Range::new(start, size), stream);
}

/// Memory got a name.
pub fn name(start: u64, size: u64, name: &str) {
    if recording::is_on() {
        let range = Range::new(start, size);
        recording::mark(MarkKind::NameBuffer { range, name: name.to_owned() });
    }
}

/// The host reads pinned memory.
pub fn host_read(start: u64, size: u64) {
    recording::host_read(Range::new(start, size));
}

/// The host writes pinned memory.
pub fn host_write(start: u64, size: u64) {
    recording::host_write(Range::new(start, size));
}
