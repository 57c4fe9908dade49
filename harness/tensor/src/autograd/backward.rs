//! The derivative of each operation.

use crate::error::{Error, Result};
use crate::ops::product;
use crate::raw::Arg;
use crate::stream::Stream;
use crate::tensor::{Tensor, launch};

/// A tensor that backward needs again.
pub struct Saved {
    tensor: Tensor,
    version: u64,
}

impl Saved {
    /// The values as they are now.
    pub fn new(tensor: &Tensor) -> Saved {
        Saved { tensor: tensor.detach(), version: tensor.version() }
    }

    /// The tensor, for an operation on `stream`.
    fn get(&self, op: &'static str, stream: &Stream) -> Result<&Tensor> {
        if self.tensor.version() != self.version {
            return Err(Error::Modified { op });
        }
        self.tensor.record_stream(stream);
        Ok(&self.tensor)
    }
}

/// What it takes to make the gradients of an operation's inputs from that of its output.
pub enum Backward {
    Add,
    Sub,
    Mul { a: Saved, b: Saved },
    Scale(f32),
    Relu { x: Saved },
    Matmul { a: Saved, b: Saved },
    BiasAdd,
    Transpose,
    Sum { shape: Vec<usize> },
    Mean { shape: Vec<usize> },
    Mse { y: Saved, target: Saved },
}

impl Backward {
    /// The gradients of the inputs, in order; only of those that are `needed`. Runs on the current
    /// stream, which is `stream`.
    pub fn apply(
        &self,
        op: &'static str,
        grad: &Tensor,
        needed: &[bool],
        stream: &Stream,
    ) -> Result<Vec<Option<Tensor>>> {
        let first = needed.first() == Some(&true);
        let second = needed.get(1) == Some(&true);
        let if_first = |make: &dyn Fn() -> Result<Tensor>| first.then(make).transpose();
        let if_second = |make: &dyn Fn() -> Result<Tensor>| second.then(make).transpose();
        Ok(match self {
            Backward::Add => vec![first.then(|| grad.clone()), second.then(|| grad.clone())],
            Backward::Sub => {
                vec![first.then(|| grad.clone()), if_second(&|| grad.scale(-1.0))?]
            }
            Backward::Mul { a, b } => {
                let (a, b) = (a.get(op, stream)?, b.get(op, stream)?);
                vec![if_first(&|| grad.mul(b))?, if_second(&|| grad.mul(a))?]
            }
            Backward::Scale(factor) => vec![Some(grad.scale(*factor)?)],
            Backward::Relu { x } => {
                let x = x.get(op, stream)?;
                let out = Tensor::empty(x.shape())?;
                launch("relu_backward", &[out.arg(), grad.arg(), x.arg(), Arg::U32(x.n())])?;
                vec![Some(out)]
            }
            Backward::Matmul { a, b } => {
                let (a, b) = (a.get(op, stream)?, b.get(op, stream)?);
                let ((m, k), (_, n)) = (a.matrix(op)?, b.matrix(op)?);
                vec![
                    if_first(&|| product("matmul_nt", grad, b, [m, k, n]))?,
                    if_second(&|| product("matmul_tn", a, grad, [k, n, m]))?,
                ]
            }
            Backward::BiasAdd => {
                vec![first.then(|| grad.clone()), if_second(&|| column_sum(grad))?]
            }
            Backward::Transpose => vec![Some(grad.transpose()?)],
            Backward::Sum { shape } => vec![Some(broadcast(grad, 1.0, shape)?)],
            Backward::Mean { shape } => {
                let elements = shape.iter().product::<usize>();
                vec![Some(broadcast(grad, 1.0 / elements as f32, shape)?)]
            }
            Backward::Mse { y, target } => {
                let (y, target) = (y.get(op, stream)?, target.get(op, stream)?);
                let out = Tensor::empty(y.shape())?;
                let args = [out.arg(), y.arg(), target.arg(), grad.arg(), Arg::U32(y.n())];
                launch("mse_backward", &args)?;
                let of_target = if_second(&|| out.scale(-1.0))?;
                vec![first.then_some(out), of_target]
            }
        })
    }
}

/// The sum of each column of a matrix.
fn column_sum(x: &Tensor) -> Result<Tensor> {
    let (rows, cols) = x.matrix("column_sum")?;
    let out = Tensor::empty([cols])?;
    let sizes = [Arg::U32(rows as u32), Arg::U32(cols as u32)];
    launch("column_sum", &[out.arg(), x.arg(), sizes[0], sizes[1]])?;
    Ok(out)
}

/// A scalar's value times `factor`, everywhere.
fn broadcast(scalar: &Tensor, factor: f32, shape: &[usize]) -> Result<Tensor> {
    let out = Tensor::empty(shape)?;
    launch("broadcast", &[out.arg(), scalar.arg(), Arg::F32(factor), Arg::U32(out.n())])?;
    Ok(out)
}
