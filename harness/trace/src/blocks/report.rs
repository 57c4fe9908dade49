//! A call that held the host, as it is handed out.

use crate::model::{Frame, Nanos, Seq, StackId, StreamId, ThreadId};

/// Why a call holds the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// cuStreamSynchronize.
    StreamSync,
    /// cuEventSynchronize.
    EventSync,
    /// cuCtxSynchronize.
    ContextSync,
    /// An asynchronous copy to pageable memory.
    PageableDownload,
    /// An asynchronous copy from pageable memory of more than 2 MiB.
    LargePageableUpload,
    /// A small pageable upload that found no room in the staging memory.
    StagingFull,
    /// A copy between host and device without a stream.
    SynchronousCopy,
    /// A copy between host and host.
    HostCopy,
    /// cuMemFree of memory from cuMemAlloc.
    MemFree,
    /// cuMemFreeHost.
    HostFree,
    /// cuMemHostUnregister.
    HostUnregister,
    /// cuModuleLoad….
    ModuleLoad,
    /// cuModuleUnload.
    ModuleUnload,
    /// The stream's queue was full.
    QueueFull,
    /// An operation was made to wait for itself, as with CUDA_LAUNCH_BLOCKING=1.
    BlockingLaunch,
    /// The device reports a wait that no rule explains.
    Unexplained,
}

impl Reason {
    /// The rule, as a sentence for the learner.
    pub fn sentence(self) -> &'static str {
        match self {
            Reason::StreamSync => "synchronizing a stream waits until all its work is over",
            Reason::EventSync => {
                "synchronizing an event waits until its stream has passed the record"
            }
            Reason::ContextSync => "synchronizing the context waits for every stream of the device",
            Reason::PageableDownload => {
                "a download to pageable memory waits for its stream, even for 4 bytes: only pinned \
                 memory can be written while the host goes on"
            }
            Reason::LargePageableUpload => {
                "an upload of more than 2 MiB from pageable memory waits until its stream has come \
                 to it: it does not fit the driver's staging memory"
            }
            Reason::StagingFull => {
                "pageable uploads are staged in about 2 MiB of the driver's memory; when that is \
                 full the next one waits for room"
            }
            Reason::SynchronousCopy => {
                "a copy without a stream waits for the default stream, and with it for every \
                 blocking stream"
            }
            Reason::HostCopy => "a copy from host to host memory is synchronous",
            Reason::MemFree => "cuMemFree waits for all the work of the device, on every stream",
            Reason::HostFree => {
                "freeing pinned memory waits for all the work of the device, on every stream"
            }
            Reason::HostUnregister => {
                "unpinning host memory waits for all the work of the device, on every stream"
            }
            Reason::ModuleLoad => "loading a module waits for all the work of the device",
            Reason::ModuleUnload => "unloading a module waits for all the work of the device",
            Reason::QueueFull => {
                "a stream's queue holds 1,022 operations; the next one waits for room"
            }
            Reason::BlockingLaunch => {
                "the operation waited for itself, as every launch does under CUDA_LAUNCH_BLOCKING=1"
            }
            Reason::Unexplained => "the driver kept the thread waiting for the device",
        }
    }
}

/// The last piece of work that a call waited for.
#[derive(Clone, Debug, PartialEq)]
pub struct Behind {
    /// The call that enqueued it.
    pub seq: Seq,
    /// The driver function that enqueued it.
    pub function: String,
    /// What it is: ``kernel `fill` ``, `upload`.
    pub operation: String,
    /// Its stream.
    pub stream: StreamId,
    /// The stream as it stands in a sentence.
    pub stream_name: String,
    /// The learner's line that enqueued it.
    pub at: Option<Frame>,
}

/// A call that held the host, or would have.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The call.
    pub seq: Seq,
    /// Its thread.
    pub thread: ThreadId,
    /// The driver function.
    pub function: String,
    /// The learner's line.
    pub at: Option<Frame>,
    /// The whole stack, if one was taken.
    pub stack: Option<StackId>,
    /// Why.
    pub reason: Reason,
    /// The stream that it names or implies; `None` if it waits for the whole device or an event.
    pub stream: Option<StreamId>,
    /// The stream as it stands in a sentence.
    pub stream_name: Option<String>,
    /// Whether work that it waits for was pending, as far as the record tells. If not, it would have
    /// held the host had there been work.
    pub held: bool,
    /// How long the thread waited for the device where that is known, otherwise how long it was in
    /// the call.
    pub time: Nanos,
    /// Whether `time` is the wait itself, and not the whole call.
    pub time_is_wait: bool,
    /// When the call was entered, on the host's clock.
    pub entered: Nanos,
    /// When it returned.
    pub left: Nanos,
    /// The newest of the pending work that it waited for.
    pub behind: Option<Behind>,
    /// How many pending operations it waited for.
    pub pending: usize,
}
