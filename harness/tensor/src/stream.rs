//! Streams, events, and which stream is the current one.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use cudarc::driver::{CudaEvent, CudaStream};
use streamlings_driver::recording;

use crate::device::Device;
use crate::error::Result;
use crate::raw;

/// A non-blocking stream with a name. Clones are the same stream.
///
/// Nothing orders the work of two streams but [`Stream::wait_stream`], [`Stream::wait_event`] and
/// the host.
#[derive(Clone)]
pub struct Stream(Arc<Inner>);

struct Inner {
    cuda: Arc<CudaStream>,
    name: String,
}

impl Stream {
    /// Makes a stream on the process's [`Device`], under the name that reports use for it.
    ///
    /// # Errors
    /// The driver's own, and those of [`Device::get`].
    pub fn new(name: &str) -> Result<Stream> {
        Ok(Stream::from_cuda(Device::get()?.context().new_stream()?, name))
    }

    /// Takes a stream of cudarc's, made on any `CudaContext` of device 0, and names it.
    pub fn from_cuda(cuda: Arc<CudaStream>, name: &str) -> Stream {
        recording::name_stream(cuda.cu_stream() as usize, name);
        Stream(Arc::new(Inner { cuda, name: name.to_owned() }))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The stream as cudarc has it.
    pub fn cuda(&self) -> &Arc<CudaStream> {
        &self.0.cuda
    }

    /// The driver's handle, by which streams are told apart.
    pub fn handle(&self) -> usize {
        self.0.cuda.cu_stream() as usize
    }

    /// What is enqueued here from now on waits for what is on `other` now. Does not hold the host. A
    /// stream comes after what is on itself anyway; asked to wait for that, it is told so all the same.
    ///
    /// # Errors
    /// The driver's own.
    pub fn wait_stream(&self, other: &Stream) -> Result<()> {
        self.wait_event(&other.record_event()?)
    }

    /// Records a new event, without timing, behind what is on the stream now.
    ///
    /// # Errors
    /// The driver's own.
    pub fn record_event(&self) -> Result<Event> {
        Ok(Event(Arc::new(self.0.cuda.record_event(None)?)))
    }

    /// The same, of an event that [`Event::elapsed_ms`] can read.
    ///
    /// # Errors
    /// The driver's own.
    pub fn record_timed_event(&self) -> Result<Event> {
        Ok(Event(Arc::new(self.0.cuda.record_event(raw::TIMED)?)))
    }

    /// What is enqueued here from now on waits for the event's latest record. Does not hold the
    /// host.
    ///
    /// # Errors
    /// The driver's own.
    pub fn wait_event(&self, event: &Event) -> Result<()> {
        Ok(self.0.cuda.wait(&event.0)?)
    }

    /// Holds the host until all that is on the stream now is done.
    ///
    /// # Errors
    /// The driver's own, and those of the work.
    pub fn synchronize(&self) -> Result<()> {
        Ok(self.0.cuda.synchronize()?)
    }

    /// Whether all of the stream's work is done; does not wait.
    ///
    /// # Errors
    /// The driver's own, and those of the work.
    pub fn query(&self) -> Result<bool> {
        Ok(raw::query(&self.0.cuda)?)
    }
}

impl PartialEq for Stream {
    fn eq(&self, other: &Stream) -> bool {
        self.handle() == other.handle()
    }
}

impl Eq for Stream {}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stream").field(&self.0.name).finish()
    }
}

/// A point on a stream. Clones are the same event.
#[derive(Clone, Debug)]
pub struct Event(Arc<CudaEvent>);

impl Event {
    /// Records it again, behind what is on `stream` now. Waits that are enqueued already keep the
    /// record that they were bound to.
    ///
    /// # Errors
    /// The driver's own.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        Ok(self.0.record(&stream.0.cuda)?)
    }

    /// Whether what came before it is done; does not wait.
    ///
    /// # Errors
    /// The driver's own, and those of the work.
    pub fn query(&self) -> Result<bool> {
        self.0.context().bind_to_thread()?;
        Ok(self.0.try_is_complete()?)
    }

    /// Holds the host until what came before it is done.
    ///
    /// # Errors
    /// The driver's own, and those of the work.
    pub fn synchronize(&self) -> Result<()> {
        Ok(self.0.synchronize()?)
    }

    /// From this event to `end`, in milliseconds, on the device's clock; does not wait.
    ///
    /// # Errors
    /// CUDA_ERROR_NOT_READY while one of the two is pending, CUDA_ERROR_INVALID_HANDLE where one
    /// was not made by [`Stream::record_timed_event`].
    pub fn elapsed_ms(&self, end: &Event) -> Result<f32> {
        Ok(raw::elapsed_ms(&self.0, &end.0)?)
    }

    /// The event as cudarc has it.
    pub fn cuda(&self) -> &CudaEvent {
        &self.0
    }
}

thread_local! {
    /// The streams of the [`with_stream`] calls that this thread is in, innermost last.
    static CURRENT: RefCell<Vec<Stream>> = const { RefCell::new(Vec::new()) };
}

/// The stream on which this thread's operations run and allocate: that of the innermost
/// [`with_stream`], else the device's default one.
///
/// # Errors
/// Those of [`Device::get`].
pub fn current_stream() -> Result<Stream> {
    match CURRENT.with_borrow(|streams| streams.last().cloned()) {
        Some(stream) => Ok(stream),
        None => Ok(Device::get()?.default_stream().clone()),
    }
}

/// Makes `stream` the current one of this thread while `body` runs, however it ends. Orders
/// nothing: work before and after it is on other streams.
pub fn with_stream<R>(stream: &Stream, body: impl FnOnce() -> R) -> R {
    struct Restore;
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.with_borrow_mut(|streams| streams.pop());
        }
    }
    CURRENT.with_borrow_mut(|streams| streams.push(stream.clone()));
    let _restore = Restore;
    body()
}
