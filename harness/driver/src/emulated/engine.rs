//! The executor: runs every operation's effect, in the order of the device's clock.
//!
//! An operation's start and end follow from the model: the end of what it waits for, the unit it
//! needs, the moment it was enqueued, and its duration. Inputs are read at the start and outputs
//! written at the end, so a consumer that starts before its producer's end sees the old bytes, every
//! time. The host's clock only has to catch up: nothing is announced as done before its end has come.
//! Host twins of large kernels compute on a thread of their own, on private copies.

use std::cmp::Reverse;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use streamlings_kernels::{Args, Kernel, ParamKind, Role};

use super::arena::{POISON, StreamKey};
use super::model::{self, Route};
use super::{Emulator, Moment, State};
use crate::record::delays::drawn;
use crate::record::now;
use crate::sys::*;

/// An operation's number: increasing in the order of enqueueing.
pub type OpId = u64;

/// A step on the agenda.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// What it waits for is done: it starts, or queues for its unit.
    Ready,
    /// Its duration is over.
    End,
}

/// Where a copy's bytes come from.
pub enum Source {
    Device(DevicePtr),
    /// Host memory, read when the copy starts.
    Host(usize),
    /// Bytes that were copied at the call.
    Staged(Vec<u8>),
}

/// Where they go.
#[derive(Clone, Copy)]
pub enum Target {
    Device(DevicePtr),
    Host(usize),
}

/// A function of the learner's that runs in stream order.
#[derive(Clone, Copy)]
pub enum Callback {
    Host(HostFn),
    Stream(StreamCallback, Handle),
}

/// What an operation does.
pub enum Work {
    /// Takes no time and has no effect: a wait, a free.
    Mark,
    /// An event record: takes [`model::EVENT`].
    Record(Handle),
    Copy {
        from: Source,
        to: Target,
        bytes: usize,
        route: Route,
        unit: Option<usize>,
    },
    Set {
        at: DevicePtr,
        value: [u8; 4],
        bytes: usize,
    },
    Kernel {
        kernel: &'static Kernel,
        args: Vec<u64>,
        wide: bool,
    },
    Callback {
        function: Callback,
        data: usize,
    },
    Poison {
        at: usize,
        bytes: usize,
    },
    /// It has started; this is what its end does.
    Running(Effect),
}

/// What happens at an operation's end.
pub enum Effect {
    None,
    Record(Handle),
    Write { to: usize, data: Vec<u8> },
    Set { to: usize, value: [u8; 4], bytes: usize },
    Kernel(Vec<(usize, usize)>, Computing),
    Fault(CUresult),
}

/// A twin's buffers, computed or on their way.
pub enum Computing {
    Done(Vec<Vec<f32>>),
    Thread(JoinHandle<Option<Vec<Vec<f32>>>>),
}

/// Copies up, copies down, kernels that fill the device.
pub const UP: usize = 0;
pub const DOWN: usize = 1;
pub const WIDE: usize = 2;

/// Above this the twin computes on its own thread.
const HEAVY: f64 = 1e7;

impl Work {
    /// Whether it takes a place in the stream's queue.
    pub fn fills_queue(&self) -> bool {
        matches!(
            self,
            Work::Copy { .. } | Work::Set { .. } | Work::Kernel { .. } | Work::Callback { .. }
        )
    }

    fn unit(&self) -> Option<usize> {
        match self {
            Work::Copy { unit, .. } => *unit,
            Work::Kernel { wide: true, .. } => Some(WIDE),
            _ => None,
        }
    }

    fn duration(&self) -> Moment {
        match self {
            Work::Record(_) => model::EVENT,
            Work::Copy { bytes, route, .. } => model::copy(*bytes, *route),
            Work::Set { bytes, .. } => model::memset(*bytes),
            Work::Kernel { kernel, args, .. } => model::kernel((kernel.cost)(&Args(args))),
            _ => 0,
        }
    }
}

/// A pending operation.
pub struct Op {
    pub stream: StreamKey,
    pub context: Handle,
    pub work: Work,
    /// How many operations it still waits for.
    pub unmet: usize,
    /// The earliest moment at which it can start.
    pub ready: Moment,
    pub dependents: Vec<OpId>,
    /// Takes a place in its stream's queue.
    pub deep: bool,
    pub started: Moment,
}

/// The executor's thread.
pub fn run(device: &'static Emulator) {
    let result = catch_unwind(AssertUnwindSafe(|| {
        let mut state = device.lock();
        loop {
            let next = state.agenda.peek().map(|Reverse((at, ..))| *at);
            let now = now();
            match next {
                None => {
                    state.sleeping_until = Moment::MAX;
                    state = device.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                Some(at) if at > now => {
                    state.sleeping_until = at;
                    let pause = Duration::from_nanos(at - now);
                    state = device
                        .work
                        .wait_timeout(state, pause)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0;
                }
                Some(at) => {
                    state.sleeping_until = 0;
                    if let Some(Reverse((_, _, op, step))) = state.agenda.pop() {
                        state.reached = state.reached.max(at);
                        state = match step {
                            Step::Ready => ready(device, state, op, at),
                            Step::End => end(device, state, op, at),
                        };
                    }
                    continue;
                }
            }
            state.sleeping_until = 0;
        }
    }));
    if result.is_err() {
        eprintln!(
            "streamlings: internal error of the emulated device's executor; please report it"
        );
        std::process::abort();
    }
}

type Guard = MutexGuard<'static, State>;

/// Runs `effect` without the lock: host threads enqueue meanwhile.
fn unlocked<R>(device: &'static Emulator, state: Guard, effect: impl FnOnce() -> R) -> (Guard, R) {
    drop(state);
    let result = effect();
    (device.lock(), result)
}

/// All that it waits for is done.
fn ready(device: &'static Emulator, mut state: Guard, id: OpId, at: Moment) -> Guard {
    let seed = state.seed;
    let Some(op) = state.ops.get_mut(&id) else { return state };
    if let Some(seed) = seed
        && op.deep
        && op.started == 0
    {
        // Marks the operation as held back once.
        op.started = 1;
        let delay = drawn(seed, id, LONGEST_DELAY);
        if delay > 0 {
            state.schedule(at + delay, id, Step::Ready);
            return state;
        }
    }
    let unit = state.ops.get(&id).and_then(|op| op.work.unit());
    if let Some(unit) = unit {
        if state.units[unit].busy.is_some() {
            state.units[unit].queue.push_back(id);
            return state;
        }
        state.units[unit].busy = Some(id);
    }
    start(device, state, id, at)
}

/// How long an operation of a perturbed run is held back at most.
const LONGEST_DELAY: Moment = 4_000_000;

/// It starts: inputs are read.
fn start(device: &'static Emulator, mut state: Guard, id: OpId, at: Moment) -> Guard {
    let Some(op) = state.ops.get_mut(&id) else { return state };
    op.started = at;
    let mut end = at + op.work.duration();
    let work = std::mem::replace(&mut op.work, Work::Running(Effect::None));
    let context = op.context;
    if let Work::Copy { from: Source::Staged(data), .. } = &work {
        let length = data.len();
        if let Some(context) = state.contexts.get_mut(&context) {
            context.staged = context.staged.saturating_sub(length);
        }
    }
    let copies = matches!(work, Work::Copy { .. });
    let (mut state, effect) = match work {
        Work::Record(event) => (state, Effect::Record(event)),
        Work::Copy { from, to, bytes, .. } => {
            let to = match to {
                Target::Host(address) => Some(address),
                Target::Device(address) => state.arena.locate(address, bytes as u64),
            };
            let from_address = match &from {
                Source::Staged(_) => Some(0),
                Source::Host(address) => Some(*address),
                Source::Device(address) => state.arena.locate(*address, bytes as u64),
            };
            match (to, from_address) {
                (Some(to), Some(address)) => unlocked(device, state, move || {
                    let data = match from {
                        Source::Staged(data) => data,
                        // SAFETY: located in device memory, or host memory that the call's contract
                        // keeps alive until the copy is done.
                        _ => unsafe { read(address, bytes) },
                    };
                    Effect::Write { to, data }
                }),
                _ => (state, Effect::Fault(CUDA_ERROR_ILLEGAL_ADDRESS)),
            }
        }
        Work::Set { at, value, bytes } => match state.arena.locate(at, bytes as u64) {
            Some(to) => (state, Effect::Set { to, value, bytes }),
            None => (state, Effect::Fault(CUDA_ERROR_ILLEGAL_ADDRESS)),
        },
        Work::Kernel { kernel, args, .. } => start_kernel(device, state, kernel, args),
        Work::Callback { function, data } => {
            // It ends when the function returns; see `call_back`.
            end = Moment::MAX;
            let thread = std::thread::Builder::new().name("host function".to_owned());
            if thread.spawn(move || call_back(device, id, function, data)).is_err() {
                end = at;
            }
            (state, Effect::None)
        }
        Work::Poison { at, bytes } => unlocked(device, state, || {
            // SAFETY: memory of the arena, which only this thread touches.
            unsafe { write_pattern(at, POISON.to_ne_bytes(), bytes) };
            Effect::None
        }),
        Work::Mark | Work::Running(_) => (state, Effect::None),
    };
    if copies {
        // A synchronous upload waits for its start.
        device.completed.notify_all();
    }
    if let Some(op) = state.ops.get_mut(&id) {
        op.work = Work::Running(effect);
        if end != Moment::MAX {
            state.schedule(end, id, Step::End);
        }
    }
    state
}

/// Runs a host function; its operation ends when it returns.
fn call_back(device: &'static Emulator, id: OpId, function: Callback, data: usize) {
    let data = data as *mut c_void;
    // SAFETY: the contract of cuLaunchHostFunc: the function takes this data, on any thread.
    let call = || unsafe {
        match function {
            Callback::Host(Some(function)) => function(data),
            Callback::Stream(Some(function), stream) => function(stream, CUDA_SUCCESS, data),
            _ => {}
        }
    };
    call();
    let mut state = device.lock();
    let at = now().max(state.reached);
    state.schedule(at, id, Step::End);
    device.wake(&mut state);
}

fn start_kernel(
    device: &'static Emulator,
    state: Guard,
    kernel: &'static Kernel,
    args: Vec<u64>,
) -> (Guard, Effect) {
    // One buffer for each pointer: where its bytes are, how many elements, its role.
    let mut buffers: Vec<(usize, usize, Role)> = Vec::new();
    for (index, param) in kernel.params.iter().enumerate() {
        let ParamKind::Pointer { role, elements } = param.kind else { continue };
        let address = args.get(index).copied().unwrap_or(0);
        let count = elements(&Args(&args));
        if count == 0 {
            buffers.push((0, 0, role));
            continue;
        }
        if address % 4 != 0 {
            return (state, Effect::Fault(CUDA_ERROR_MISALIGNED_ADDRESS));
        }
        match count.checked_mul(4).and_then(|bytes| state.arena.locate(address, bytes)) {
            Some(at) => buffers.push((at, count as usize, role)),
            None => return (state, Effect::Fault(CUDA_ERROR_ILLEGAL_ADDRESS)),
        }
    }
    let cost = (kernel.cost)(&Args(&args));
    unlocked(device, state, move || {
        let mut data: Vec<Vec<f32>> = buffers
            .iter()
            .map(|(at, count, role)| match role {
                Role::Write => vec![0.0; *count],
                // SAFETY: located in the arena for that many elements, or in page-locked memory.
                _ => unsafe { read_floats(*at, *count) },
            })
            .collect();
        let written = buffers
            .iter()
            .map(|(at, count, role)| (*at, if *role == Role::Read { 0 } else { *count }))
            .collect();
        let compute = move || {
            let run = AssertUnwindSafe(|| (kernel.twin)(&Args(&args), &mut data));
            catch_unwind(run).ok().map(|()| data)
        };
        let computing = if cost.flops.max(cost.bytes) > HEAVY {
            let thread = std::thread::Builder::new().name(kernel.name.to_owned());
            thread.spawn(compute).map(Computing::Thread)
        } else {
            compute().map(Computing::Done).ok_or_else(|| std::io::Error::other("the twin panicked"))
        };
        match computing {
            Ok(computing) => Effect::Kernel(written, computing),
            Err(error) => {
                eprintln!("streamlings: the host twin of `{}` failed: {error}", kernel.name);
                Effect::Fault(CUDA_ERROR_LAUNCH_FAILED)
            }
        }
    })
}

/// Its duration is over: outputs are written, and it counts as done.
fn end(device: &'static Emulator, mut state: Guard, id: OpId, at: Moment) -> Guard {
    let Some(op) = state.ops.get_mut(&id) else { return state };
    let work = std::mem::replace(&mut op.work, Work::Mark);
    let context = op.context;
    let effect = match work {
        Work::Running(effect) => effect,
        _ => Effect::None,
    };
    let fault;
    (state, fault) = match effect {
        Effect::None => (state, None),
        Effect::Record(event) => {
            if let Some(record) =
                state.events.get_mut(&event).and_then(|event| event.record.as_mut())
                && record.op == id
            {
                record.end = Some(at);
            }
            (state, None)
        }
        Effect::Write { to, data } => unlocked(device, state, || {
            // SAFETY: located when the copy started, or host memory that the call's contract keeps
            // alive until it is done.
            unsafe { write(to, &data) };
            None
        }),
        Effect::Set { to, value, bytes } => unlocked(device, state, || {
            // SAFETY: located when it started.
            unsafe { write_pattern(to, value, bytes) };
            None
        }),
        Effect::Kernel(buffers, computing) => unlocked(device, state, || {
            let data = match computing {
                Computing::Done(data) => Some(data),
                Computing::Thread(thread) => thread.join().ok().flatten(),
            };
            let Some(data) = data else { return Some(CUDA_ERROR_LAUNCH_FAILED) };
            for ((to, count), data) in buffers.into_iter().zip(data) {
                let count = count.min(data.len());
                // SAFETY: located when the kernel started, for `count` elements.
                unsafe { write_floats(to, &data[..count]) };
            }
            None
        }),
        Effect::Fault(fault) => (state, Some(fault)),
    };
    let mut state = finish(device, state, id, at);
    if let Some(fault) = fault {
        break_context(&mut state, context, fault);
    }
    device.completed.notify_all();
    state
}

/// Takes a completed operation out and lets what waited for it go on.
fn finish(device: &'static Emulator, mut state: Guard, id: OpId, at: Moment) -> Guard {
    let Some(op) = state.ops.remove(&id) else { return state };
    state.note_span(id, op.started, at);
    if let Some(stream) = state.streams.get_mut(&op.stream) {
        if op.deep {
            stream.depth = stream.depth.saturating_sub(1);
        }
        if stream.destroyed && stream.last == Some(id) {
            state.streams.remove(&op.stream);
        }
    }
    for dependent in op.dependents {
        let Some(waiting) = state.ops.get_mut(&dependent) else { continue };
        waiting.unmet -= 1;
        waiting.ready = waiting.ready.max(at);
        let ready = waiting.ready;
        if waiting.unmet == 0 {
            state.schedule(ready, dependent, Step::Ready);
        }
    }
    let unit = state.units.iter().position(|unit| unit.busy == Some(id));
    if let Some(unit) = unit {
        state.units[unit].busy = None;
        while let Some(next) = state.units[unit].queue.pop_front() {
            if state.ops.contains_key(&next) {
                state.units[unit].busy = Some(next);
                return start(device, state, next, at);
            }
        }
    }
    state
}

/// A fault: nothing of the context runs any more, and every call returns the error.
pub fn break_context(state: &mut State, context: Handle, fault: CUresult) {
    if let Some(context) = state.contexts.get_mut(&context) {
        context.fault.get_or_insert(fault);
    }
    drop_ops(state, context);
}

/// Drops a context's pending operations without their effects.
pub fn drop_ops(state: &mut State, context: Handle) {
    for id in state.context_ops(context) {
        state.ops.remove(&id);
        for unit in &mut state.units {
            if unit.busy == Some(id) {
                unit.busy = None;
            }
        }
    }
    if let Some(context) = state.contexts.get_mut(&context) {
        context.staged = 0;
    }
    for stream in state.streams.values_mut().filter(|stream| stream.context == context) {
        stream.depth = 0;
        stream.last = None;
    }
    // A unit that was set free goes on with what other contexts queued for it.
    for unit in 0..state.units.len() {
        if state.units[unit].busy.is_none()
            && let Some(next) = state.units[unit].queue.pop_front()
        {
            let at = state.reached;
            state.schedule(at, next, Step::Ready);
        }
    }
}

/// # Safety
/// `at` is readable for `bytes` bytes.
pub unsafe fn read(at: usize, bytes: usize) -> Vec<u8> {
    let mut data = Vec::with_capacity(bytes);
    // SAFETY: the caller's promise; `set_len` after all of it was written.
    unsafe {
        std::ptr::copy_nonoverlapping(at as *const u8, data.as_mut_ptr(), bytes);
        data.set_len(bytes);
    }
    data
}

/// # Safety
/// `at` is readable for `count` floats.
unsafe fn read_floats(at: usize, count: usize) -> Vec<f32> {
    let mut data: Vec<f32> = Vec::with_capacity(count);
    // SAFETY: the caller's promise; any bits are a float.
    unsafe {
        std::ptr::copy_nonoverlapping(at as *const u8, data.as_mut_ptr().cast(), count * 4);
        data.set_len(count);
    }
    data
}

/// # Safety
/// `to` is writable for the whole of `data`.
unsafe fn write(to: usize, data: &[u8]) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), to as *mut u8, data.len()) };
}

/// # Safety
/// `to` is writable for the whole of `data`.
unsafe fn write_floats(to: usize, data: &[f32]) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(data.as_ptr().cast(), to as *mut u8, data.len() * 4) };
}

/// # Safety
/// `to` is writable for `bytes` bytes.
pub unsafe fn write_pattern(to: usize, pattern: [u8; 4], bytes: usize) {
    // SAFETY: the caller's promise.
    let memory = unsafe { std::slice::from_raw_parts_mut(to as *mut u8, bytes) };
    let (first, rest) = memory.split_at_mut(bytes.min(4096));
    for (byte, value) in first.iter_mut().zip(pattern.iter().cycle()) {
        *byte = *value;
    }
    for chunk in rest.chunks_mut(4096) {
        chunk.copy_from_slice(&first[..chunk.len()]);
    }
}
