//! Pinned buffers that were dropped, to be handed out again.
//!
//! Allocating pinned memory takes milliseconds and freeing it waits for the whole device, so no
//! buffer is ever freed: as in PyTorch it waits here for the copies it takes part in, and goes to the
//! next who asks for its size.

use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{CudaContext, CudaEvent};
use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::raw::{PinnedBuffer, Receiving};
use crate::stream::Stream;

/// The cache.
#[derive(Debug)]
pub struct HostCache {
    context: Arc<CudaContext>,
    /// By the buffers' length.
    idle: Mutex<FxHashMap<usize, Vec<Idle>>>,
}

/// A dropped buffer, and what it still takes part in.
#[derive(Debug)]
struct Idle {
    held: Held,
    uploads: Vec<CudaEvent>,
}

/// Who holds a buffer.
#[derive(Debug)]
pub enum Held {
    /// Nobody, though the device may still read it.
    Buffer(PinnedBuffer),
    /// The device writes it, or did.
    Receiving(Receiving),
}

impl Idle {
    /// Asks each time: whoever takes the buffer has seen for themselves that it is free.
    fn is_free(&self) -> bool {
        let received = match &self.held {
            Held::Buffer(_) => true,
            Held::Receiving(receiving) => receiving.is_done().unwrap_or(false),
        };
        received && self.uploads.iter().all(CudaEvent::is_complete)
    }
}

impl HostCache {
    /// An empty one.
    pub fn new(context: &Arc<CudaContext>) -> HostCache {
        HostCache { context: context.clone(), idle: Mutex::default() }
    }

    /// A buffer for at least `len` floats.
    pub fn take(&self, len: usize) -> Result<PinnedBuffer> {
        let len = len.max(128).checked_next_power_of_two().unwrap_or(len);
        self.context.bind_to_thread()?;
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let of_that_length = idle.entry(len).or_default();
        let free = of_that_length.iter().position(Idle::is_free);
        let free = free.map(|index| of_that_length.swap_remove(index));
        drop(idle);
        match free.map(|idle| idle.held) {
            Some(Held::Buffer(buffer)) => Ok(buffer),
            Some(Held::Receiving(receiving)) => receiving.wait(),
            None => Ok(PinnedBuffer::new(&self.context, len)?),
        }
    }

    /// Keeps a dropped buffer that the device may still read on some streams.
    pub fn keep(&self, held: Held, uses: Vec<Stream>) {
        let uploads: Result<Vec<CudaEvent>, _> =
            uses.iter().map(|stream| stream.cuda().record_event(None)).collect();
        let len = match &held {
            Held::Buffer(buffer) => buffer.len(),
            Held::Receiving(receiving) => receiving.len(),
        };
        match uploads {
            Ok(uploads) => {
                let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
                idle.entry(len).or_default().push(Idle { held, uploads });
            }
            Err(error) => {
                // When the device is done with it is not known, so it is never used again.
                self.context.record_err::<()>(Err(error));
                std::mem::forget(held);
            }
        }
    }
}
