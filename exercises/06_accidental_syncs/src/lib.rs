//! Exercise 06: point at the sync.
//!
//! README.md in the folder above explains the idea. Rewrite [`train_loop`] below, and mark the lines of
//! `src/snippets.rs`; then run
//!
//! ```text
//! cargo xtask check 06
//! ```
//!
//! Keep the signatures and what is public; the body of `train_loop` is yours.

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

/// Trains a model for one step on each batch, and times each step with the host's clock: one lap a
/// step. From the first lap's beginning to the last lap's end no call may hold the host.
pub fn train_loop(
    model: &Linear,
    batches: &[Batch],
    settings: Settings,
    clock: &mut Clock,
) -> Result<Report> {
    let parameters = model.parameters();
    let positives = Tensor::zeros([])?;
    let mut report = Report::default();

    for (step, batch) in batches.iter().enumerate() {
        clock.lap(|| -> Result<()> {
            let x = batch.x.to_device(false)?;
            let target = batch.target.to_device(false)?;
            let y = model.forward(&x)?;
            let loss = y.mse(&target)?;
            report.log.push(format!("step {step}: loss {loss}"));

            parameters.iter().for_each(Tensor::clear_grad);
            if loss.item()? <= settings.limit {
                loss.backward()?;
                sgd_step(&parameters, settings.rate)?;
            }

            let y = y.detach();
            let mask = y.gt(0.0)?;
            positives.axpy_(1.0, &y.masked_select(&mask)?.sum()?)?;
            let outputs = y.to_vec()?;
            report.above += outputs.iter().filter(|output| **output > 0.5).count();
            Ok(())
        })?;
    }

    report.positives = positives.item()?;
    Ok(report)
}
