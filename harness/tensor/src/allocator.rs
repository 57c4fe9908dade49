//! A caching allocator of device memory, with the rules of PyTorch's.
//!
//! The driver's own free waits for the whole device, so memory that comes back is kept and handed
//! out again. Each block belongs to the stream it was allocated for: work on that stream is in order,
//! so a block that is handed back there can be handed out there again at once, though the device may
//! still be at it. Another stream that uses the block has to be told of with
//! [`Memory::record_stream`]. Then, when the block is dropped, an event is recorded on each such
//! stream, and the block is free again once all of them are complete; that is looked at, without
//! waiting, at each later allocation. A use that was not recorded is not waited for: that is the
//! race that `record_stream` is there to prevent.
//!
//! Size classes, splitting and merging are in `allocator/blocks.rs`. A stream whose blocks are here
//! stays alive as long as they do.
//!
//! The record holds none of these queries: when they come out is a matter of luck, and a program must
//! not be judged by it. A mark for each block that is handed out stands for them (`marks.rs`), and the
//! order analysis takes it that the streams recorded on the block had come to the drop by then.

mod blocks;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::CUresult;
use cudarc::driver::{CudaContext, CudaEvent, DriverError};
use rustc_hash::FxHashMap;
use streamlings_driver::recording;

use self::blocks::{BlockId, Blocks, block_size, segment_size};
use crate::error::{Error, Result};
use crate::marks;
use crate::raw::Segment;
use crate::stream::Stream;

/// The allocator. Clones are the same one; it can be used from any thread.
#[derive(Clone, Debug)]
pub struct Allocator(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    context: Arc<CudaContext>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    blocks: Blocks,
    segments: FxHashMap<u64, Segment>,
    /// Blocks that were dropped and are in use on other streams; one queue a stream, in the order of
    /// its events.
    waiting: Vec<(Stream, Queue)>,
    /// Events that are over, to be used again.
    events: Vec<CudaEvent>,
    stats: Stats,
    limit: Option<u64>,
}

/// Events of one stream, in order, each with a block that waits for it.
type Queue = VecDeque<(CudaEvent, Arc<Waiting>)>;

/// A block that comes back when the last of its events is over: when nothing holds this any more.
#[derive(Debug)]
struct Waiting {
    block: BlockId,
}

/// How much is allocated, and how. Sizes are in bytes, of blocks as they were rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// In blocks that are handed out.
    pub allocated: u64,
    /// The most that ever was.
    pub peak_allocated: u64,
    /// In blocks that were dropped and wait for events on other streams.
    pub waiting: u64,
    /// In segments that the driver gave.
    pub reserved: u64,
    /// The most that ever was.
    pub peak_reserved: u64,
    /// Calls of cuMemAlloc.
    pub driver_allocations: u64,
    /// Calls of cuMemFree.
    pub driver_frees: u64,
    /// Allocations that needed no call of cuMemAlloc.
    pub reuses: u64,
}

impl Allocator {
    /// An allocator that holds nothing yet.
    pub fn new(context: &Arc<CudaContext>) -> Allocator {
        Allocator(Arc::new(Shared { context: context.clone(), state: Mutex::default() }))
    }

    /// Memory for at least `bytes` bytes, for use on `stream`. What it holds is not specified.
    ///
    /// Returns without calling the driver where a free block of the stream's is big enough. Else
    /// cuMemAlloc is called; if the device has no room, what is cached is given back, which holds
    /// the host, and it is tried once more.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], and the driver's own.
    pub fn allocate(&self, stream: &Stream, bytes: u64) -> Result<Memory> {
        let size = block_size(bytes).ok_or_else(|| self.0.out_of_memory(bytes))?;
        let mut state = self.0.lock();
        state.poll()?;
        let pool = state.blocks.pool(stream.handle(), size);
        let block = match state.blocks.take(pool, size) {
            Some(block) => {
                state.stats.reuses += 1;
                block
            }
            None => {
                drop(state);
                let segment = self.0.new_segment(size, bytes)?;
                state = self.0.lock();
                state.add(pool, segment);
                // Another thread may have taken it meanwhile; then there is another segment.
                match state.blocks.take(pool, size) {
                    Some(block) => block,
                    None => {
                        drop(state);
                        return self.allocate(stream, bytes);
                    }
                }
            }
        };
        let (start, size) = state.blocks.range(block);
        let stats = &mut state.stats;
        stats.allocated += size;
        stats.peak_allocated = stats.peak_allocated.max(stats.allocated);
        drop(state);
        marks::block_out(start, size, stream);
        let (shared, stream) = (self.0.clone(), stream.clone());
        Ok(Memory { shared, stream, block, start, size, bytes, uses: Mutex::default() })
    }

    /// Gives every segment of which nothing is in use back to the driver. Holds the host: first for
    /// the events that dropped blocks wait for, then, in cuMemFree, for the whole device.
    ///
    /// # Errors
    /// The driver's own.
    pub fn trim(&self) -> Result<()> {
        self.0.trim()
    }

    /// The figures.
    pub fn stats(&self) -> Stats {
        self.0.lock().stats
    }

    /// Lets the allocator hold at most so many bytes of segments, as if the device had no more;
    /// `None` for as many as it has.
    pub fn set_limit(&self, bytes: Option<u64>) {
        self.0.lock().limit = bytes;
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing under the lock panics half way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn new_segment(&self, size: u64, bytes: u64) -> Result<Segment> {
        let size = segment_size(size).ok_or_else(|| self.out_of_memory(bytes))?;
        match self.try_segment(size) {
            Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
                self.trim()?;
                match self.try_segment(size) {
                    Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
                        Err(self.out_of_memory(bytes))
                    }
                    other => Ok(other?),
                }
            }
            other => Ok(other?),
        }
    }

    fn try_segment(&self, size: u64) -> Result<Segment, DriverError> {
        let state = self.lock();
        if state.limit.is_some_and(|limit| state.stats.reserved.saturating_add(size) > limit) {
            return Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY));
        }
        drop(state);
        Segment::new(&self.context, size)
    }

    fn out_of_memory(&self, requested: u64) -> Error {
        let Stats { allocated, reserved, .. } = self.lock().stats;
        let (free, total) = self.context.mem_get_info().unwrap_or_default();
        let (free, total) = (free as u64, total as u64);
        Error::OutOfMemory { requested, allocated, reserved, free, total }
    }

    fn trim(&self) -> Result<()> {
        // Nobody waits for the lock while this waits for the device.
        let waiting = std::mem::take(&mut self.lock().waiting);
        for (_, queue) in &waiting {
            if let Some((event, _)) = queue.back() {
                event.synchronize()?;
            }
        }
        let mut state = self.lock();
        for (_, queue) in waiting {
            for (event, waiting) in queue {
                state.over(event, waiting);
            }
        }
        let starts = state.blocks.take_whole_segments();
        let segments: Vec<Segment> =
            starts.iter().filter_map(|start| state.segments.remove(start)).collect();
        state.stats.reserved -= segments.iter().map(Segment::size).sum::<u64>();
        state.stats.driver_frees += segments.len() as u64;
        drop(state);
        drop(segments);
        Ok(self.context.check_err()?)
    }

    /// A block is dropped that is in use on other streams.
    fn give_later(&self, block: BlockId, uses: Vec<Stream>) {
        let mut state = self.lock();
        let mut events: Vec<CudaEvent> = Vec::new();
        while let (true, Some(event)) = (events.len() < uses.len(), state.events.pop()) {
            events.push(event);
        }
        // An event record waits for a place where its stream's queue is full.
        drop(state);
        let waiting = Arc::new(Waiting { block });
        let mut recorded = Vec::new();
        for user in uses {
            let event = events.pop().map_or_else(|| self.context.new_event(None), Ok);
            match event.and_then(|event| event.record(user.cuda()).map(|()| event)) {
                Ok(event) => recorded.push((user, event)),
                Err(error) => {
                    // When the stream is done is not known, so the block never comes back.
                    self.context.record_err::<()>(Err(error));
                    std::mem::forget(waiting.clone());
                }
            }
        }
        let mut state = self.lock();
        for (user, event) in recorded {
            let entry = (event, waiting.clone());
            match state.waiting.iter_mut().find(|(stream, _)| *stream == user) {
                Some((_, queue)) => queue.push_back(entry),
                None => state.waiting.push((user, VecDeque::from([entry]))),
            }
        }
        // Under the lock: another thread that polls right after it must be the last to hold the block,
        // or nobody would ever give it back.
        drop(waiting);
        drop(state);
    }
}

impl State {
    fn add(&mut self, pool: blocks::PoolId, segment: Segment) {
        let (start, size) = (segment.start(), segment.size());
        self.segments.insert(start, segment);
        self.blocks.add_segment(pool, start, size);
        let stats = &mut self.stats;
        stats.driver_allocations += 1;
        stats.reserved += size;
        stats.peak_reserved = stats.peak_reserved.max(stats.reserved);
    }

    /// Takes back what has become free.
    fn poll(&mut self) -> Result<(), DriverError> {
        let Some((stream, _)) = self.waiting.first() else { return Ok(()) };
        // A thread may get here before it has called the driver at all.
        stream.cuda().context().bind_to_thread()?;
        // What the allocator sees here the program cannot rely on: it is left out of the record, and
        // the block's mark stands for it.
        recording::unseen(|| self.poll_events())
    }

    fn poll_events(&mut self) -> Result<(), DriverError> {
        let mut queues = std::mem::take(&mut self.waiting);
        let mut result = Ok(());
        queues.retain_mut(|(_, queue)| {
            while let Some((event, _)) = queue.front() {
                match event.try_is_complete() {
                    Ok(true) => {}
                    Ok(false) => return true,
                    Err(error) => {
                        result = Err(error);
                        return true;
                    }
                }
                if let Some((event, waiting)) = queue.pop_front() {
                    self.over(event, waiting);
                }
            }
            false
        });
        self.waiting = queues;
        result
    }

    /// This thread has seen that the event is complete.
    fn over(&mut self, event: CudaEvent, waiting: Arc<Waiting>) {
        self.events.push(event);
        self.last_over(waiting);
    }

    fn last_over(&mut self, waiting: Arc<Waiting>) {
        if let Ok(waiting) = Arc::try_unwrap(waiting) {
            self.stats.waiting -= self.blocks.range(waiting.block).1;
            self.blocks.give(waiting.block);
        }
    }
}

/// A block of device memory; dropping it hands it back to its allocator.
#[derive(Debug)]
pub struct Memory {
    shared: Arc<Shared>,
    stream: Stream,
    block: BlockId,
    start: u64,
    size: u64,
    bytes: u64,
    uses: Mutex<Vec<Stream>>,
}

impl Memory {
    /// Its first address, a multiple of 512.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// How many bytes were asked for.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The stream that it was allocated for.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Tells the allocator that the memory is used on `stream` too: once dropped it is not handed
    /// out again before what is on that stream *then* is done. Orders nothing else. The memory's own
    /// stream needs no telling.
    pub fn record_stream(&self, stream: &Stream) {
        if *stream == self.stream {
            return;
        }
        let mut uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        if !uses.contains(stream) {
            uses.push(stream.clone());
        }
        drop(uses);
        marks::block_use(self.start, self.size, stream);
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        marks::block_back(self.start, self.size);
        let uses = std::mem::take(self.uses.get_mut().unwrap_or_else(PoisonError::into_inner));
        let mut state = self.shared.lock();
        state.stats.allocated -= self.size;
        if uses.is_empty() {
            state.blocks.give(self.block);
        } else {
            state.stats.waiting += self.size;
            drop(state);
            self.shared.give_later(self.block, uses);
        }
    }
}
