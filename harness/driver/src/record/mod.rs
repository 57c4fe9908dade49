//! Recording: one entry for each recorded call, in a buffer of the calling thread.
//!
//! The cost of a call is two clock readings, a walk over a few frame pointers and some
//! stores. Nothing is decoded until a recording is finished; no lock is held across a call.

pub mod clock;
pub mod decode;
pub mod delays;
mod driver;
mod local;
pub mod log;
pub mod stack;
mod symbols;
pub mod timestamps;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use streamlings_trace::{DeviceKind, Header, Item, Mark, MarkKind, Nanos, Seq, ThreadId, Trace};

use crate::api::Function;
use crate::backend::{Backend, backend};
use crate::recording::Options;
use crate::sys::{CUDA_SUCCESS, CUresult, Handle};
pub use clock::now;
use decode::Decoder;
use local::local;

/// Whether a recording is in progress.
static ON: AtomicBool = AtomicBool::new(false);

/// A place in the order of calls: the clock's reading, made unique by the thread's number. The clock is
/// the same for all threads, so this is a global order; a shared counter, with its locked instruction,
/// measured some 50 ns more a launch on an H200's host.
pub fn place(ticks: u64, thread: u32) -> u64 {
    clock::since_start(ticks) << 8 | u64::from(thread & 0xff)
}

/// The place of this moment on this thread.
fn place_now() -> u64 {
    place(clock::ticks(), log::thread_number())
}

/// The emulated device notes the operation that the call enqueued.
pub fn note_operation(id: u64) {
    local(|local| local.emulated.set((id, local.emulated.get().1)));
}

/// The emulated device notes that it kept the calling thread waiting.
pub fn note_waited(waited: Nanos) {
    local(|local| {
        let (id, before) = local.emulated.get();
        local.emulated.set((id, before + waited));
    });
}

/// What is known when a call is entered.
#[derive(Clone, Copy)]
pub struct Entry {
    entered: u64,
}

/// What is known when it returned.
#[derive(Clone, Copy)]
pub struct Left {
    entry: Entry,
    left: u64,
}

impl Left {
    /// The call's place in the order of calls: that of the moment at which it was entered.
    pub fn seq(&self) -> u64 {
        place(self.entry.entered, log::thread_number())
    }
}

/// Whether the recording in progress does something of its own around operations on a GPU.
static AROUND: AtomicBool = AtomicBool::new(false);

/// What a recording wants before an operation on a GPU: a delay, an event for its time.
#[inline]
pub fn before(stream: Handle) -> Option<Handle> {
    if AROUND.load(Ordering::Relaxed) { before_slowly(stream) } else { None }
}

#[cold]
fn before_slowly(stream: Handle) -> Option<Handle> {
    let mut status = 0;
    // What is captured would become part of the graph.
    let captured = driver::is_capturing(stream, &mut status) != CUDA_SUCCESS || status != 0;
    if captured || local(|local| local.unseen.get()) {
        return None;
    }
    delays::before(stream);
    timestamps::before(stream)
}

/// A recorded call begins.
#[inline]
pub fn enter() -> Entry {
    Entry { entered: clock::ticks() }
}

/// For how long the recording in progress keeps the host in each call that enqueues an operation or
/// synchronizes, in nanoseconds.
static HOLD: AtomicU64 = AtomicU64::new(0);

/// Keeps the host for as long as the recording wants, in a call that has done its work.
#[inline]
pub fn hold() {
    let hold = HOLD.load(Ordering::Relaxed);
    if hold > 0 {
        hold_slowly(hold);
    }
}

#[cold]
fn hold_slowly(hold: Nanos) {
    if local(|local| local.unseen.get()) {
        return;
    }
    let until = now() + hold;
    while now() < until {
        std::hint::spin_loop();
    }
}

/// It returned.
#[inline]
pub fn leave(entry: Entry) -> Left {
    Left { entry, left: clock::ticks() }
}

/// Writes the call down: `words` puts what is recorded of its arguments; `frame` is the frame pointer of
/// the exported function.
#[inline]
pub fn write(
    left: Left,
    function: Function,
    result: CUresult,
    frame: usize,
    words: impl FnOnce(&mut log::Writer),
) {
    let Some((operation, waited)) = local(|local| {
        let emulated = local.emulated.get();
        if emulated != (0, 0) {
            local.emulated.set((0, 0));
        }
        (!local.unseen.get()).then_some(emulated)
    }) else {
        return;
    };
    let call = log::Raw {
        code: function as u16,
        result,
        entered: left.entry.entered,
        left: left.left,
        operation,
        waited,
    };
    log::push(call, words, frame);
}

/// The recording in progress, if any, and what is known from before.
struct Recorder {
    decoder: Decoder,
    options: Options,
    marks: Vec<Mark>,
    /// Streams that were named since the last decoding: where in the order of calls, handle, name.
    named: Vec<(u64, u32, usize, String)>,
    cut: u64,
    began: Nanos,
}

fn recorder() -> &'static Mutex<Recorder> {
    static RECORDER: OnceLock<Mutex<Recorder>> = OnceLock::new();
    RECORDER.get_or_init(|| {
        Mutex::new(Recorder {
            decoder: Decoder::default(),
            options: Options::default(),
            marks: Vec::new(),
            named: Vec::new(),
            cut: 0,
            began: 0,
        })
    })
}

/// See [`crate::recording::is_on`].
#[inline]
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// See [`crate::recording::unseen`].
pub fn unseen<R>(calls: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            local(|local| {
                local.unseen.set(self.0);
                local.emulated.set((0, 0));
            });
        }
    }
    let _restore = Restore(local(|local| local.unseen.replace(true)));
    calls()
}

/// Writes one of the frequent marks, if a recording is in progress.
#[inline(never)]
pub fn mark_range(code: log::MarkCode, range: streamlings_trace::Range, stream: usize) {
    if !is_on() {
        return;
    }
    let now = clock::ticks();
    let call =
        log::Raw { code: code.code(), result: 0, entered: now, left: now, operation: 0, waited: 0 };
    let words = |words: &mut log::Writer| {
        words.put(range.start);
        words.put(range.end);
        words.put(stream as u64);
    };
    log::push(call, words, stack::frame_pointer());
}

/// See [`crate::recording::begin`].
#[inline(never)] // a frame of its own, whose caller is the function that begins
pub fn begin(options: Options) {
    stack::end_at_caller_of(stack::frame_pointer());
    let mut recorder = recorder().lock().unwrap_or_else(PoisonError::into_inner);
    if let Backend::Emulated(device) = backend() {
        device.perturb(options.seed);
        device.take_spans();
    }
    // What came before is decoded only for what is still alive after it.
    let mut named = std::mem::take(&mut recorder.named).into_iter().peekable();
    for raw in log::drain() {
        while let Some((_, thread, handle, name)) = named.next_if(|(seq, ..)| *seq < raw.seq) {
            recorder.decoder.name_stream(handle, thread, name);
        }
        recorder.decoder.decode(&raw, None);
    }
    for (_, thread, handle, name) in named {
        recorder.decoder.name_stream(handle, thread, name);
    }
    let around = [delays::set(options.seed), timestamps::set(options.timestamps)];
    AROUND.store(around.contains(&true), Ordering::Relaxed);
    HOLD.store(options.hold.as_nanos() as u64, Ordering::Relaxed);
    log::warm_up();
    recorder.marks.clear();
    recorder.options = options;
    recorder.cut = place_now();
    recorder.began = now();
    ON.store(true, Ordering::Relaxed);
}

/// See [`crate::recording::mark`].
pub fn mark(kind: MarkKind) {
    let seq = place_now();
    let at = now();
    let mut frames = Vec::new();
    stack::walk(stack::frame_pointer(), |back| frames.push(back));
    let thread = ThreadId(log::thread_number());
    let mut recorder = recorder().lock().unwrap_or_else(PoisonError::into_inner);
    let stack = recorder.decoder.stack(&frames);
    recorder.marks.push(Mark { seq: Seq(seq), thread, at, kind, stack });
}

/// See [`crate::recording::name_stream`].
pub fn name_stream(handle: usize, name: &str) {
    let seq = place_now();
    let thread = log::thread_number();
    let mut recorder = recorder().lock().unwrap_or_else(PoisonError::into_inner);
    recorder.named.push((seq, thread, handle, name.to_owned()));
}

/// See [`crate::recording::finish`].
pub fn finish() -> Trace {
    ON.store(false, Ordering::Relaxed);
    AROUND.store(false, Ordering::Relaxed);
    HOLD.store(0, Ordering::Relaxed);
    delays::set(None);
    stack::end_nowhere();
    let mut guard = recorder().lock().unwrap_or_else(PoisonError::into_inner);
    let recorder = &mut *guard;
    let spans = match backend() {
        Backend::Emulated(device) => device.take_spans(),
        _ => timestamps::take(),
    };
    let device = crate::device().unwrap_or(streamlings_trace::Device {
        kind: DeviceKind::Emulated,
        name: "no device".to_owned(),
    });
    let header = Header { device, seed: recorder.options.seed };

    let began = recorder.began;
    let mut events: Vec<(u64, Item)> = Vec::new();
    recorder.decoder.alive(Seq(recorder.cut), &mut |item| events.push((0, item)));
    let raws = log::drain();
    let truncated = log::truncated_at();
    let mut named = std::mem::take(&mut recorder.named).into_iter().peekable();
    let name = |decoder: &mut Decoder, (seq, thread, handle, name): (u64, u32, usize, String)| {
        let kind = decoder.name_stream(handle, thread, name);
        let (seq, thread) = (Seq(seq), ThreadId(thread));
        Item::Mark(Mark { seq, thread, at: began, kind, stack: None })
    };
    for raw in raws {
        while let Some(next) = named.next_if(|(seq, ..)| *seq < raw.seq) {
            events.push((next.0, name(&mut recorder.decoder, next)));
        }
        if let Some(call) = recorder.decoder.decode(&raw, Some(&spans)) {
            for item in call {
                events.push((raw.seq, item));
            }
        }
    }
    for next in named {
        events.push((next.0, name(&mut recorder.decoder, next)));
    }
    for mark in std::mem::take(&mut recorder.marks) {
        events.push((mark.seq.0, Item::Mark(mark)));
    }
    // Stable: the items of one call keep their order.
    events.sort_by_key(|(seq, _)| *seq);
    if let Some(at) = truncated {
        events.push((u64::MAX, Item::Truncated { at }));
    }

    let items = recorder.decoder.introduce(
        events.into_iter().map(|(_, item)| rebase(item, began)),
        &recorder.options.learner_roots,
    );
    recorder.options = Options::default();
    Trace { header, items }
}

/// Times count from the start of the recording; the emulated device's clock is the host's.
fn rebase(mut item: Item, began: Nanos) -> Item {
    match &mut item {
        Item::Call(call) => {
            if let Some(ran) = &mut call.ran {
                ran.start = ran.start.saturating_sub(began);
                ran.end = ran.end.saturating_sub(began);
            }
            call.entered = call.entered.saturating_sub(began);
            call.left = call.left.saturating_sub(began);
        }
        Item::Mark(mark) => mark.at = mark.at.saturating_sub(began),
        Item::Truncated { at } => *at = at.saturating_sub(began),
        _ => {}
    }
    item
}
