//! The autograd tape: what forward operations leave behind, and what `backward` makes of it.
//!
//! The rules on streams are those of PyTorch:
//!
//! - Each backward operation runs on the stream of its forward operation, and allocates there.
//! - Where a gradient goes from one stream to another, the consumer waits for an event that is
//!   recorded right behind the producer, and the gradient's use on the consumer's stream is recorded
//!   with the allocator.
//! - Gradients of a leaf are added up on the stream that was current when the leaf was first used in
//!   the graph, its *accumulation stream*.
//! - A call of `backward` is like one operation on the stream that is current at the call: all of it
//!   comes after what was there, and at its end that stream waits for every accumulation stream. So
//!   the gradients can be used there, or on a stream that waits for it, and nowhere else.
//!
//! Changes in place are not recorded: see [`no_grad`]. What forward operations save is freed by
//! `backward`, so a graph can be used once.

mod backward;
mod engine;

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

pub(crate) use self::backward::{Backward, Saved};
use crate::error::{Error, Result};
use crate::stream::Stream;
use crate::tensor::Tensor;

thread_local! {
    static ENABLED: Cell<bool> = const { Cell::new(true) };
}

/// Runs `body` without recording operations, so that tensors that require grad can be changed in
/// place. Of this thread alone.
pub fn no_grad<R>(body: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            ENABLED.set(self.0);
        }
    }
    let _restore = Restore(ENABLED.replace(false));
    body()
}

/// Whether this thread records operations.
pub fn is_grad_enabled() -> bool {
    ENABLED.get()
}

/// A tensor's part in the graph.
#[derive(Default)]
pub(crate) struct Grad {
    /// Asked for, of a leaf.
    required: AtomicBool,
    made_by: Option<Arc<Node>>,
    grad: Mutex<Option<Tensor>>,
    accumulator: Mutex<Weak<Accumulator>>,
}

/// A forward operation, recorded.
pub(crate) struct Node {
    /// Later operations have higher numbers.
    seq: u64,
    op: &'static str,
    stream: Stream,
    /// Taken by backward.
    parts: Mutex<Option<Parts>>,
}

struct Parts {
    backward: Backward,
    inputs: Vec<Edge>,
}

/// Where the gradient of an input goes.
#[derive(Clone)]
enum Edge {
    /// It needs none.
    Nowhere,
    Node(Arc<Node>),
    Leaf(Arc<Accumulator>),
}

/// Where a leaf's gradients are added up; made anew for each graph.
struct Accumulator {
    seq: u64,
    leaf: Tensor,
    stream: Stream,
}

fn next_seq() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts an operation on the tape, if one of its inputs requires grad: the result as a part of the
/// graph.
pub(crate) fn record(
    out: Tensor,
    op: &'static str,
    inputs: &[&Tensor],
    backward: impl FnOnce() -> Backward,
) -> Tensor {
    if !is_grad_enabled() || !inputs.iter().any(|input| input.requires_grad()) {
        return out;
    }
    let stream = out.stream().clone();
    let inputs = inputs.iter().map(|input| input.edge(&stream)).collect();
    let parts = Mutex::new(Some(Parts { backward: backward(), inputs }));
    let node = Node { seq: next_seq(), op, stream, parts };
    let grad = Grad { made_by: Some(Arc::new(node)), ..Grad::default() };
    Tensor::sharing(out.0.storage.clone(), out.shape().to_vec(), grad)
}

/// An operation without a derivative: an error if one of its inputs requires grad.
pub(crate) fn refuse(op: &'static str, inputs: &[&Tensor]) -> Result<()> {
    if is_grad_enabled() && inputs.iter().any(|input| input.requires_grad()) {
        return Err(Error::NotDifferentiable { op });
    }
    Ok(())
}

impl Tensor {
    /// Whether operations on it are recorded: it was asked for, or a recorded operation made it.
    pub fn requires_grad(&self) -> bool {
        self.0.grad.made_by.is_some() || self.0.grad.required.load(Ordering::Relaxed)
    }

    /// Whether no recorded operation made it.
    pub fn is_leaf(&self) -> bool {
        self.0.grad.made_by.is_none()
    }

    /// Has operations on this leaf recorded from now on, so that `backward` leaves a gradient here.
    ///
    /// # Errors
    /// [`Error::NotLeaf`].
    pub fn with_grad(self) -> Result<Tensor> {
        if !self.is_leaf() {
            return Err(Error::NotLeaf { op: "with_grad" });
        }
        self.0.grad.required.store(true, Ordering::Relaxed);
        Ok(self)
    }

    /// The gradient that `backward` has left, of this tensor's shape. It was written on this leaf's
    /// accumulation stream, which the stream that was current at `backward` has waited for.
    pub fn grad(&self) -> Option<Tensor> {
        lock(&self.0.grad.grad).clone()
    }

    /// Sets the gradient to zeros in place, on the current stream; does nothing where there is none.
    ///
    /// # Errors
    /// The driver's own.
    pub fn zero_grad(&self) -> Result<()> {
        self.grad().map_or(Ok(()), |grad| grad.zero_())
    }

    /// Drops the gradient (`zero_grad(set_to_none=True)`): the next `backward` makes a new one.
    pub fn clear_grad(&self) {
        *lock(&self.0.grad.grad) = None;
    }

    /// Computes the gradients of this scalar for every leaf that requires grad, and adds them to
    /// those already there. Does not hold the host.
    ///
    /// Each backward operation runs on the stream of its forward operation. The call as a whole is
    /// like one operation on the *current* stream: it comes after what is there, and what is
    /// enqueued there later comes after it.
    ///
    /// # Errors
    /// [`Error::Shape`] where this is no scalar, [`Error::NoGraph`], [`Error::GraphFreed`],
    /// [`Error::Modified`], those of allocations, and the driver's own. Gradients that were already
    /// added stay.
    pub fn backward(&self) -> Result<()> {
        if self.numel() != 1 {
            return Err(self.shape_error("backward", "one element"));
        }
        engine::backward(self)
    }

    /// Where the gradient of this tensor goes, which an operation on `stream` uses.
    fn edge(&self, stream: &Stream) -> Edge {
        let grad = &self.0.grad;
        if let Some(node) = &grad.made_by {
            return Edge::Node(node.clone());
        }
        if !grad.required.load(Ordering::Relaxed) {
            return Edge::Nowhere;
        }
        let mut known = lock(&grad.accumulator);
        Edge::Leaf(known.upgrade().unwrap_or_else(|| {
            let new = Accumulator { seq: next_seq(), leaf: self.clone(), stream: stream.clone() };
            let new = Arc::new(new);
            *known = Arc::downgrade(&new);
            new
        }))
    }
}

impl Node {
    fn take(&self) -> Result<Parts> {
        lock(&self.parts).take().ok_or(Error::GraphFreed { op: self.op })
    }
}

/// A long chain of operations that nobody asked the gradient of is dropped link by link, not each
/// within the drop of the next.
impl Drop for Node {
    fn drop(&mut self) {
        let mut parts = vec![self.parts.get_mut().unwrap_or_else(PoisonError::into_inner).take()];
        while let Some(next) = parts.pop() {
            for edge in next.into_iter().flat_map(|parts| parts.inputs) {
                if let Edge::Node(node) = edge
                    && let Some(mut node) = Arc::into_inner(node)
                {
                    let inner = node.parts.get_mut().unwrap_or_else(PoisonError::into_inner);
                    parts.push(inner.take());
                }
            }
        }
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("op", &self.op).field("stream", &self.stream).finish()
    }
}
