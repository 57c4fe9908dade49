//! Asks for the loss in each lap until it has arrived.

#[expect(clippy::duplicate_mod, reason = "each mutant has its own")]
#[path = "parts/training.rs"]
mod training;

pub use accidental_syncs_solution::{Batch, Report, Settings, snippets};
use streamlings::Clock;
use streamlings::tensor::Result;
use streamlings::tensor::nn::Linear;

pub fn train_loop(
    model: &Linear,
    batches: &[Batch],
    settings: Settings,
    clock: &mut Clock,
) -> Result<Report> {
    training::train(training::Wrong::Polls, model, batches, settings, clock)
}
