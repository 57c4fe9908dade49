//! How cases that grade tensors set the stage: nothing cached, and each stream busy for as long as the
//! case wants, which also tells the record's streams apart.

use streamlings_grade::{Finding, diagnosis};
use streamlings_tensor::{Device, Error, Stream, Tensor, spin, with_stream};
use streamlings_trace::{Op, Range, StreamId, Trace};

/// Waits until nothing is under way, and gives back what the allocator has cached: which block it hands
/// out in the run that follows then depends on that run alone.
///
/// # Errors
/// The driver's own.
pub fn clear() -> Result<(), Finding> {
    let device = Device::get()?;
    device.synchronize()?;
    Ok(device.allocator().trim()?)
}

/// Keeps each stream busy for so many nanoseconds. First thing in a run: see [`streams`].
///
/// # Errors
/// The driver's own.
pub fn keep_busy(streams: &[(&Stream, u64)]) -> Result<(), Finding> {
    Ok(streams.iter().try_for_each(|(stream, nanos)| with_stream(stream, || spin(*nanos)))?)
}

/// The streams that [`keep_busy`] was given, in order, as the record knows them.
///
/// # Errors
/// [`diagnosis::SETUP_FAILED`] where it was not called.
pub fn streams<const N: usize>(trace: &Trace) -> Result<[StreamId; N], Finding> {
    let launches = trace.calls().filter(|call| matches!(call.op, Op::Launch { .. }));
    let found: Vec<StreamId> = launches.take(N).filter_map(|call| call.op.stream()).collect();
    let message = "the streams were not kept busy";
    found.try_into().map_err(|_| Finding::new(diagnosis::SETUP_FAILED, message))
}

/// The memory of a tensor, as the record knows it.
pub fn memory(tensor: &Tensor) -> Range {
    Range::new(tensor.device_ptr(), 4 * tensor.numel() as u64)
}

/// What is said where the learner's function fails: an error may be the driver's, or the tensor
/// library's own.
pub fn returned_error(error: Error) -> Finding {
    let code = match error {
        Error::Driver(_) | Error::OutOfMemory { .. } => diagnosis::RETURNED_ERROR,
        _ => diagnosis::TENSOR_REFUSED,
    };
    Finding::new(code, format!("the function returned an error: {error}"))
}
