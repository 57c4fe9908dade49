//! Exercise 06, `snippets`, solved: the lines that hold the host are marked.

use streamlings::tensor::{
    Download, Event, HostTensor, Index, PinnedTensor, Result, Stream, Tensor, current_stream,
};

/// This file, in which the grader looks for the marks.
pub const SOURCE: &str = include_str!("snippets.rs");

/// Prints a loss.
pub fn print_loss(loss: &Tensor, log: &mut Vec<String>) -> Result<()> {
    let halved = loss.scale(0.5)?;
    log.push(format!("loss {halved}")); //~ SYNC
    Ok(())
}

/// Prints what is known of a tensor.
pub fn print_shape(x: &Tensor, log: &mut Vec<String>) -> Result<()> {
    let flipped = x.transpose()?;
    log.push(format!("{} elements, {:?}", flipped.numel(), flipped.shape()));
    log.push(format!("{flipped:?}"));
    Ok(())
}

/// Allocates a tensor of zeros and one of ones, and adds them up.
pub fn allocate(rows: usize) -> Result<Tensor> {
    let sum = Tensor::zeros([rows, 4])?;
    let ones = Tensor::full([rows, 4], 1.0)?;
    sum.axpy_(1.0, &ones)?;
    Ok(sum)
}

/// Makes a tensor of three constants.
pub fn constants(log: &mut Vec<String>) -> Result<Tensor> {
    let weights = Tensor::from_slice(&[0.2, 0.3, 0.5], [3])?; //~ SYNC
    log.push(format!("{weights:?}"));
    weights.scale(2.0)
}

/// Frees a large tensor.
pub fn free(rows: usize, log: &mut Vec<String>) -> Result<()> {
    let scratch = Tensor::empty([rows, 1000])?;
    scratch.zero_()?;
    drop(scratch);
    log.push("freed".to_owned());
    Ok(())
}

/// Halves the rate once the loss is small.
pub fn branch_on_the_loss(loss: &Tensor, rate: &mut f32) -> Result<Tensor> {
    let smooth = loss.scale(0.9)?;
    if smooth.item()? < 0.1 {
        //~ SYNC
        *rate *= 0.5;
    }
    smooth.scale(*rate)
}

/// Does the same where the loss is.
pub fn branch_on_the_device(loss: &Tensor, rate: &Tensor) -> Result<Tensor> {
    let large = loss.gt(0.1)?;
    let halved = rate.scale(0.5)?;
    let rate = Tensor::select(&large, rate, &halved)?;
    loss.mul(&rate)
}

/// The sum of what a mask leaves over.
pub fn sum_of_positives(x: &Tensor) -> Result<Tensor> {
    let mask = x.gt(0.0)?;
    let positives = x.masked_select(&mask)?; //~ SYNC
    positives.sum()
}

/// The same by multiplication.
pub fn sum_of_positives_again(x: &Tensor) -> Result<Tensor> {
    let mask = x.gt(0.0)?;
    let positives = x.mul(&mask)?;
    positives.sum()
}

/// Takes the elements at places that are on the device.
pub fn take(x: &Tensor, places: &Index, log: &mut Vec<String>) -> Result<Tensor> {
    let taken = x.gather(places)?;
    log.push(format!("{} of {}", places.len(), x.numel()));
    taken.scale(2.0)
}

/// Takes the elements at places that the host knows.
pub fn take_these(x: &Tensor, log: &mut Vec<String>) -> Result<Tensor> {
    let places = Index::from_slice(&[0, 2, 4])?; //~ SYNC
    let taken = x.gather(&places)?;
    log.push(format!("{taken:?}"));
    Ok(taken)
}

/// Takes the elements that are not 0.
pub fn take_nonzero(x: &Tensor) -> Result<Tensor> {
    let x = x.relu()?;
    let places = x.nonzero()?; //~ SYNC
    let taken = x.gather(&places)?;
    taken.scale(2.0)
}

/// Counts how often the sign is right.
pub fn accuracy(x: &Tensor, target: &Tensor, log: &mut Vec<String>) -> Result<()> {
    let agree = x.mul(target)?.gt(0.0)?;
    let hits = agree.count_nonzero()?; //~ SYNC
    log.push(format!("{hits} of {}", agree.numel()));
    Ok(())
}

/// Compares two tensors.
pub fn compare(x: &Tensor, y: &Tensor, log: &mut Vec<String>) -> Result<()> {
    let same_shape = x.shape() == y.shape();
    let same = same_shape && x.to_vec()? == y.to_vec()?; //~ SYNC
    log.push(format!("{same_shape} {same}"));
    Ok(())
}

/// Copies within the device.
pub fn copy_aside(x: &Tensor, best: &Tensor) -> Result<Tensor> {
    let copy = x.copy()?;
    best.copy_(&copy)?;
    x.zero_()?;
    Ok(copy)
}

/// Uploads a batch of a few kilobytes, as most programs do.
pub fn upload(batch: &HostTensor, log: &mut Vec<String>) -> Result<Tensor> {
    let x = batch.to_device(false)?; //~ SYNC
    log.push(format!("{x:?}"));
    x.scale(0.5)
}

/// Uploads 8 MiB of pageable memory, and asks not to be held.
pub fn upload_large(dataset: &HostTensor, log: &mut Vec<String>) -> Result<Tensor> {
    let x = dataset.to_device(true)?; //~ SYNC
    log.push(format!("{x:?}"));
    x.sum()
}

/// Uploads pinned memory, first one way, then the other.
pub fn upload_pinned(batch: &PinnedTensor, log: &mut Vec<String>) -> Result<Tensor> {
    let x = batch.to_device(true)?;
    let y = batch.to_device(false)?; //~ SYNC
    log.push(format!("{x:?} {y:?}"));
    x.add(&y)
}

/// Brings a metric to the host.
pub fn download(x: &Tensor, log: &mut Vec<String>) -> Result<()> {
    let mean = x.mean()?;
    let values = mean.to_host()?; //~ SYNC
    log.push(format!("mean {}", values[0]));
    Ok(())
}

/// Brings it there through pinned memory.
pub fn download_pinned(x: &Tensor, log: &mut Vec<String>) -> Result<Download> {
    let mean = x.mean()?;
    let download = mean.to_host_pinned()?;
    let ready = download.is_ready()?;
    log.push(format!("ready: {ready}"));
    Ok(download)
}

/// Reads what such a download has brought.
pub fn read_pinned(download: Download, log: &mut Vec<String>) -> Result<()> {
    let shape = format!("{download:?}").len();
    let values = download.wait()?; //~ SYNC
    log.push(format!("{shape} {}", values.as_slice()[0]));
    Ok(())
}

/// Has a second stream wait for the current one.
pub fn wait_on_the_device(x: &Tensor, side: &Stream) -> Result<Event> {
    let y = x.relu()?;
    side.wait_stream(&current_stream()?)?;
    y.record_stream(side);
    side.record_event()
}

/// Looks how far the device is, and then has to know.
pub fn wait_on_the_host(x: &Tensor, log: &mut Vec<String>) -> Result<()> {
    x.zero_()?;
    let done = current_stream()?.record_event()?;
    let so_far = done.query()?;
    done.synchronize()?; //~ SYNC
    log.push(format!("{so_far} then {}", done.query()?));
    Ok(())
}

/// Times an operation.
pub fn time(x: &Tensor, log: &mut Vec<String>) -> Result<()> {
    let stream = current_stream()?;
    let start = stream.record_timed_event()?;
    let y = x.relu()?;
    let end = stream.record_timed_event()?;
    stream.synchronize()?; //~ SYNC
    log.push(format!("{} ms for {y:?}", start.elapsed_ms(&end)?));
    Ok(())
}
