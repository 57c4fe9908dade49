//! Exercise 06, solved: a training loop that never holds the host.

pub mod snippets;

use streamlings::Clock;
use streamlings::tensor::nn::{Linear, sgd_step};
use streamlings::tensor::{HostTensor, Result, Tensor};

/// What the model learns from in one step, in pageable memory.
pub struct Batch {
    /// `[rows, inputs]`
    pub x: HostTensor,
    /// `[rows, 1]`
    pub target: HostTensor,
}

/// How the model is trained.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The learning rate.
    pub rate: f32,
    /// A step whose loss is above this changes nothing: its batch is taken for a bad one.
    pub limit: f32,
}

/// What is told of a training.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// A line for each step, in order: its number from 0, and its loss.
    pub log: Vec<String>,
    /// The sum of all outputs above 0, of all steps.
    pub positives: f32,
    /// How many outputs were above 0.5, in all steps.
    pub above: usize,
}

/// What the host wants to know stays on the device until the last lap is over; what the device needs to
/// decide, it decides itself.
pub fn train_loop(
    model: &Linear,
    batches: &[Batch],
    settings: Settings,
    clock: &mut Clock,
) -> Result<Report> {
    let parameters = model.parameters();
    let (zero, one) = (Tensor::zeros([])?, Tensor::full([], 1.0)?);
    let positives = Tensor::zeros([])?;
    let above = Tensor::zeros([])?;
    let mut losses = Vec::new();

    for batch in batches {
        clock.lap(|| -> Result<()> {
            let x = batch.x.pin()?.to_device(true)?;
            let target = batch.target.pin()?.to_device(true)?;
            let y = model.forward(&x)?;
            let loss = y.mse(&target)?;
            losses.push(loss.detach());

            parameters.iter().for_each(Tensor::clear_grad);
            // Where the loss is too large its gradients become 0, and so does the step.
            let keep = Tensor::select(&loss.gt(settings.limit)?, &zero, &one)?;
            loss.mul(&keep)?.backward()?;
            sgd_step(&parameters, settings.rate)?;

            let y = y.detach();
            positives.axpy_(1.0, &y.mul(&y.gt(0.0)?)?.sum()?)?;
            above.axpy_(1.0, &y.gt(0.5)?.sum()?)
        })?;
    }

    let log = losses.iter().enumerate().map(|(step, loss)| format!("step {step}: loss {loss}"));
    let log = log.collect();
    Ok(Report { log, positives: positives.item()?, above: above.item()? as usize })
}
