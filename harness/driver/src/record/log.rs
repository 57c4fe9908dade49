//! The threads' buffers: calls as packed words, in chunks that are used again.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use streamlings_trace::Nanos;

use super::clock::Rate;
use crate::api::Function;
use crate::sys::CUresult;

/// One call, as it is written down.
pub struct Raw<'a> {
    pub function: Function,
    pub result: CUresult,
    pub seq: u64,
    /// In ticks of [`clock`](super::clock).
    pub entered: u64,
    pub left: u64,
    /// The emulated operation it enqueued; 0 for none.
    pub operation: u64,
    /// How long the emulated device kept the thread waiting.
    pub waited: Nanos,
    pub words: &'a [u64],
    pub frames: &'a [u64],
}

/// One call, read back.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub thread: u32,
    pub function: Function,
    pub result: CUresult,
    pub seq: u64,
    pub entered: Nanos,
    pub left: Nanos,
    pub operation: u64,
    pub waited: Nanos,
    pub words: Vec<u64>,
    pub frames: Vec<u64>,
}

/// A chunk is half a mebibyte: a page fault for every 30 calls or so, and none once it is used again.
const CHUNK_WORDS: usize = 1 << 16;
/// A recording holds at most this many words (1 GiB); what comes after is left out, and the trace says so.
const LIMIT_WORDS: u64 = 1 << 27;
/// Words before the arguments: function and counts, sequence number, entered, left, operation, waited.
const FIXED: usize = 6;

static USED_WORDS: AtomicU64 = AtomicU64::new(0);
static TRUNCATED_AT: AtomicU64 = AtomicU64::new(u64::MAX);
static THREADS: Mutex<Vec<Arc<Thread>>> = Mutex::new(Vec::new());
static SPARE: Mutex<Vec<Vec<u64>>> = Mutex::new(Vec::new());

struct Thread {
    number: u32,
    // Only its own thread writes; `drain` reads. So the lock is free but while a recording ends.
    chunks: Mutex<Vec<Vec<u64>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    static OWN: RefCell<Option<Arc<Thread>>> = const { RefCell::new(None) };
}

fn with_own<R>(then: impl FnOnce(&Thread) -> R) -> Option<R> {
    OWN.try_with(|own| {
        let mut own = own.try_borrow_mut().ok()?;
        let thread = own.get_or_insert_with(|| {
            static NEXT: AtomicU32 = AtomicU32::new(1);
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let thread = Arc::new(Thread { number, chunks: Mutex::new(Vec::new()) });
            lock(&THREADS).push(Arc::clone(&thread));
            thread
        });
        Some(then(thread))
    })
    // While the thread's own variables are torn down its calls are no longer recorded.
    .ok()
    .flatten()
}

/// The number of the calling thread.
pub fn thread_number() -> u32 {
    with_own(|thread| thread.number).unwrap_or(0)
}

/// Writes a call into the calling thread's buffer.
pub fn push(raw: &Raw<'_>) {
    let need = FIXED + raw.words.len() + raw.frames.len();
    with_own(|thread| {
        let mut chunks = lock(&thread.chunks);
        if chunks.last().is_none_or(|chunk| chunk.len() + need > chunk.capacity()) {
            if USED_WORDS.fetch_add(CHUNK_WORDS as u64, Ordering::Relaxed) > LIMIT_WORDS {
                TRUNCATED_AT.fetch_min(raw.entered, Ordering::Relaxed);
                return;
            }
            let spare = lock(&SPARE).pop();
            chunks.push(spare.unwrap_or_else(|| Vec::with_capacity(CHUNK_WORDS.max(need))));
        }
        let Some(chunk) = chunks.last_mut() else { return };
        let head = raw.function as u64
            | u64::from(raw.result) << 16
            | (raw.words.len() as u64) << 48
            | (raw.frames.len() as u64) << 56;
        chunk.extend_from_slice(&[head, raw.seq, raw.entered, raw.left, raw.operation, raw.waited]);
        chunk.extend_from_slice(raw.words);
        chunk.extend_from_slice(raw.frames);
    });
}

/// Takes everything written so far, in the order of sequence numbers.
pub fn drain() -> Vec<Entry> {
    let threads = lock(&THREADS).clone();
    let rate = Rate::measure();
    let mut entries = Vec::new();
    for thread in threads {
        let chunks = std::mem::take(&mut *lock(&thread.chunks));
        for mut chunk in chunks {
            read_chunk(thread.number, &chunk, rate, &mut entries);
            chunk.clear();
            lock(&SPARE).push(chunk);
        }
    }
    // Threads that ended are held by this list alone.
    lock(&THREADS).retain(|thread| Arc::strong_count(thread) > 1);
    USED_WORDS.store(0, Ordering::Relaxed);
    entries.sort_unstable_by_key(|entry| entry.seq);
    entries
}

/// When the limit was reached since the last call, if it was.
pub fn truncated_at() -> Option<Nanos> {
    let at = TRUNCATED_AT.swap(u64::MAX, Ordering::Relaxed);
    (at != u64::MAX).then(|| Rate::measure().nanos(at))
}

fn read_chunk(thread: u32, mut chunk: &[u64], rate: Rate, entries: &mut Vec<Entry>) {
    while let [head, seq, entered, left, operation, waited, rest @ ..] = chunk {
        let words = (head >> 48 & 0xff) as usize;
        let frames = (head >> 56) as usize;
        let Some(function) = Function::from_index((head & 0xffff) as usize) else { return };
        let (words, rest) = rest.split_at(words);
        let (frames, rest) = rest.split_at(frames);
        entries.push(Entry {
            thread,
            function,
            result: (head >> 16) as u32,
            seq: *seq,
            entered: rate.nanos(*entered),
            left: rate.nanos(*left),
            operation: *operation,
            waited: *waited,
            words: words.to_vec(),
            frames: frames.to_vec(),
        });
        chunk = rest;
    }
}
