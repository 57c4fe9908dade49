//! Running the tape backwards, on the streams that it names.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Accumulator, Edge, Node, Parts, lock, no_grad};
use crate::error::{Error, Result};
use crate::stream::{Event, Stream, current_stream, with_stream};
use crate::tensor::Tensor;

/// A gradient on its way: who made it, and the event right behind that where another stream takes it.
struct Incoming {
    grad: Tensor,
    ready: Option<Event>,
}

/// What is still to be run, by sequence number.
#[derive(Default)]
struct Pending {
    nodes: BTreeMap<u64, (Arc<Node>, Vec<Incoming>)>,
    leaves: BTreeMap<u64, (Arc<Accumulator>, Vec<Incoming>)>,
}

/// Computes the gradients of `root`, a tensor of one element.
pub(super) fn backward(root: &Tensor) -> Result<()> {
    no_grad(|| run(root))
}

fn run(root: &Tensor) -> Result<()> {
    let caller = current_stream()?;
    let mut pending = Pending::default();
    let edge = root.edge(&caller);
    if matches!(edge, Edge::Nowhere) {
        return Err(Error::NoGraph);
    }
    // Made on the caller's stream, so that all that follows from it comes after what is there.
    pending.send(edge, Tensor::full(root.shape(), 1.0)?, &caller)?;

    // An operation's number is higher than those that made its inputs: the highest has no consumer
    // that is still to run.
    while let Some((_, (node, incoming))) = pending.nodes.pop_last() {
        with_stream(&node.stream, || {
            let grad = receive(incoming, &node.stream)?;
            let Parts { backward, inputs } = node.take()?;
            let needed: Vec<bool> =
                inputs.iter().map(|edge| !matches!(edge, Edge::Nowhere)).collect();
            let grads = backward.apply(node.op, &grad, &needed, &node.stream)?;
            drop(grad);
            for (edge, grad) in inputs.into_iter().zip(grads) {
                if let Some(grad) = grad {
                    pending.send(edge, grad, &node.stream)?;
                }
            }
            Ok::<(), Error>(())
        })?;
    }

    let mut streams: Vec<Stream> = Vec::new();
    while let Some((_, (leaf, incoming))) = pending.leaves.pop_last() {
        let stream = &leaf.stream;
        with_stream(stream, || accumulate(&leaf, receive(incoming, stream)?))?;
        if let Some(grad) = leaf.leaf.grad() {
            // The caller may use it, and drop it.
            grad.record_stream(&caller);
        }
        if !streams.contains(stream) {
            streams.push(stream.clone());
        }
    }
    let mut others = streams.iter().filter(|stream| **stream != caller);
    others.try_for_each(|stream| caller.wait_stream(stream))
}

impl Pending {
    /// A gradient goes from an operation on `producer` to where it is needed.
    fn send(&mut self, edge: Edge, grad: Tensor, producer: &Stream) -> Result<()> {
        let (consumer, incoming) = match edge {
            Edge::Nowhere => return Ok(()),
            Edge::Node(node) => {
                let (node, incoming) =
                    self.nodes.entry(node.seq).or_insert_with(|| (node, Vec::new()));
                (&node.stream, incoming)
            }
            Edge::Leaf(leaf) => {
                let (leaf, incoming) =
                    self.leaves.entry(leaf.seq).or_insert_with(|| (leaf, Vec::new()));
                (&leaf.stream, incoming)
            }
        };
        let ready = (producer != consumer).then(|| producer.record_event()).transpose()?;
        incoming.push(Incoming { grad, ready });
        Ok(())
    }
}

/// The sum of what came in, on the consumer's stream, which is the current one.
fn receive(incoming: Vec<Incoming>, consumer: &Stream) -> Result<Tensor> {
    let mut sum: Option<Tensor> = None;
    for Incoming { grad, ready } in incoming {
        if let Some(ready) = ready {
            consumer.wait_event(&ready)?;
        }
        grad.record_stream(consumer);
        sum = Some(match sum {
            None => grad,
            Some(sum) if sum.is_only_owner() => {
                sum.axpy_(1.0, &grad)?;
                sum
            }
            Some(sum) => sum.add(&grad)?,
        });
    }
    sum.ok_or(Error::NoGraph)
}

/// Adds a gradient to a leaf's, on the leaf's accumulation stream, which is the current one. Reports
/// know the gradient of a leaf `w` as `w.grad`.
fn accumulate(accumulator: &Accumulator, grad: Tensor) -> Result<()> {
    let Accumulator { leaf, stream, .. } = accumulator;
    let mut slot = lock(&leaf.0.grad.grad);
    match &*slot {
        Some(there) => {
            there.record_stream(stream);
            there.axpy_(1.0, &grad)?;
        }
        None => {
            // Another may have the same tensor as its gradient, and would see it change in place.
            let grad = if grad.is_only_owner() { grad } else { grad.copy()? };
            if let Some(name) = leaf.0.storage.name() {
                grad.name(&format!("{name}.grad"));
            }
            *slot = Some(grad);
        }
    }
    Ok(())
}
