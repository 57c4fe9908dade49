//! A training whose steps have four phases, for exercises that look at when each of them runs.

use streamlings_driver::recording;
use streamlings_tensor::nn::{Mlp, sgd_step};
use streamlings_tensor::{PinnedTensor, Result, Stream, Tensor, spin};
use streamlings_trace::MarkKind;

/// A part of a training step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// A batch goes to the device.
    Upload,
    /// The model's outputs and their loss.
    Forward,
    /// The gradients.
    Backward,
    /// The parameters change.
    Step,
}

impl Phase {
    /// All of them, in order.
    pub const ALL: [Phase; 4] = [Phase::Upload, Phase::Forward, Phase::Backward, Phase::Step];

    /// Its name, which is also that of its region in the record.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Upload => "upload",
            Phase::Forward => "forward",
            Phase::Backward => "backward",
            Phase::Step => "step",
        }
    }
}

/// What a step learns from, in pinned memory.
#[derive(Debug)]
pub struct PinnedBatch {
    /// `[rows, inputs]`
    pub x: PinnedTensor,
    /// `[rows, 1]`
    pub target: PinnedTensor,
}

/// A batch on the device, in memory of the stream that it was uploaded on.
#[derive(Debug)]
pub struct DeviceBatch {
    /// `[rows, inputs]`
    pub x: Tensor,
    /// `[rows, 1]`
    pub target: Tensor,
}

impl DeviceBatch {
    /// Tells the allocator that the batch is used on another stream, too; see
    /// [`Tensor::record_stream`].
    pub fn record_stream(&self, stream: &Stream) {
        self.x.record_stream(stream);
        self.target.record_stream(stream);
    }
}

/// A model and how it is trained. Every phase is enqueued on the current stream and holds nobody; none
/// waits for another stream.
#[derive(Debug)]
pub struct Training {
    model: Mlp,
    rate: f32,
    takes: [u64; 4],
}

impl Training {
    /// A training of this model. `takes` is how many nanoseconds each phase takes at least, in the order
    /// of [`Phase::ALL`], whatever the device.
    pub fn new(model: Mlp, rate: f32, takes: [u64; 4]) -> Training {
        Training { model, rate, takes }
    }

    /// What is trained.
    pub fn model(&self) -> &Mlp {
        &self.model
    }

    /// Copies a batch to the device. The batch has to stay as it is until the copy is done.
    ///
    /// # Errors
    /// Those of an allocation, and the driver's own.
    pub fn upload(&self, batch: &PinnedBatch) -> Result<DeviceBatch> {
        self.phase(Phase::Upload, || {
            let x = batch.x.to_device(true)?.named("x");
            let target = batch.target.to_device(true)?.named("target");
            Ok(DeviceBatch { x, target })
        })
    }

    /// The loss of a batch, a scalar.
    ///
    /// # Errors
    /// Those of the model.
    pub fn forward(&self, batch: &DeviceBatch) -> Result<Tensor> {
        self.phase(Phase::Forward, || self.model.forward(&batch.x)?.mse(&batch.target))
    }

    /// The gradients of that loss for every parameter, in place of those of the step before.
    ///
    /// # Errors
    /// Those of [`Tensor::backward`].
    pub fn backward(&self, loss: &Tensor) -> Result<()> {
        self.phase(Phase::Backward, || {
            self.model.parameters().iter().for_each(Tensor::clear_grad);
            loss.backward()
        })
    }

    /// One step of gradient descent.
    ///
    /// # Errors
    /// The driver's own.
    pub fn step(&self) -> Result<()> {
        self.phase(Phase::Step, || sgd_step(&self.model.parameters(), self.rate))
    }

    fn phase<T>(&self, phase: Phase, work: impl FnOnce() -> Result<T>) -> Result<T> {
        recording::mark(MarkKind::Begin { region: phase.name().to_owned() });
        let result = work().and_then(|value| {
            spin(self.takes[phase as usize])?;
            Ok(value)
        });
        recording::mark(MarkKind::End { region: phase.name().to_owned() });
        result
    }
}
