//! A small model, and the step that trains it.

use crate::autograd::no_grad;
use crate::error::Result;
use crate::tensor::Tensor;

/// A fully connected layer: `x · weight + bias`.
#[derive(Clone, Debug)]
pub struct Linear {
    /// `[inputs, outputs]`
    pub weight: Tensor,
    /// `[outputs]`
    pub bias: Tensor,
}

impl Linear {
    /// A layer whose weights are drawn from a seed, uniformly between -1/sqrt(inputs) and
    /// 1/sqrt(inputs), and whose bias is 0. Holds the host while the weights are copied.
    ///
    /// # Errors
    /// Those of [`Tensor::from_slice`].
    pub fn new(inputs: usize, outputs: usize, seed: u64) -> Result<Linear> {
        let mut random = fastrand::Rng::with_seed(seed);
        let bound = 1.0 / (inputs.max(1) as f32).sqrt();
        let weight: Vec<f32> =
            (0..inputs * outputs).map(|_| bound * (2.0 * random.f32() - 1.0)).collect();
        Ok(Linear {
            weight: Tensor::from_slice(&weight, [inputs, outputs])?.with_grad()?,
            bias: Tensor::zeros([outputs])?.with_grad()?,
        })
    }

    /// `[rows, inputs]` gives `[rows, outputs]`.
    ///
    /// # Errors
    /// Those of [`Tensor::matmul`].
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.matmul(&self.weight)?.bias_add(&self.bias)
    }

    /// What training changes.
    pub fn parameters(&self) -> Vec<Tensor> {
        vec![self.weight.clone(), self.bias.clone()]
    }
}

/// Linear layers with a ReLU between each two.
#[derive(Clone, Debug)]
pub struct Mlp {
    /// The layers, first to last.
    pub layers: Vec<Linear>,
}

impl Mlp {
    /// Layers of these widths: `[4, 8, 1]` makes one from 4 to 8 and one from 8 to 1.
    ///
    /// # Errors
    /// Those of [`Linear::new`].
    pub fn new(widths: &[usize], seed: u64) -> Result<Mlp> {
        let layers =
            (seed..).zip(widths.windows(2)).map(|(seed, pair)| Linear::new(pair[0], pair[1], seed));
        Ok(Mlp { layers: layers.collect::<Result<_>>()? })
    }

    /// `[rows, first width]` gives `[rows, last width]`.
    ///
    /// # Errors
    /// Those of [`Tensor::matmul`].
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let mut x = x.clone();
        for (index, layer) in self.layers.iter().enumerate() {
            x = if index == 0 { layer.forward(&x)? } else { layer.forward(&x.relu()?)? };
        }
        Ok(x)
    }

    /// What training changes.
    pub fn parameters(&self) -> Vec<Tensor> {
        self.layers.iter().flat_map(Linear::parameters).collect()
    }
}

/// One step of gradient descent, in place, on the current stream: each parameter that has a gradient
/// less `rate` times it.
///
/// # Errors
/// The driver's own.
pub fn sgd_step(parameters: &[Tensor], rate: f32) -> Result<()> {
    no_grad(|| {
        parameters.iter().try_for_each(|parameter| match parameter.grad() {
            Some(grad) => parameter.axpy_(-rate, &grad),
            None => Ok(()),
        })
    })
}

/// Sets every gradient to zeros in place, on the current stream.
///
/// # Errors
/// The driver's own.
pub fn zero_grad(parameters: &[Tensor]) -> Result<()> {
    parameters.iter().try_for_each(Tensor::zero_grad)
}
