//! What each thread keeps for recording, in one cache line: a launch finds its caches full of the
//! driver's own data, so that every further line costs.

use std::cell::Cell;

use streamlings_trace::Nanos;

use super::log::Chunk;

/// One thread's.
#[repr(align(64))]
pub struct Local {
    /// Where it writes; none before its first call.
    pub chunk: Cell<Option<&'static Chunk>>,
    /// How many chunks it has had.
    pub chunks: Cell<u64>,
    /// The addresses of its stack; `(0, 0)` until they are asked for.
    pub stack: Cell<(usize, usize)>,
    /// The [key](super::stack::key) of the function that began the recording, if this thread did: its
    /// callers are nobody's question. 0 for none.
    pub outermost: Cell<u64>,
    /// What the emulated device says of the call in progress: the operation it enqueued, and how long
    /// it kept the thread waiting.
    pub emulated: Cell<(u64, Nanos)>,
    /// Its number; 0 until it is asked for.
    pub number: Cell<u32>,
    /// The harness's own calls, which are not the program's, are in progress.
    pub unseen: Cell<bool>,
}

const _: () = assert!(size_of::<Local>() == 64);

thread_local! {
    // No destructor, so that it can be read however late in a thread's life, in one load.
    static LOCAL: Local = const {
        Local {
            chunk: Cell::new(None),
            chunks: Cell::new(0),
            stack: Cell::new((0, 0)),
            outermost: Cell::new(0),
            emulated: Cell::new((0, 0)),
            number: Cell::new(0),
            unseen: Cell::new(false),
        }
    };
}

/// The calling thread's.
#[inline(always)]
pub fn local<R>(read: impl FnOnce(&Local) -> R) -> R {
    LOCAL.with(read)
}
