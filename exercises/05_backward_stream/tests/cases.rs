//! The grading cases of exercise 05.

use super::exercise;
use streamlings::grade::checks::{Part, only_reads, part, prepared_runs, writes};
use streamlings::grade::diagnosis as d;
use streamlings::grade::{Cases, Finding, Grader};
use streamlings::stage::{self, keep_busy, memory, returned_error, streams};
use streamlings::tensor::nn::{Linear, Mlp, sgd_step};
use streamlings::tensor::{self, Stream, Tensor, current_stream, with_stream};
use streamlings::trace::{Call, Range};

pub fn cases() -> Cases {
    Cases::new()
        .case("train_step", train_step)
        .case("two_branches", two_branches)
        .case("norms_then_zero", norms_then_zero)
}

/// How long one of the streams is busy when the learner's function is called, in nanoseconds: what is
/// not made to wait then really is too early. Verdicts do not depend on it.
const BUSY: u64 = 10_000_000;

/// The part of a run in which the learner's function is.
const FUNCTION: &str = "function";

/// How many scalars are made in the hope of memory that was handed back too early: so many that they
/// have all the room that a case's other tensors ever had on a stream.
const NEXT: usize = 200;

type Outcome<T> = Result<T, Finding>;

/// A matrix on the host, row after row.
#[derive(Clone, Debug)]
struct Matrix {
    rows: usize,
    cols: usize,
    values: Vec<f64>,
}

impl Matrix {
    /// Eighths: what is added up before a ReLU is exact, so that device and host agree on its sign.
    fn random(grader: &mut Grader, rows: usize, cols: usize) -> Matrix {
        let mut eighth = || f64::from(grader.rng().i32(-12..13)) / 8.0;
        Matrix { rows, cols, values: (0..rows * cols).map(|_| eighth()).collect() }
    }

    fn of(rows: usize, cols: usize, value: impl Fn(usize, usize) -> f64) -> Matrix {
        let value = &value;
        let values = (0..rows).flat_map(|row| (0..cols).map(move |col| value(row, col))).collect();
        Matrix { rows, cols, values }
    }

    fn at(&self, row: usize, col: usize) -> f64 {
        self.values[row * self.cols + col]
    }

    fn times(&self, other: &Matrix) -> Matrix {
        Matrix::of(self.rows, other.cols, |row, col| {
            (0..self.cols).map(|inner| self.at(row, inner) * other.at(inner, col)).sum()
        })
    }

    fn transposed(&self) -> Matrix {
        Matrix::of(self.cols, self.rows, |row, col| self.at(col, row))
    }

    fn map(&self, value: impl Fn(f64) -> f64) -> Matrix {
        let values = self.values.iter().map(|it| value(*it)).collect();
        Matrix { values, ..*self }
    }

    fn zip(&self, other: &Matrix, value: impl Fn(f64, f64) -> f64) -> Matrix {
        Matrix::of(self.rows, self.cols, |row, col| value(self.at(row, col), other.at(row, col)))
    }

    /// The one row is added to each.
    fn plus_row(&self, row: &Matrix) -> Matrix {
        Matrix::of(self.rows, self.cols, |at, col| self.at(at, col) + row.at(0, col))
    }

    fn column_sums(&self) -> Matrix {
        Matrix::of(1, self.cols, |_, col| (0..self.rows).map(|row| self.at(row, col)).sum())
    }

    fn mean(&self) -> f64 {
        self.values.iter().sum::<f64>() / self.values.len() as f64
    }

    fn squares(&self) -> f64 {
        self.values.iter().map(|value| value * value).sum()
    }

    fn on_device(&self, shape: &[usize]) -> tensor::Result<Tensor> {
        let values: Vec<f32> = self.values.iter().map(|value| *value as f32).collect();
        Tensor::from_slice(&values, shape)
    }

    fn matrix_on_device(&self) -> tensor::Result<Tensor> {
        self.on_device(&[self.rows, self.cols])
    }
}

fn relu(value: f64) -> f64 {
    value.max(0.0)
}

fn relu_slope(value: f64) -> f64 {
    if value > 0.0 { 1.0 } else { 0.0 }
}

/// A model of two layers, a batch for it, and what comes of it.
struct Training {
    x: Matrix,
    target: Matrix,
    /// Weight and bias of the first layer, then of the second.
    parameters: [Matrix; 4],
    loss: f64,
    grads: [Matrix; 4],
}

impl Training {
    fn random(grader: &mut Grader) -> Training {
        let rows = grader.rng().usize(16..48);
        let [inputs, hidden, outputs] = [(); 3].map(|()| grader.rng().usize(4..16));
        let x = Matrix::random(grader, rows, inputs);
        let target = Matrix::random(grader, rows, outputs);
        let parameters = [(inputs, hidden), (1, hidden), (hidden, outputs), (1, outputs)]
            .map(|(rows, cols)| Matrix::random(grader, rows, cols));
        let [w1, b1, w2, b2] = &parameters;

        let before = x.times(w1).plus_row(b1);
        let after = before.map(relu);
        let error = after.times(w2).plus_row(b2).zip(&target, |out, target| out - target);
        let loss = error.map(|error| error * error).mean();
        let of_out = error.map(|error| 2.0 * error / error_count(rows, outputs));
        let of_after = of_out.times(&w2.transposed());
        let of_before = of_after.zip(&before, |grad, before| grad * relu_slope(before));
        let grads = [
            x.transposed().times(&of_before),
            of_before.column_sums(),
            after.transposed().times(&of_out),
            of_out.column_sums(),
        ];
        Training { x, target, parameters, loss, grads }
    }

    /// Fresh parameters on the device.
    fn model(&self) -> tensor::Result<Mlp> {
        let layer = |weight: &Matrix, bias: &Matrix| -> tensor::Result<Linear> {
            Ok(Linear {
                weight: weight.matrix_on_device()?.with_grad()?,
                bias: bias.on_device(&[bias.cols])?.with_grad()?,
            })
        };
        let [w1, b1, w2, b2] = &self.parameters;
        Ok(Mlp { layers: vec![layer(w1, b1)?, layer(w2, b2)?] })
    }
}

fn error_count(rows: usize, cols: usize) -> f64 {
    (rows * cols) as f64
}

/// The names that reports know a model's parameters by.
const NAMES: [&str; 4] = ["weight1", "bias1", "weight2", "bias2"];

fn name(parameters: &[Tensor]) {
    for (parameter, name) in parameters.iter().zip(NAMES) {
        parameter.name(name);
    }
}

/// In single precision, and whatever the order in which it was added up.
fn is_close(got: f32, expected: f64) -> bool {
    (f64::from(got) - expected).abs() <= 1e-4 * expected.abs().max(1.0)
}

fn check(what: &str, got: &Tensor, expected: &[f64]) -> Outcome<()> {
    let got = got.to_vec()?;
    let len = expected.len();
    if got.len() != expected.len() {
        let message = format!("{what} has {} elements, and not {}", got.len(), expected.len());
        return Err(Finding::new(d::WRONG_VALUE, message));
    }
    let wrong = got.iter().zip(expected).position(|(got, expected)| !is_close(*got, *expected));
    wrong.map_or(Ok(()), |index| {
        let (got, expected) = (got[index], expected[index] as f32);
        let element = match index {
            0 if len == 1 => String::new(),
            _ => format!("element {index} of "),
        };
        let message = format!("{element}{what} is {got}, and has to be {expected}");
        Err(Finding::new(d::WRONG_VALUE, message))
    })
}

fn check_grads(parameters: &[Tensor], expected: &[Matrix]) -> Outcome<()> {
    parameters.iter().zip(NAMES).zip(expected).try_for_each(|((parameter, name), expected)| {
        let what = format!("`{name}.grad`");
        match parameter.grad() {
            Some(grad) => check(&what, &grad, &expected.values),
            None => Err(Finding::new(
                d::WRONG_VALUE,
                format!("{what} is not there: there was no backward"),
            )),
        }
    })
}

/// Each parameter has a gradient, whatever is in it.
fn check_backward(parameters: &[Tensor]) -> Outcome<()> {
    let without = parameters.iter().zip(NAMES).find(|(parameter, _)| parameter.grad().is_none());
    without.map_or(Ok(()), |(_, name)| {
        let message = format!("`{name}` has no gradient: there was no backward");
        Err(Finding::new(d::WRONG_VALUE, message))
    })
}

/// What came of a race in this run, for its report; or, without a race, what is wrong.
fn seen(checked: &Outcome<()>) -> Option<String> {
    checked.as_ref().err().map(|finding| finding.message.clone())
}

/// The operation that touches any of some memory in the way that `does` says, the last such one.
fn last<'a>(
    function: &Part<'a>,
    work: &[&'a Call],
    memories: &[Range],
    does: fn(&Call, Range) -> bool,
    what: &str,
) -> Outcome<&'a Call> {
    function.the(work.iter().rfind(|call| memories.iter().any(|memory| does(call, *memory))), what)
}

fn scalars() -> tensor::Result<Vec<Tensor>> {
    (0..NEXT).map(|_| Ok(Tensor::zeros([])?.named("next"))).collect()
}

fn memories(tensors: &[Tensor]) -> Vec<Range> {
    tensors.iter().map(memory).collect()
}

fn grads_of(parameters: &[Tensor]) -> Vec<Tensor> {
    parameters.iter().filter_map(Tensor::grad).collect()
}

fn train_step(grader: &mut Grader) -> Outcome<()> {
    let training = Training::random(grader);
    let rate = grader.rng().u32(1..9) as f32 / 64.0;
    let side = Stream::new("side")?;
    let prepare = || -> Outcome<_> {
        stage::clear()?;
        Ok((training.model()?, training.x.matrix_on_device()?, training.target.matrix_on_device()?))
    };
    let run = |(model, x, target): (Mlp, Tensor, Tensor)| -> Outcome<_> {
        keep_busy(&[(&current_stream()?, 0), (&side, BUSY)])?;
        name(&model.parameters());
        target.name("target");
        // The batch is one that the current stream has just made.
        let batch = x.scale(1.0)?.named("x");
        let loss = part(FUNCTION, || exercise::train_step(&side, &model, &batch, &target, rate));
        Ok((model, batch, target, loss.map_err(returned_error)?))
    };
    prepared_runs(grader, prepare, run, |grader, run| {
        let (model, x, _target, loss) = run.value?;
        let [default, side] = streams(&run.trace)?;
        let function = Part::new(grader, &run.trace, FUNCTION)?;
        function.unblocked()?;
        let (parameters, work) = (model.parameters(), function.work());
        check_backward(&parameters)?;
        let values = check("the loss", &loss, &[training.loss])
            .and_then(|()| check_grads(&parameters, &training.grads))
            .and_then(|()| {
                let all = parameters.iter().zip(NAMES).zip(&training.parameters);
                all.zip(&training.grads).try_for_each(|(((parameter, name), before), grad)| {
                    let stepped = before.zip(grad, |before, grad| before - f64::from(rate) * grad);
                    check(&format!("`{name}`"), parameter, &stepped.values)
                })
            });
        let forward = last(&function, &work, &[memory(&x)], only_reads, "reads the batch")?;
        let step = last(&function, &work, &memories(&parameters), writes, "changes a parameter")?;
        function.on_streams(&[(forward, side), (step, default)])?;
        function.unraced(seen(&values))?;
        values
    })
}

fn two_branches(grader: &mut Grader) -> Outcome<()> {
    let [rows, inner, cols] = [(); 3].map(|()| grader.rng().usize(8..24));
    let weight = Matrix::random(grader, inner, cols);
    let batches = [(); 2].map(|()| Matrix::random(grader, rows, inner));
    let mut loss = 0.0;
    let mut grad = weight.map(|_| 0.0);
    for batch in &batches {
        let before = batch.times(&weight);
        loss += before.map(relu).mean();
        let of_before = before.map(|value| relu_slope(value) / error_count(rows, cols));
        grad = grad.zip(&batch.transposed().times(&of_before), |sum, this| sum + this);
    }
    let (left, right) = (Stream::new("left")?, Stream::new("right")?);
    let prepare = || -> Outcome<_> {
        stage::clear()?;
        let weight = weight.matrix_on_device()?.with_grad()?;
        Ok((weight, batches[0].matrix_on_device()?, batches[1].matrix_on_device()?))
    };
    let run = |(weight, a, b): (Tensor, Tensor, Tensor)| -> Outcome<_> {
        keep_busy(&[(&current_stream()?, 0), (&left, BUSY), (&right, 0)])?;
        weight.name(NAMES[0]);
        let (a, b) = (a.scale(1.0)?.named("a"), b.scale(1.0)?.named("b"));
        let returned = part(FUNCTION, || exercise::two_branches(&left, &right, &weight, [&a, &b]));
        // Who called uses the gradient, and the memory that the branches have handed back.
        sgd_step(std::slice::from_ref(&weight), 1.0)?;
        let next = [with_stream(&left, scalars)?, with_stream(&right, scalars)?];
        Ok((weight, [a, b], returned.map_err(returned_error)?, next))
    };
    prepared_runs(grader, prepare, run, |grader, run| {
        let (stepped, [a, b], sum, _next) = run.value?;
        let [_default, left, right] = streams(&run.trace)?;
        let function = Part::new(grader, &run.trace, FUNCTION)?;
        function.unblocked()?;
        check_backward(std::slice::from_ref(&stepped))?;
        let values = check("the loss", &sum, &[loss])
            .and_then(|()| check_grads(std::slice::from_ref(&stepped), &[grad.clone()]))
            .and_then(|()| {
                let expected = weight.zip(&grad, |weight, grad| weight - grad);
                check("the weight, one step later,", &stepped, &expected.values)
            });
        let work = function.work();
        let reads = |tensor: &Tensor| {
            let memory = memory(tensor);
            function.the(work.iter().find(|call| only_reads(call, memory)), "reads a batch")
        };
        let (one, other) = (reads(&a)?, reads(&b)?);
        function.on_streams(&[(one, left), (other, right)])?;
        function.unraced(seen(&values))?;
        let (first, second) = if one.seq < other.seq { (one, other) } else { (other, one) };
        function.side_by_side(first, second)?;
        values
    })
}

fn norms_then_zero(grader: &mut Grader) -> Outcome<()> {
    let training = Training::random(grader);
    let side = Stream::new("side")?;
    let prepare = || -> Outcome<_> {
        stage::clear()?;
        Ok((training.model()?, training.x.matrix_on_device()?, training.target.matrix_on_device()?))
    };
    let run = |(model, x, target): (Mlp, Tensor, Tensor)| -> Outcome<_> {
        keep_busy(&[(&current_stream()?, 0), (&side, BUSY)])?;
        let parameters = model.parameters();
        name(&parameters);
        let backward = || model.forward(&x)?.mse(&target)?.backward();
        backward()?;
        let grads = memories(&grads_of(&parameters));
        let norms = part(FUNCTION, || exercise::norms_then_zero(&side, &parameters));
        // The next step: other tensors, and gradients once more.
        let next = scalars()?;
        backward()?;
        Ok((parameters, grads, norms.map_err(returned_error)?, next, [x, target]))
    };
    prepared_runs(grader, prepare, run, |grader, run| {
        let (parameters, grads, norms, _next, _batch) = run.value?;
        let [default, side] = streams(&run.trace)?;
        let function = Part::new(grader, &run.trace, FUNCTION)?;
        function.unblocked()?;
        if norms.len() != parameters.len() {
            let message = format!("{} norms of {} gradients", norms.len(), parameters.len());
            return Err(Finding::new(d::WRONG_VALUE, message));
        }
        let mut checked = norms.iter().zip(NAMES).zip(&training.grads);
        let values = checked
            .try_for_each(|((norm, name), grad)| {
                check(&format!("the squared norm of `{name}.grad`"), norm, &[grad.squares()])
            })
            // Had the gradients not been zeroed, there would be twice as much.
            .and_then(|()| check_grads(&parameters, &training.grads));
        let work = function.work();
        let mut placed =
            vec![(last(&function, &work, &grads, only_reads, "reads a gradient")?, side)];
        // Who drops the gradients instead has nothing to write.
        if let Ok(zeroed) = last(&function, &work, &grads, writes, "zeroes a gradient") {
            placed.push((zeroed, default));
        }
        function.on_streams(&placed)?;
        function.unraced(seen(&values))?;
        grads.iter().try_for_each(|grad| function.recorded(*grad, default))?;
        values
    })
}
