//! Comparing and choosing: masks, indices, and what depends on the values.
//!
//! A mask is a tensor that holds 0 where false. How many elements a mask selects is known only to
//! the device, so what makes a tensor of that many has to ask, which holds the host.

use crate::allocator::Memory;
use crate::autograd;
use crate::current_stream;
use crate::error::{Error, Result};
use crate::raw::{self, Arg};
use crate::stream::Stream;
use crate::tensor::{Tensor, allocate, launch};

/// Places of elements in a flattened tensor, in device memory.
#[derive(Debug)]
pub struct Index {
    memory: Memory,
    len: usize,
}

impl Index {
    /// These places. Holds the host until they are on the device.
    ///
    /// # Errors
    /// Those of an allocation, and the driver's own.
    pub fn from_slice(places: &[u32]) -> Result<Index> {
        let index = Index { memory: allocate(places.len())?, len: places.len() };
        let stream = current_stream()?;
        if !places.is_empty() {
            raw::upload(stream.cuda(), &index.memory, places)?;
            stream.synchronize()?;
        }
        Ok(index)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Tells the allocator that the memory is used on `stream` too, like [`Tensor::record_stream`].
    pub fn record_stream(&self, stream: &Stream) {
        self.memory.record_stream(stream);
    }

    /// The places. Holds the host until they are there.
    ///
    /// # Errors
    /// The driver's own.
    pub fn to_vec(&self) -> Result<Vec<u32>> {
        let mut places = vec![0; self.len];
        if !places.is_empty() {
            raw::download(current_stream()?.cuda(), &mut places, &self.memory)?;
        }
        Ok(places)
    }
}

impl Tensor {
    /// A mask: 1 where an element is greater than `threshold`, else 0.
    ///
    /// # Errors
    /// Those of an allocation, and the driver's own.
    pub fn gt(&self, threshold: f32) -> Result<Tensor> {
        let out = Tensor::empty(self.shape())?;
        launch("greater", &[out.arg(), self.arg(), Arg::F32(threshold), Arg::U32(self.n())])?;
        Ok(out)
    }

    /// Where this is not 0, counted through all dimensions, ascending. Holds the host, which has to
    /// know how many there are.
    ///
    /// # Errors
    /// Those of an allocation, and the driver's own.
    pub fn nonzero(&self) -> Result<Index> {
        let memory = allocate(self.numel())?;
        let count = allocate(1)?;
        let args = [Arg::Memory(&memory), Arg::Memory(&count), self.arg(), Arg::U32(self.n())];
        launch("nonzero", &args)?;
        Ok(Index { memory, len: read(&count)? })
    }

    /// How many elements are not 0. Holds the host until it is known.
    ///
    /// # Errors
    /// Those of an allocation, and the driver's own.
    pub fn count_nonzero(&self) -> Result<usize> {
        let count = allocate(1)?;
        launch("count", &[Arg::Memory(&count), self.arg(), Arg::U32(self.n())])?;
        read(&count)
    }

    /// The elements where `mask` is not 0, as a vector. Holds the host, which has to know how many
    /// there are; [`Tensor::select`] does not.
    ///
    /// # Errors
    /// [`Error::ShapesDiffer`], [`Error::NotDifferentiable`], those of an allocation, and the
    /// driver's own.
    pub fn masked_select(&self, mask: &Tensor) -> Result<Tensor> {
        self.same_shape("masked_select", mask.shape())?;
        autograd::refuse("masked_select", &[self])?;
        self.gather(&mask.nonzero()?)
    }

    /// The elements at these places, counted through all dimensions, as a vector; 0 for a place
    /// outside.
    ///
    /// # Errors
    /// [`Error::NotDifferentiable`], those of an allocation, and the driver's own.
    pub fn gather(&self, index: &Index) -> Result<Tensor> {
        autograd::refuse("gather", &[self])?;
        let out = Tensor::empty([index.len])?;
        let sizes = [Arg::U32(out.n()), Arg::U32(self.n())];
        let args = [out.arg(), self.arg(), Arg::Memory(&index.memory), sizes[0], sizes[1]];
        launch("gather", &args)?;
        Ok(out)
    }

    /// The elements of `a` where `mask` is not 0, those of `b` elsewhere (`torch.where`).
    ///
    /// # Errors
    /// [`Error::ShapesDiffer`], [`Error::NotDifferentiable`], those of an allocation, and the
    /// driver's own.
    pub fn select(mask: &Tensor, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        mask.same_shape("select", a.shape())?;
        mask.same_shape("select", b.shape())?;
        autograd::refuse("select", &[a, b])?;
        let out = Tensor::empty(mask.shape())?;
        launch("where", &[out.arg(), mask.arg(), a.arg(), b.arg(), Arg::U32(mask.n())])?;
        Ok(out)
    }
}

/// Downloads a count.
fn read(count: &Memory) -> Result<usize, Error> {
    let mut value = [0_u32];
    raw::download(current_stream()?.cuda(), &mut value, count)?;
    Ok(value[0] as usize)
}
