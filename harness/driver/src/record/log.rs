//! The threads' buffers: calls as packed words, in chunks that are used again.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use streamlings_trace::Nanos;

use super::clock::Rate;
use super::local::local;
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

/// Words of a chunk: 64 KiB, some 1,000 calls in loops, or 400 each from a place of its own.
const CHUNK_WORDS: usize = 1 << 13;
/// A recording holds at most this many chunks (1 GiB); what comes after is left out, and the trace says so.
const MOST_CHUNKS: usize = 1 << 14;
/// Words before the arguments: head, entered, left.
const FIXED: usize = 3;
/// Words that one entry takes at most.
const MOST: usize = FIXED + 2 + MOST_WORDS + super::stack::DEPTH;
/// Words of a call's arguments at most; further ones are left out.
pub const MOST_WORDS: usize = 24;

/// The first word of an entry: what follows, and where its callers are.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Head {
    code: u16,
    /// The largest that the driver has is 999.
    result: u16,
    /// Operation and wait follow: on a GPU there is neither, and an entry is two words shorter.
    emulated: bool,
    words: u8,
    frames: u8,
    /// The callers are those written at this word of the chunk, by an earlier entry of the same
    /// callers; 0 where they follow. In a loop of launches this saves most of an entry.
    callers_at: u16,
}

const _: () = assert!(MOST_WORDS + super::stack::DEPTH < 128 && CHUNK_WORDS <= 1 << 16);

impl Head {
    fn to_word(self) -> u64 {
        u64::from(self.code)
            | u64::from(self.result) << 16
            | u64::from(self.emulated) << 32
            | u64::from(self.words) << 33
            | u64::from(self.frames) << 40
            | u64::from(self.callers_at) << 48
    }

    fn from_word(word: u64) -> Head {
        Head {
            code: word as u16,
            result: (word >> 16) as u16,
            emulated: word >> 32 & 1 != 0,
            words: (word >> 33 & 0x7f) as u8,
            frames: (word >> 40) as u8,
            callers_at: (word >> 48) as u16,
        }
    }
}

/// A piece of a thread's buffer. Its thread alone writes, and then raises `used`; whoever drains reads
/// up to there. So neither waits for the other, and the words need no lock.
pub struct Chunk {
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
        if let Some(chunk) = local(|local| local.chunk.replace(None)) {
            chunk.closed.store(true, Ordering::Release);
        }
    }
}

thread_local! {
    static CALLERS: Callers = const { Callers::new() };
    static OWNER: Owner = const { Owner };
}

/// The number of the calling thread.
pub fn thread_number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    local(|local| {
        if local.number.get() == 0 {
            local.number.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        local.number.get()
    })
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

/// Has memory at hand for some 100,000 launches in loops, so that none of them pays for a page fault.
pub fn warm_up() {
    const WARM: usize = 96;
    let mut chunks = chunks();
    while chunks.spare.len() < WARM {
        chunks.spare.push(new_chunk());
    }
}

/// A fresh chunk; `None` where the recording is full.
#[cold]
fn next_chunk() -> Option<&'static Chunk> {
    if let Some(full) = local(|local| local.chunk.replace(None)) {
        full.closed.store(true, Ordering::Release);
    }
    let mut chunks = chunks();
    if chunks.busy.len() >= MOST_CHUNKS {
        return None;
    }
    let chunk = chunks.spare.pop().unwrap_or_else(new_chunk);
    chunk.thread.store(thread_number(), Ordering::Relaxed);
    chunks.busy.push(chunk);
    local(|local| {
        local.chunk.set(Some(chunk));
        local.chunks.set(local.chunks.get() + 1);
    });
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
}

/// Call sites that the calling thread has written into its present chunk, by their hash.
struct Callers {
    known: [Cell<Known>; Callers::KNOWN],
}

/// One of them: its hash, how many callers it has, and where in the chunk they are.
#[derive(Clone, Copy)]
struct Known {
    hash: u64,
    frames: u8,
    at: u16,
}

impl Callers {
    /// A loop has rarely more call sites than this; those that meet in one place are written anew.
    const KNOWN: usize = 64;

    const fn new() -> Callers {
        Callers {
            known: [const { Cell::new(Known { hash: 0, frames: 0, at: 0 }) }; Callers::KNOWN],
        }
    }

    /// Where those of `frame` were written before; if they were not, they are written to `room`, whose
    /// place in the chunk is `at`.
    fn find_or_write(&self, frame: usize, room: &[AtomicU64], at: usize) -> Found {
        // The hashes of one chunk are unlike those of any other.
        let mut hash = local(|local| local.chunks.get());
        super::stack::walk(frame, |back| {
            hash = (hash ^ back).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        });
        let place = &self.known[(hash >> 32) as usize % Callers::KNOWN];
        let known = place.get();
        if known.hash == hash && known.at != 0 {
            return Found { frames: known.frames, callers_at: known.at, written: 0 };
        }
        let mut places = room.iter();
        super::stack::walk(frame, |back| {
            if let Some(place) = places.next() {
                place.store(back, Ordering::Relaxed);
            }
        });
        let written = room.len() - places.len();
        let frames = written as u8;
        place.set(Known { hash, frames, at: at as u16 });
        Found { frames, callers_at: 0, written }
    }
}

/// The callers' part of a [`Head`], and how many words they took.
struct Found {
    frames: u8,
    callers_at: u16,
    written: usize,
}

/// Writes a call into the calling thread's buffer: `words` puts its arguments; its callers are those from
/// the frame at `frame` outwards.
#[inline]
pub fn push(raw: Raw, words: impl FnOnce(&mut Writer), frame: usize) {
    let room = |chunk: &&Chunk| chunk.used.load(Ordering::Relaxed) + MOST <= CHUNK_WORDS;
    let Some(chunk) = local(|local| local.chunk.get()).filter(room).or_else(next_chunk) else {
        TRUNCATED_AT.fetch_min(raw.entered, Ordering::Relaxed);
        return;
    };
    let used = chunk.used.load(Ordering::Relaxed);
    let [head, entry @ ..] = &chunk.words[used..used + MOST] else { return };
    let mut writer = Writer { places: entry.iter() };
    writer.put(raw.entered);
    writer.put(raw.left);
    let emulated = (raw.operation, raw.waited) != (0, 0);
    if emulated {
        writer.put(raw.operation);
        writer.put(raw.waited);
    }
    let before = writer.places.len();
    words(&mut writer);
    let words = before - writer.places.len();
    let at = used + MOST - writer.places.len();
    let room = writer.places.as_slice();
    let Found { frames, callers_at, written } =
        CALLERS.with(|callers| callers.find_or_write(frame, room, at));
    let (result, words) = (raw.result as u16, words as u8);
    let entry = Head { code: raw.code, result, emulated, words, frames, callers_at };
    head.store(entry.to_word(), Ordering::Relaxed);
    chunk.used.store(at + written, Ordering::Release);
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
            chunk.words[..used].iter().map(|word| word.load(Ordering::Relaxed)).collect();
        read_chunk(chunk.thread.load(Ordering::Relaxed), &words, from, rate, &mut entries);
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

/// Reads the entries of a chunk from the word `from` on; callers may be in what comes before.
fn read_chunk(thread: u32, chunk: &[u64], from: usize, rate: Rate, entries: &mut Vec<Entry>) {
    let mut rest = &chunk[from..];
    while let [head, entered, left, behind @ ..] = rest {
        let head = Head::from_word(*head);
        let Some(what) = What::of(usize::from(head.code)) else { return };
        let (operation, waited, behind) = match behind {
            [operation, waited, behind @ ..] if head.emulated => (*operation, *waited, behind),
            _ => (0, 0, behind),
        };
        let (words, behind) = behind.split_at(usize::from(head.words));
        let count = usize::from(head.frames);
        let frames = match usize::from(head.callers_at) {
            0 => {
                let (frames, behind) = behind.split_at(count);
                rest = behind;
                frames
            }
            at => {
                rest = behind;
                &chunk[at..at + count]
            }
        };
        entries.push(Entry {
            thread,
            what,
            result: u32::from(head.result),
            seq: super::place(*entered, thread),
            entered: rate.nanos(*entered),
            left: rate.nanos(*left),
            operation,
            waited,
            words: words.to_vec(),
            frames: frames.to_vec(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::stack::DEPTH;

    /// Lays `addresses` out as the frames that a walk reads; the frame pointer of the first.
    fn frames_in(on_stack: &mut [u64; 2 * DEPTH], addresses: &[u64]) -> usize {
        let base = on_stack.as_ptr() as usize;
        for (index, address) in addresses.iter().enumerate() {
            let last = index + 1 == addresses.len();
            on_stack[2 * index] = if last { 0 } else { (base + 16 * (index + 1)) as u64 };
            on_stack[2 * index + 1] = *address;
        }
        base
    }

    /// The callers of the entry of that index: a call site comes again after six others, and later
    /// there are more of them than are known at a time.
    fn callers(index: u64) -> Vec<u64> {
        let site = if index < 1000 { index % 7 } else { index % 200 };
        (0..1 + site % 5).map(|frame| (site + 1) * 100 + frame).collect()
    }

    #[test]
    fn what_is_pushed_is_drained() {
        let functions = [Function::cuLaunchKernel, Function::cuStreamSynchronize];
        let own = thread_number();
        let own_entries =
            || drain().into_iter().filter(|entry| entry.thread == own).collect::<Vec<_>>();
        own_entries();
        let start = super::super::clock::ticks();
        // More than a chunk, with and without what the emulated device says.
        let mut entries = Vec::new();
        for index in 1..=2000_u64 {
            let raw = Raw {
                code: functions[index as usize % 2] as u16,
                result: if index % 3 == 0 { 999 } else { 0 },
                entered: start + index * 10,
                left: start + index * 10 + 1,
                operation: index % 2,
                waited: index % 2 * 5,
            };
            let mut on_stack = [0; 2 * DEPTH];
            let frame = frames_in(&mut on_stack, &callers(index));
            push(raw, |writer| (0..index % 20).for_each(|word| writer.put(word)), frame);
            std::hint::black_box(&on_stack);
            if index == 500 {
                // What is drained already can still be referred to.
                entries = own_entries();
                assert_eq!(entries.len(), 500);
            }
        }
        entries.extend(own_entries());
        assert_eq!(entries.len(), 2000);
        for (entry, index) in entries.iter().zip(1..) {
            assert_eq!(entry.seq, super::super::place(start + index * 10, own));
            assert_eq!(entry.what, What::Call(functions[index as usize % 2]));
            assert_eq!(entry.result, if index % 3 == 0 { 999 } else { 0 });
            assert_eq!((entry.operation, entry.waited), (index % 2, index % 2 * 5));
            assert_eq!(entry.words, (0..index % 20).collect::<Vec<u64>>());
            let frames = if cfg!(frame_pointers) { callers(index) } else { Vec::new() };
            assert_eq!(entry.frames, frames, "entry {index}");
        }
        assert_eq!(own_entries(), []);
    }

    #[test]
    fn calls_from_one_place_take_the_room_of_one() {
        let mut on_stack = [0; 2 * DEPTH];
        let frame = frames_in(&mut on_stack, &[1, 2, 3, 4, 5, 6, 7]);
        let used = || {
            local(|local| local.chunk.get()).map_or(0, |chunk| chunk.used.load(Ordering::Relaxed))
        };
        let mut room = Vec::new();
        for _ in 0..3 {
            let raw = Raw { code: 0, result: 0, entered: 1, left: 2, operation: 0, waited: 0 };
            let before = used();
            push(raw, |writer| writer.put(9), frame);
            room.push(used().wrapping_sub(before));
        }
        std::hint::black_box(&on_stack);
        // The first opens a chunk, perhaps.
        assert_eq!(room[1..], [FIXED + 1, FIXED + 1]);
    }

    #[test]
    fn a_head_is_a_word_and_back() {
        let head = Head {
            code: 0xfedc,
            result: 999,
            emulated: true,
            words: 0x7f,
            frames: 16,
            callers_at: 0xabcd,
        };
        assert_eq!(Head::from_word(head.to_word()), head);
        let head = Head { emulated: false, words: 0, callers_at: 0, ..head };
        assert_eq!(Head::from_word(head.to_word()), head);
    }
}
