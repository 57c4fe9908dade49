//! A CUDA device without a GPU: asynchronous for real, on a clock of its own.
//!
//! Host threads enqueue operations; one executor runs their effects in the order of the device's
//! clock (`engine`). What each call does is in the module named after it: `cuStreamWaitEvent` is
//! [`stream::wait_event`]. Every call returns a [`Status`]; a context that has faulted returns its
//! fault from then on.

pub mod arena;
pub mod context;
pub mod copy;
pub mod device;
pub mod engine;
pub mod event;
pub mod memory;
pub mod model;
pub mod module;
mod state;
pub mod stream;

use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use streamlings_trace::Nanos;

use crate::record::decode::Spans;
use crate::record::{note_waited, now};
use crate::sys::*;
pub use state::State;

/// What a call returns: CUDA_SUCCESS, or another result.
pub type Status = Result<(), CUresult>;

/// The emulated device.
pub struct Emulator {
    state: Mutex<State>,
    /// Tells host threads that something was completed.
    completed: Condvar,
    /// Tells the executor that there is something to do.
    work: Condvar,
}

impl Emulator {
    /// The device of this process; its executor starts with the first call.
    pub fn start() -> std::io::Result<&'static Emulator> {
        static EMULATOR: OnceLock<Emulator> = OnceLock::new();
        if let Some(emulator) = EMULATOR.get() {
            return Ok(emulator);
        }
        let state = State::new()?;
        let mut new = false;
        let emulator = EMULATOR.get_or_init(|| {
            new = true;
            Emulator { state: Mutex::new(state), completed: Condvar::new(), work: Condvar::new() }
        });
        if new {
            std::thread::Builder::new()
                .name("emulated device".to_owned())
                .spawn(|| engine::run(emulator))?;
        }
        Ok(emulator)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the calling thread until `done`, and notes for how long.
    fn wait_until<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        done: impl Fn(&State) -> bool,
    ) -> MutexGuard<'a, State> {
        if done(&state) {
            return state;
        }
        let began = now();
        while !done(&state) {
            state = self.completed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        note_waited(now().saturating_sub(began).max(1));
        state
    }

    /// Keeps the calling thread until a moment on the clock.
    fn pause_until(&self, moment: Moment) {
        let began = now();
        let mut at = began;
        while at < moment {
            std::thread::sleep(std::time::Duration::from_nanos(moment - at));
            at = now();
        }
        if at > began {
            note_waited(at - began);
        }
    }

    /// Wakes the executor if the next thing to do comes before what it is waiting for.
    fn wake(&self, state: &mut State) {
        if state.engine_should_wake() {
            self.work.notify_one();
        }
    }

    /// Holds operations back by delays drawn from `seed`, from now on.
    pub fn perturb(&self, seed: Option<u64>) {
        self.lock().seed = seed;
    }

    /// Takes where operations ran since this was last called, and goes on noting it.
    pub fn take_spans(&self) -> Spans {
        std::mem::take(&mut self.lock().spans)
    }

    /// The state, for a call that needs a current context without a fault.
    fn enter(&self) -> Result<(MutexGuard<'_, State>, Handle), CUresult> {
        let state = self.lock();
        let context = context::current().ok_or(CUDA_ERROR_INVALID_CONTEXT)?;
        match state.contexts.get(&context) {
            None => Err(CUDA_ERROR_INVALID_CONTEXT),
            Some(known) => match known.fault {
                Some(fault) => Err(fault),
                None => Ok((state, context)),
            },
        }
    }
}

/// An out-parameter: null, or a place that the C caller gave us for a `T`.
pub struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Fills it; a null one is CUDA_ERROR_INVALID_VALUE.
    fn fill(&self, value: T) -> Status {
        if self.0.is_null() {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        // SAFETY: who made it promised that it is a place for a `T`; C callers may pack structures.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Its address, where the parameter is memory rather than a place to fill.
    fn address(&self) -> usize {
        self.0 as usize
    }

    /// The same place for another type.
    ///
    /// # Safety
    /// The place has room for a `U`.
    unsafe fn cast<U>(&self) -> Out<U> {
        Out(self.0.cast())
    }
}

/// How an argument of a C function reaches its emulation: as it is, but for out-parameters.
pub trait Argument {
    /// What the emulation takes.
    type Emulated;

    /// # Safety
    /// A mutable pointer is null or what the function's documentation says it points to, until the
    /// call returns.
    unsafe fn emulated(self) -> Self::Emulated;
}

impl<T> Argument for *mut T {
    type Emulated = Out<T>;

    unsafe fn emulated(self) -> Out<T> {
        Out(self)
    }
}

macro_rules! as_it_is {
    ($($ty:ty),*) => { $(impl Argument for $ty {
        type Emulated = $ty;

        unsafe fn emulated(self) -> $ty {
            self
        }
    })* };
}
as_it_is!(u8, u16, u32, u64, usize, i32, HostFn, StreamCallback);

impl<T> Argument for *const T {
    type Emulated = *const T;

    unsafe fn emulated(self) -> *const T {
        self
    }
}

/// A moment on the device's clock, which is the host's: what differs is that the device's is exact.
pub type Moment = Nanos;
