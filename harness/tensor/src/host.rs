//! Tensors in host memory: pageable ones, pinned ones, and downloads under way.

use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use crate::current_stream;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::host_cache::Held;
use crate::marks;
use crate::raw::{PinnedBuffer, Receiving};
use crate::stream::Stream;
use crate::tensor::{Tensor, elements};

/// A tensor in ordinary, pageable host memory; derefs to its values, row after row.
#[derive(Clone, Debug, PartialEq)]
pub struct HostTensor {
    values: Vec<f32>,
    shape: Vec<usize>,
}

impl HostTensor {
    /// A tensor of these values, row after row.
    ///
    /// # Errors
    /// [`Error::Length`] where the shape holds another number of elements.
    pub fn new(values: Vec<f32>, shape: impl AsRef<[usize]>) -> Result<HostTensor> {
        let shape = shape.as_ref().to_vec();
        check_length(&shape, values.len())?;
        Ok(HostTensor { values, shape })
    }

    /// The length of each dimension.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Its values, row after row.
    pub fn into_vec(self) -> Vec<f32> {
        self.values
    }

    /// Copies it to the device, on the current stream.
    ///
    /// Without `non_blocking` the host is held until the copy is done. With it the copy is only
    /// *asked* not to hold the host: from pageable memory the driver stages a small copy at once, but
    /// for a large one it holds the host until the stream gets to it.
    ///
    /// # Errors
    /// Those of an allocation, and the driver's own.
    pub fn to_device(&self, non_blocking: bool) -> Result<Tensor> {
        Tensor::upload(&self.values, &self.shape, non_blocking)
    }

    /// A copy in pinned memory.
    ///
    /// # Errors
    /// The driver's own.
    pub fn pin(&self) -> Result<PinnedTensor> {
        PinnedTensor::from_slice(&self.values, &self.shape)
    }
}

impl Deref for HostTensor {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.values
    }
}

/// A tensor in pinned (page-locked) host memory, which the device can copy from and to while the host
/// goes on. Its memory comes from a cache and goes back there once the copies that it takes part in
/// are done.
#[derive(Debug)]
pub struct PinnedTensor {
    /// `None` only while dropping.
    buffer: Option<PinnedBuffer>,
    shape: Vec<usize>,
    /// Streams that read it.
    uses: Mutex<Vec<Stream>>,
}

impl PinnedTensor {
    /// A tensor of unspecified values.
    ///
    /// # Errors
    /// The driver's own. A buffer that is not in the cache takes the driver milliseconds to make.
    pub fn empty(shape: impl AsRef<[usize]>) -> Result<PinnedTensor> {
        let shape = shape.as_ref().to_vec();
        let buffer = Device::get()?.host_cache().take(elements(&shape)?)?;
        Ok(PinnedTensor { buffer: Some(buffer), shape, uses: Mutex::default() })
    }

    /// A tensor of these values, row after row.
    ///
    /// # Errors
    /// [`Error::Length`] where the shape holds another number of elements, and the driver's own.
    pub fn from_slice(values: &[f32], shape: impl AsRef<[usize]>) -> Result<PinnedTensor> {
        check_length(shape.as_ref(), values.len())?;
        let mut tensor = PinnedTensor::empty(shape)?;
        tensor.as_mut_slice().copy_from_slice(values);
        Ok(tensor)
    }

    /// The length of each dimension.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Its values, row after row.
    pub fn as_slice(&self) -> &[f32] {
        let (address, bytes) = self.range();
        marks::host_read(address, bytes);
        &self.buffer().as_slice()[..self.shape.iter().product()]
    }

    /// Its values, to be changed. Does *not* wait for an upload that may still read them: what the
    /// device gets is then the old values or the new.
    pub fn as_mut_slice(&mut self) -> &mut [f32] {
        let (address, bytes) = self.range();
        marks::host_write(address, bytes);
        let elements = self.shape.iter().product::<usize>();
        let buffer = self.buffer.as_mut().expect("gone only while dropping");
        &mut buffer.as_mut_slice()[..elements]
    }

    /// Copies it to the device, on the current stream. With `non_blocking` this does not hold the
    /// host, and the values must stay as they are until the copy is done; the tensor may be dropped.
    ///
    /// # Errors
    /// Those of an allocation, and the driver's own.
    pub fn to_device(&self, non_blocking: bool) -> Result<Tensor> {
        let tensor = Tensor::empty(&self.shape)?;
        self.upload_to(&tensor, non_blocking)?;
        Ok(tensor)
    }

    /// Copies it into a tensor of the same shape.
    pub(crate) fn upload_to(&self, tensor: &Tensor, non_blocking: bool) -> Result<()> {
        let stream = current_stream()?;
        let mut uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        if !uses.contains(&stream) {
            uses.push(stream.clone());
        }
        drop(uses);
        let elements = self.shape.iter().product();
        self.buffer().upload(stream.cuda(), tensor.memory(), elements)?;
        if non_blocking { Ok(()) } else { stream.synchronize() }
    }

    fn buffer(&self) -> &PinnedBuffer {
        self.buffer.as_ref().expect("gone only while dropping")
    }

    fn range(&self) -> (u64, u64) {
        (self.buffer().address(), self.shape.iter().product::<usize>() as u64 * 4)
    }

    fn take(mut self) -> (PinnedBuffer, Vec<Stream>) {
        let uses = std::mem::take(self.uses.get_mut().unwrap_or_else(PoisonError::into_inner));
        (self.buffer.take().expect("gone only while dropping"), uses)
    }
}

impl Drop for PinnedTensor {
    fn drop(&mut self) {
        if let (Some(buffer), Ok(device)) = (self.buffer.take(), Device::get()) {
            let uses = self.uses.get_mut().unwrap_or_else(PoisonError::into_inner);
            device.host_cache().keep(Held::Buffer(buffer), std::mem::take(uses));
        }
    }
}

/// A copy to pinned memory that may still be under way. The values can be had only once it is done.
#[derive(Debug)]
pub struct Download {
    /// `None` only while dropping.
    receiving: Option<Receiving>,
    shape: Vec<usize>,
    uses: Vec<Stream>,
}

impl Download {
    pub(crate) fn start(tensor: &Tensor, target: PinnedTensor) -> Result<Download> {
        let stream = current_stream()?;
        let shape = target.shape.clone();
        let (buffer, uses) = target.take();
        match buffer.receive(stream.cuda(), tensor.memory(), tensor.numel()) {
            Ok(receiving) => Ok(Download { receiving: Some(receiving), shape, uses }),
            Err((buffer, error)) => {
                Device::get()?.host_cache().keep(Held::Buffer(buffer), uses);
                Err(error)
            }
        }
    }

    /// Whether the values are there; does not wait.
    ///
    /// # Errors
    /// The driver's own, and those of the work before the copy.
    pub fn is_ready(&self) -> Result<bool> {
        self.receiving.as_ref().map_or(Ok(true), Receiving::is_done)
    }

    /// Holds the host until the values are there, and returns them.
    ///
    /// # Errors
    /// The driver's own, and those of the work before the copy.
    pub fn wait(mut self) -> Result<PinnedTensor> {
        let receiving = self.receiving.take().expect("gone only while dropping");
        let buffer = Some(receiving.wait()?);
        let uses = Mutex::new(std::mem::take(&mut self.uses));
        Ok(PinnedTensor { buffer, shape: std::mem::take(&mut self.shape), uses })
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        if let (Some(receiving), Ok(device)) = (self.receiving.take(), Device::get()) {
            let uses = std::mem::take(&mut self.uses);
            device.host_cache().keep(Held::Receiving(receiving), uses);
        }
    }
}

fn check_length(shape: &[usize], given: usize) -> Result<()> {
    let elements = elements(shape)?;
    if elements == given {
        return Ok(());
    }
    Err(Error::Length { shape: shape.to_vec(), elements, given })
}
