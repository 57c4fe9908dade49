//! The operations that make a new tensor, and those that change one in place.

use crate::autograd::{self, Backward, Saved};
use crate::current_stream;
use crate::error::{Error, Result};
use crate::host::PinnedTensor;
use crate::raw::{self, Arg};
use crate::tensor::{Tensor, launch};

impl Tensor {
    /// Each element of this plus the same element of `other`.
    ///
    /// # Errors
    /// [`Error::ShapesDiffer`], those of an allocation, and the driver's own.
    pub fn add(&self, other: &Tensor) -> Result<Tensor> {
        let out = self.elementwise("add", other)?;
        Ok(autograd::record(out, "add", &[self, other], || Backward::Add))
    }

    /// Each element of this minus the same element of `other`.
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn sub(&self, other: &Tensor) -> Result<Tensor> {
        let out = self.elementwise("sub", other)?;
        Ok(autograd::record(out, "sub", &[self, other], || Backward::Sub))
    }

    /// Each element of this times the same element of `other`.
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn mul(&self, other: &Tensor) -> Result<Tensor> {
        let out = self.elementwise("mul", other)?;
        Ok(autograd::record(out, "mul", &[self, other], || Backward::Mul {
            a: Saved::new(self),
            b: Saved::new(other),
        }))
    }

    fn elementwise(&self, op: &'static str, other: &Tensor) -> Result<Tensor> {
        self.same_shape(op, other.shape())?;
        let out = Tensor::empty(self.shape())?;
        launch(op, &[out.arg(), self.arg(), other.arg(), Arg::U32(self.n())])?;
        Ok(out)
    }

    /// Each element times `factor`.
    ///
    /// # Errors
    /// Those of an allocation, and the driver's own.
    pub fn scale(&self, factor: f32) -> Result<Tensor> {
        let out = Tensor::empty(self.shape())?;
        launch("scale", &[out.arg(), self.arg(), Arg::F32(factor), Arg::U32(self.n())])?;
        Ok(autograd::record(out, "scale", &[self], || Backward::Scale(factor)))
    }

    /// The larger of each element and 0.
    ///
    /// # Errors
    /// Those of an allocation, and the driver's own.
    pub fn relu(&self) -> Result<Tensor> {
        let out = Tensor::empty(self.shape())?;
        launch("relu", &[out.arg(), self.arg(), Arg::U32(self.n())])?;
        Ok(autograd::record(out, "relu", &[self], || Backward::Relu { x: Saved::new(self) }))
    }

    /// The matrix product: `[m, k]` times `[k, n]` gives `[m, n]`.
    ///
    /// # Errors
    /// [`Error::Shape`] where one is no matrix, [`Error::DoNotFit`] where the inner sizes differ,
    /// those of an allocation, and the driver's own.
    pub fn matmul(&self, other: &Tensor) -> Result<Tensor> {
        let (m, k) = self.matrix("matmul")?;
        let (inner, n) = other.matrix("matmul")?;
        if k != inner {
            return Err(self.do_not_fit("matmul", other, k, inner));
        }
        let out = product("matmul", self, other, [m, n, k])?;
        Ok(autograd::record(out, "matmul", &[self, other], || Backward::Matmul {
            a: Saved::new(self),
            b: Saved::new(other),
        }))
    }

    /// `[rows, cols]` plus a bias of `[cols]`, to each row.
    ///
    /// # Errors
    /// [`Error::Shape`] where this is no matrix or the bias no vector, [`Error::DoNotFit`] where the
    /// bias has another length, those of an allocation, and the driver's own.
    pub fn bias_add(&self, bias: &Tensor) -> Result<Tensor> {
        let (rows, cols) = self.matrix("bias_add")?;
        match *bias.shape() {
            [length] if length == cols => {}
            [length] => return Err(self.do_not_fit("bias_add", bias, cols, length)),
            _ => return Err(bias.shape_error("bias_add", "a vector as the bias")),
        }
        let out = Tensor::empty(self.shape())?;
        let sizes = [Arg::U32(rows as u32), Arg::U32(cols as u32)];
        launch("bias_add", &[out.arg(), self.arg(), bias.arg(), sizes[0], sizes[1]])?;
        Ok(autograd::record(out, "bias_add", &[self, bias], || Backward::BiasAdd))
    }

    /// The matrix's transpose, as a copy: `[rows, cols]` gives `[cols, rows]`.
    ///
    /// # Errors
    /// [`Error::Shape`] where this is no matrix, those of an allocation, and the driver's own.
    pub fn transpose(&self) -> Result<Tensor> {
        let (rows, cols) = self.matrix("transpose")?;
        let out = Tensor::empty([cols, rows])?;
        let sizes = [Arg::U32(rows as u32), Arg::U32(cols as u32)];
        launch("transpose", &[out.arg(), self.arg(), sizes[0], sizes[1]])?;
        Ok(autograd::record(out, "transpose", &[self], || Backward::Transpose))
    }

    /// The sum of all elements, a scalar; 0 of nothing.
    ///
    /// # Errors
    /// Those of an allocation, and the driver's own.
    pub fn sum(&self) -> Result<Tensor> {
        let out = Tensor::empty([])?;
        launch("sum", &[out.arg(), self.arg(), Arg::U32(self.n())])?;
        let shape = || self.shape().to_vec();
        Ok(autograd::record(out, "sum", &[self], || Backward::Sum { shape: shape() }))
    }

    /// The mean of all elements, a scalar; NaN of nothing.
    ///
    /// # Errors
    /// Those of an allocation, and the driver's own.
    pub fn mean(&self) -> Result<Tensor> {
        let out = Tensor::empty([])?;
        launch("mean", &[out.arg(), self.arg(), Arg::U32(self.n())])?;
        let shape = || self.shape().to_vec();
        Ok(autograd::record(out, "mean", &[self], || Backward::Mean { shape: shape() }))
    }

    /// The mean squared error: the mean of `(self - target)^2`, a scalar; NaN of nothing.
    ///
    /// # Errors
    /// [`Error::ShapesDiffer`], those of an allocation, and the driver's own.
    pub fn mse(&self, target: &Tensor) -> Result<Tensor> {
        self.same_shape("mse", target.shape())?;
        let out = Tensor::empty([])?;
        launch("mse", &[out.arg(), self.arg(), target.arg(), Arg::U32(self.n())])?;
        Ok(autograd::record(out, "mse", &[self, target], || Backward::Mse {
            y: Saved::new(self),
            target: Saved::new(target),
        }))
    }

    /// A copy in memory of its own, without a part in the autograd graph.
    ///
    /// # Errors
    /// Those of an allocation, and the driver's own.
    pub fn copy(&self) -> Result<Tensor> {
        let out = Tensor::empty(self.shape())?;
        raw::copy(current_stream()?.cuda(), out.memory(), self.memory(), self.numel())?;
        Ok(out)
    }

    /// Sets every element to `value`, in place.
    ///
    /// # Errors
    /// [`Error::InPlace`], and the driver's own.
    pub fn fill_(&self, value: f32) -> Result<()> {
        self.change("fill_")?;
        launch("fill", &[self.arg(), Arg::F32(value), Arg::U32(self.n())])
    }

    /// Sets every element to 0, in place.
    ///
    /// # Errors
    /// [`Error::InPlace`], and the driver's own.
    pub fn zero_(&self) -> Result<()> {
        self.fill_(0.0)
    }

    /// Copies the elements of `source` here, in place, within the device.
    ///
    /// # Errors
    /// [`Error::ShapesDiffer`], [`Error::InPlace`], and the driver's own.
    pub fn copy_(&self, source: &Tensor) -> Result<()> {
        self.same_shape("copy_", source.shape())?;
        self.change("copy_")?;
        raw::copy(current_stream()?.cuda(), self.memory(), source.memory(), self.numel())
    }

    /// Copies the values of a pinned tensor here, in place. With `non_blocking` this does not hold
    /// the host, and the values must stay as they are until the copy is done.
    ///
    /// # Errors
    /// [`Error::ShapesDiffer`], [`Error::InPlace`], and the driver's own.
    pub fn copy_from_pinned_(&self, source: &PinnedTensor, non_blocking: bool) -> Result<()> {
        self.same_shape("copy_from_pinned_", source.shape())?;
        self.change("copy_from_pinned_")?;
        source.upload_to(self, non_blocking)
    }

    /// Adds `factor` times `x`, in place: with a negative factor, a step of gradient descent.
    ///
    /// # Errors
    /// [`Error::ShapesDiffer`], [`Error::InPlace`], and the driver's own.
    pub fn axpy_(&self, factor: f32, x: &Tensor) -> Result<()> {
        self.same_shape("axpy_", x.shape())?;
        self.change("axpy_")?;
        launch("axpy", &[self.arg(), x.arg(), Arg::F32(factor), Arg::U32(self.n())])
    }

    /// A change in place is no part of the graph, so it is refused where it would have to be.
    fn change(&self, op: &'static str) -> Result<()> {
        if autograd::is_grad_enabled() && self.requires_grad() {
            return Err(Error::InPlace { op });
        }
        self.changed();
        Ok(())
    }

    fn do_not_fit(&self, op: &'static str, other: &Tensor, inner: usize, with: usize) -> Error {
        let (left, right) = (self.shape().to_vec(), other.shape().to_vec());
        Error::DoNotFit { op, left, right, inner, other: with }
    }
}

/// One of the three products, for sizes m, n, k: `matmul` of `[m, k]` and `[k, n]`, `matmul_tn` of
/// `[k, m]` and `[k, n]`, `matmul_nt` of `[m, k]` and `[n, k]`.
pub(crate) fn product(
    kernel: &'static str,
    a: &Tensor,
    b: &Tensor,
    sizes: [usize; 3],
) -> Result<Tensor> {
    let out = Tensor::empty([sizes[0], sizes[1]])?;
    let [m, n, k] = sizes.map(|size| Arg::U32(size as u32));
    launch(kernel, &[out.arg(), a.arg(), b.arg(), m, n, k])?;
    Ok(out)
}
