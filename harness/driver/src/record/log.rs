//! The threads' buffers: calls as packed words, in chunks that are used again.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use streamlings_trace::Nanos;

use super::clock::Rate;
use crate::api::Function;
use crate::sys::CUresult;

/// One call, as it is written down, but for its arguments and its callers.
pub struct Raw {
    /// The index of a [`Function`], or a [`MarkCode`].
    pub code: u16,
    pub result: CUresult,
    /// In ticks of [`clock`](super::clock).
    pub entered: u64,
    pub left: u64,
    /// The emulated operation it enqueued; 0 for none.
    pub operation: u64,
    /// How long the emulated device kept the thread waiting.
    pub waited: Nanos,
}

/// What an entry is of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What {
    /// A driver call.
    Call(Function),
    /// A mark of the harness.
    Mark(MarkCode),
}

/// The marks that are written like calls, with a range and perhaps a stream, because they are as
/// frequent: see [`MarkKind`](streamlings_trace::MarkKind).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MarkCode {
    BlockOut,
    BlockBack,
    BlockUse,
    HostRead,
    HostWrite,
    HostDrop,
}

impl MarkCode {
    const ALL: [MarkCode; 6] = [
        MarkCode::BlockOut,
        MarkCode::BlockBack,
        MarkCode::BlockUse,
        MarkCode::HostRead,
        MarkCode::HostWrite,
        MarkCode::HostDrop,
    ];

    /// Its code: behind those of all functions.
    pub fn code(self) -> u16 {
        (Function::COUNT + self as usize) as u16
    }
}

impl What {
    fn of(code: usize) -> Option<What> {
        match Function::from_index(code) {
            Some(function) => Some(What::Call(function)),
            None => MarkCode::ALL.get(code.checked_sub(Function::COUNT)?).copied().map(What::Mark),
        }
    }
}

/// One entry, read back.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub thread: u32,
    pub what: What,
    pub result: CUresult,
    pub seq: u64,
    pub entered: Nanos,
    pub left: Nanos,
    pub operation: u64,
    pub waited: Nanos,
    pub words: Vec<u64>,
    pub frames: Vec<u64>,
}

/// Words of a chunk: 64 KiB, some 500 calls.
const CHUNK_WORDS: usize = 1 << 13;
/// A recording holds at most this many chunks (1 GiB); what comes after is left out, and the trace says so.
const MOST_CHUNKS: usize = 1 << 14;
/// Words before the arguments: head, entered, left. The head holds the function (16
/// bits), the result (24), whether the operation and the wait follow (1), and how many words (7) and
/// frames (8) do.
const FIXED: usize = 3;
/// Words that one entry takes at most.
const MOST: usize = FIXED + 2 + MOST_WORDS + super::stack::DEPTH;
/// Words of a call's arguments at most; further ones are left out.
pub const MOST_WORDS: usize = 24;
const EMULATED: u64 = 1 << 40;

/// A piece of a thread's buffer. Its thread alone writes, and then raises `used`; whoever drains reads
/// up to there. So neither waits for the other, and the words need no lock.
struct Chunk {
    thread: AtomicU32,
    used: AtomicUsize,
    /// How far it has been drained; changed under the lock of [`CHUNKS`].
    drained: AtomicUsize,
    /// Its thread is done with it.
    closed: AtomicBool,
    words: Box<[AtomicU64]>,
}

#[derive(Default)]
struct Chunks {
    /// In use, or not drained to the end yet.
    busy: Vec<&'static Chunk>,
    /// To be used again: their memory is warm.
    spare: Vec<&'static Chunk>,
}

static CHUNKS: Mutex<Chunks> = Mutex::new(Chunks { busy: Vec::new(), spare: Vec::new() });
static TRUNCATED_AT: AtomicU64 = AtomicU64::new(u64::MAX);

fn chunks() -> MutexGuard<'static, Chunks> {
    CHUNKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Closes the thread's last chunk when the thread ends.
struct Owner;

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some(chunk) = CHUNK.replace(None) {
            chunk.closed.store(true, Ordering::Release);
        }
    }
}

thread_local! {
    // No destructors here, so that reading them is one load.
    static CHUNK: Cell<Option<&'static Chunk>> = const { Cell::new(None) };
    static NUMBER: Cell<u32> = const { Cell::new(0) };
    static OWNER: Owner = const { Owner };
}

/// The number of the calling thread.
pub fn thread_number() -> u32 {
    match NUMBER.get() {
        0 => {
            static NEXT: AtomicU32 = AtomicU32::new(1);
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            NUMBER.set(number);
            number
        }
        number => number,
    }
}

fn new_chunk() -> &'static Chunk {
    // Chunks are used again for as long as the process lives.
    Box::leak(Box::new(Chunk {
        thread: AtomicU32::new(0),
        used: AtomicUsize::new(0),
        drained: AtomicUsize::new(0),
        closed: AtomicBool::new(false),
        words: (0..CHUNK_WORDS).map(|_| AtomicU64::new(0)).collect(),
    }))
}

/// Has memory for some 16,000 calls at hand, so that none of them pays for a page fault.
pub fn warm_up() {
    const WARM: usize = 32;
    let mut chunks = chunks();
    while chunks.spare.len() < WARM {
        chunks.spare.push(new_chunk());
    }
}

/// A fresh chunk; `None` where the recording is full.
#[cold]
fn next_chunk() -> Option<&'static Chunk> {
    if let Some(full) = CHUNK.replace(None) {
        full.closed.store(true, Ordering::Release);
    }
    let mut chunks = chunks();
    if chunks.busy.len() >= MOST_CHUNKS {
        return None;
    }
    let chunk = chunks.spare.pop().unwrap_or_else(new_chunk);
    chunk.thread.store(thread_number(), Ordering::Relaxed);
    chunks.busy.push(chunk);
    CHUNK.set(Some(chunk));
    // Where the thread is ending already, nobody closes the chunk: it stays busy, which is harmless.
    let _ = OWNER.try_with(|_| ());
    Some(chunk)
}

/// Where the words of one entry go: straight into the thread's chunk.
pub struct Writer {
    places: std::slice::Iter<'static, AtomicU64>,
}

impl Writer {
    /// Writes one word.
    #[inline]
    pub fn put(&mut self, word: u64) {
        if let Some(place) = self.places.next() {
            place.store(word, Ordering::Relaxed);
        }
    }

    fn left(&self) -> usize {
        self.places.len()
    }
}

impl super::stack::Frames for Writer {
    #[inline]
    fn put(&mut self, address: u64) {
        Writer::put(self, address);
    }
}

/// Writes a call into the calling thread's buffer: `words` puts its arguments, `frames` its callers.
#[inline]
pub fn push(raw: Raw, words: impl FnOnce(&mut Writer), frames: impl FnOnce(&mut Writer)) {
    let room = |chunk: &&Chunk| chunk.used.load(Ordering::Relaxed) + MOST <= CHUNK_WORDS;
    let Some(chunk) = CHUNK.get().filter(room).or_else(next_chunk) else {
        TRUNCATED_AT.fetch_min(raw.entered, Ordering::Relaxed);
        return;
    };
    let used = chunk.used.load(Ordering::Relaxed);
    let [head, entry @ ..] = &chunk.words[used..used + MOST] else { return };
    let mut writer = Writer { places: entry.iter() };
    writer.put(raw.entered);
    writer.put(raw.left);
    // On a GPU there is neither, and an entry is two words shorter.
    let emulated = (raw.operation, raw.waited) != (0, 0);
    if emulated {
        writer.put(raw.operation);
        writer.put(raw.waited);
    }
    let before_words = writer.left();
    words(&mut writer);
    let before_frames = writer.left();
    frames(&mut writer);
    let word_count = (before_words - before_frames) as u64;
    let frame_count = (before_frames - writer.left()) as u64;
    head.store(
        u64::from(raw.code)
            | (u64::from(raw.result) & 0xff_ffff) << 16
            | if emulated { EMULATED } else { 0 }
            | word_count << 41
            | frame_count << 48,
        Ordering::Relaxed,
    );
    chunk.used.store(used + MOST - writer.left(), Ordering::Release);
}

/// Takes everything written so far, in the order of sequence numbers.
pub fn drain() -> Vec<Entry> {
    let rate = Rate::measure();
    let mut entries = Vec::new();
    let mut chunks = chunks();
    for chunk in std::mem::take(&mut chunks.busy) {
        // Closed before looked at: then `used` is final.
        let closed = chunk.closed.load(Ordering::Acquire);
        let used = chunk.used.load(Ordering::Acquire);
        let from = chunk.drained.load(Ordering::Relaxed);
        let words: Vec<u64> =
            chunk.words[from..used].iter().map(|word| word.load(Ordering::Relaxed)).collect();
        read_chunk(chunk.thread.load(Ordering::Relaxed), &words, rate, &mut entries);
        if closed {
            chunk.used.store(0, Ordering::Relaxed);
            chunk.drained.store(0, Ordering::Relaxed);
            chunk.closed.store(false, Ordering::Relaxed);
            chunks.spare.push(chunk);
        } else {
            chunk.drained.store(used, Ordering::Relaxed);
            chunks.busy.push(chunk);
        }
    }
    drop(chunks);
    // Stable: two readings of a coarse clock on one thread may be the same.
    entries.sort_by_key(|entry| entry.seq);
    entries
}

/// When the limit was reached since the last call, if it was.
pub fn truncated_at() -> Option<Nanos> {
    let at = TRUNCATED_AT.swap(u64::MAX, Ordering::Relaxed);
    (at != u64::MAX).then(|| Rate::measure().nanos(at))
}

fn read_chunk(thread: u32, mut chunk: &[u64], rate: Rate, entries: &mut Vec<Entry>) {
    while let [head, entered, left, rest @ ..] = chunk {
        let words = (head >> 41 & 0x7f) as usize;
        let frames = (head >> 48) as usize;
        let Some(what) = What::of((head & 0xffff) as usize) else { return };
        let (operation, waited, rest) = match rest {
            [operation, waited, rest @ ..] if head & EMULATED != 0 => (*operation, *waited, rest),
            _ => (0, 0, rest),
        };
        let (words, rest) = rest.split_at(words);
        let (frames, rest) = rest.split_at(frames);
        entries.push(Entry {
            thread,
            what,
            result: (head >> 16 & 0xff_ffff) as u32,
            seq: super::place(*entered, thread),
            entered: rate.nanos(*entered),
            left: rate.nanos(*left),
            operation,
            waited,
            words: words.to_vec(),
            frames: frames.to_vec(),
        });
        chunk = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pushed_is_drained() {
        let functions = [Function::cuLaunchKernel, Function::cuStreamSynchronize];
        // More than a chunk, with and without what the emulated device says.
        let start = super::super::clock::ticks();
        for index in 1..=2000_u64 {
            let words: Vec<u64> = (0..index % 20).collect();
            let frames: Vec<u64> = (0..index % 5).map(|frame| index * 100 + frame).collect();
            let raw = Raw {
                code: functions[index as usize % 2] as u16,
                result: if index % 3 == 0 { 700 } else { 0 },
                entered: start + index * 10,
                left: start + index * 10 + 1,
                operation: index % 2,
                waited: index % 2 * 5,
            };
            push(
                raw,
                |writer| words.iter().for_each(|word| writer.put(*word)),
                |writer| frames.iter().for_each(|frame| writer.put(*frame)),
            );
        }
        let own = thread_number();
        let own_entries = drain().into_iter().filter(|entry| entry.thread == own);
        let mut last = 0;
        for (entry, index) in own_entries.zip(1..) {
            assert!(entry.seq > last);
            last = entry.seq;
            assert_eq!(entry.what, What::Call(functions[index as usize % 2]));
            assert_eq!(entry.result, if index % 3 == 0 { 700 } else { 0 });
            assert_eq!((entry.operation, entry.waited), (index % 2, index % 2 * 5));
            assert_eq!(entry.words, (0..index % 20).collect::<Vec<u64>>());
            assert_eq!(entry.frames.len() as u64, index % 5);
            assert!(entry.frames.iter().all(|frame| frame / 100 == index));
            assert!(index <= 2000);
        }
        assert_eq!(last, super::super::place(start + 20_000, own));
        assert!(drain().iter().all(|entry| entry.thread != own));
    }
}
