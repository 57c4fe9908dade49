//! Gradients against plain loops on the host, and where they run, on whatever device there is.

use rstest::rstest;
use streamlings_tensor::nn::{Linear, Mlp, sgd_step, zero_grad};
use streamlings_tensor::{
    Device, Error, Result, Stream, Tensor, current_stream, no_grad, spin, with_stream,
};

/// Small multiples of 1/8 without 0, where ReLU has a kink.
fn values(count: usize, seed: u64) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..count)
        .map(|_| (random.i32(0..20) as f32 + 0.5) / if random.bool() { 8.0 } else { -8.0 })
        .collect()
}

fn leaf(shape: &[usize], seed: u64) -> Result<(Tensor, Vec<f32>)> {
    let host = values(shape.iter().product(), seed);
    Ok((Tensor::from_slice(&host, shape)?.with_grad()?, host))
}

fn grad(tensor: &Tensor) -> Vec<f32> {
    let grad = tensor.grad().expect("backward left a gradient");
    assert_eq!(grad.shape(), tensor.shape());
    assert!(!grad.requires_grad());
    grad.to_vec().expect("readable")
}

fn close(got: &[f32], expected: &[f32]) {
    assert_eq!(got.len(), expected.len());
    for (index, (got, expected)) in got.iter().zip(expected).enumerate() {
        let tolerance = 1e-4 * expected.abs().max(1.0);
        assert!((got - expected).abs() <= tolerance, "element {index}: {got}, not {expected}");
    }
}

#[rstest]
#[case(&[1])]
#[case(&[7])]
#[case(&[33, 17])]
fn elementwise(#[case] shape: &[usize]) -> Result<()> {
    // Each is weighted by c, so that every element's gradient is another one.
    let (c, w) = leaf(shape, 3)?;
    let c = c.detach();
    let check = |forward: &dyn Fn(&Tensor, &Tensor) -> Result<Tensor>,
                 expected: &dyn Fn(f32, f32) -> [f32; 2]|
     -> Result<()> {
        let ((a, x), (b, y)) = (leaf(shape, 1)?, leaf(shape, 2)?);
        forward(&a, &b)?.mul(&c)?.sum()?.backward()?;
        let of = |side: usize| -> Vec<f32> {
            x.iter().zip(&y).zip(&w).map(|((x, y), w)| w * expected(*x, *y)[side]).collect()
        };
        close(&grad(&a), &of(0));
        close(&grad(&b), &of(1));
        Ok(())
    };
    check(&|a, b| a.add(b), &|_, _| [1.0, 1.0])?;
    check(&|a, b| a.sub(b), &|_, _| [1.0, -1.0])?;
    check(&|a, b| a.mul(b), &|x, y| [y, x])?;
    check(&|a, b| a.scale(3.0)?.add(&b.scale(-0.5)?), &|_, _| [3.0, -0.5])?;
    check(&|a, b| a.relu()?.mul(b), &|x, y| {
        if x > 0.0 { [y, x] } else { [0.0, 0.0] }
    })?;
    // The same tensor twice, and through two ways.
    check(&|a, b| a.mul(a)?.add(&a.add(b)?), &|x, _| [2.0 * x + 1.0, 1.0])
}

#[rstest]
#[case(&[1])]
#[case(&[7])]
#[case(&[5, 3])]
fn reductions(#[case] shape: &[usize]) -> Result<()> {
    let ((a, x), (b, y)) = (leaf(shape, 1)?, leaf(shape, 2)?);
    let count = x.len() as f32;
    a.sum()?.backward()?;
    close(&grad(&a), &vec![1.0; x.len()]);
    // Added to what is there.
    a.mean()?.scale(2.0)?.backward()?;
    close(&grad(&a), &vec![1.0 + 2.0 / count; x.len()]);
    a.clear_grad();
    assert!(a.grad().is_none());
    a.mse(&b)?.backward()?;
    let of_a: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 2.0 * (x - y) / count).collect();
    close(&grad(&a), &of_a);
    close(&grad(&b), &of_a.iter().map(|grad| -grad).collect::<Vec<_>>());
    Ok(())
}

#[rstest]
#[case(1, 1, 1)]
#[case(3, 5, 7)]
#[case(65, 2, 33)]
fn matrices(#[case] m: usize, #[case] k: usize, #[case] n: usize) -> Result<()> {
    let ((a, x), (b, y), (bias, _)) = (leaf(&[m, k], 1)?, leaf(&[k, n], 2)?, leaf(&[n], 3)?);
    let (c, w) = leaf(&[n, m], 4)?;
    let out = a.matmul(&b)?.bias_add(&bias)?.transpose()?;
    out.mul(&c.detach())?.sum()?.backward()?;
    // The gradient of the product at (row, col) is w at (col, row).
    let at = |row: usize, col: usize| w[col * m + row];
    let (mut of_a, mut of_b, mut of_bias) = (vec![0.0; m * k], vec![0.0; k * n], vec![0.0; n]);
    for row in 0..m {
        for col in 0..n {
            of_bias[col] += at(row, col);
            for i in 0..k {
                of_a[row * k + i] += at(row, col) * y[i * n + col];
                of_b[i * n + col] += at(row, col) * x[row * k + i];
            }
        }
    }
    close(&grad(&a), &of_a);
    close(&grad(&b), &of_b);
    close(&grad(&bias), &of_bias);
    Ok(())
}

#[test]
fn what_needs_no_gradient_gets_none() -> Result<()> {
    let ((a, x), (b, y)) = (leaf(&[4], 1)?, leaf(&[4], 2)?);
    a.mul(&b.detach())?.sum()?.backward()?;
    close(&grad(&a), &y);
    assert!(b.grad().is_none());
    let loss = no_grad(|| a.mul(&b)?.sum())?;
    assert!(!loss.requires_grad());
    assert!(matches!(loss.backward(), Err(Error::NoGraph)));
    close(&a.to_vec()?, &x);
    // A leaf of its own.
    let (scalar, _) = leaf(&[], 3)?;
    scalar.backward()?;
    close(&grad(&scalar), &[1.0]);
    Ok(())
}

#[test]
fn leaves_do_not_share_a_gradient() -> Result<()> {
    let ((a, _), (b, _)) = (leaf(&[4], 1)?, leaf(&[4], 2)?);
    a.add(&b)?.sum()?.backward()?;
    a.zero_grad()?;
    close(&grad(&a), &[0.0; 4]);
    close(&grad(&b), &[1.0; 4]);
    Ok(())
}

#[test]
fn a_graph_is_used_once_and_what_it_saved_must_not_change() -> Result<()> {
    let ((a, _), (b, _)) = (leaf(&[4], 1)?, leaf(&[4], 2)?);
    let loss = a.mul(&b)?.sum()?;
    loss.backward()?;
    assert!(matches!(loss.backward(), Err(Error::GraphFreed { op: "sum" })));

    let loss = a.mul(&b)?.sum()?;
    no_grad(|| b.fill_(0.0))?;
    assert!(matches!(loss.backward(), Err(Error::Modified { op: "mul" })));
    Ok(())
}

#[test]
fn a_long_chain_can_be_dropped() -> Result<()> {
    let (a, _) = leaf(&[1], 1)?;
    let mut x = a.clone();
    for _ in 0..20_000 {
        x = x.scale(1.0)?;
    }
    drop(x);
    assert!(a.grad().is_none());
    Ok(())
}

/// Two layers and their training on the host.
struct Reference {
    w1: Vec<f32>,
    b1: Vec<f32>,
    w2: Vec<f32>,
    b2: Vec<f32>,
}

const ROWS: usize = 5;
const WIDTHS: [usize; 3] = [3, 4, 2];

impl Reference {
    fn of(model: &Mlp) -> Result<Reference> {
        let [first, second] = [&model.layers[0], &model.layers[1]];
        Ok(Reference {
            w1: first.weight.to_vec()?,
            b1: first.bias.to_vec()?,
            w2: second.weight.to_vec()?,
            b2: second.bias.to_vec()?,
        })
    }

    /// A step of gradient descent on the mean squared error; the loss before it.
    fn step(&mut self, x: &[f32], target: &[f32], rate: f32) -> f32 {
        let [i, h, o] = WIDTHS;
        let mut hidden = vec![0.0; ROWS * h];
        let mut out = vec![0.0; ROWS * o];
        for r in 0..ROWS {
            for c in 0..h {
                let sum: f32 = (0..i).map(|k| x[r * i + k] * self.w1[k * h + c]).sum();
                hidden[r * h + c] = (sum + self.b1[c]).max(0.0);
            }
            for c in 0..o {
                let sum: f32 = (0..h).map(|k| hidden[r * h + k] * self.w2[k * o + c]).sum();
                out[r * o + c] = sum + self.b2[c];
            }
        }
        let count = out.len() as f32;
        let errors: Vec<f32> = out.iter().zip(target).map(|(out, target)| out - target).collect();
        let loss = errors.iter().map(|error| error * error).sum::<f32>() / count;
        let of_out: Vec<f32> = errors.iter().map(|error| 2.0 * error / count).collect();
        let mut of_hidden = vec![0.0; ROWS * h];
        for r in 0..ROWS {
            for k in 0..h {
                let sum: f32 = (0..o).map(|c| of_out[r * o + c] * self.w2[k * o + c]).sum();
                of_hidden[r * h + k] = if hidden[r * h + k] > 0.0 { sum } else { 0.0 };
            }
        }
        for r in 0..ROWS {
            for c in 0..o {
                self.b2[c] -= rate * of_out[r * o + c];
                for k in 0..h {
                    self.w2[k * o + c] -= rate * hidden[r * h + k] * of_out[r * o + c];
                }
            }
            for c in 0..h {
                self.b1[c] -= rate * of_hidden[r * h + c];
                for k in 0..i {
                    self.w1[k * h + c] -= rate * x[r * i + k] * of_hidden[r * h + c];
                }
            }
        }
        loss
    }
}

#[test]
fn training_on_a_side_stream_follows_the_reference() -> Result<()> {
    let side = Stream::new("side")?;
    let model = Mlp::new(&WIDTHS, 1)?;
    let mut reference = Reference::of(&model)?;
    let (x, target) = (values(ROWS * WIDTHS[0], 2), values(ROWS * WIDTHS[2], 3));
    let x_device = Tensor::from_slice(&x, [ROWS, WIDTHS[0]])?;
    let target_device = Tensor::from_slice(&target, [ROWS, WIDTHS[2]])?;
    let default = current_stream()?;
    let mut losses = Vec::new();
    for step in 0..20 {
        side.wait_stream(&default)?;
        let loss = with_stream(&side, || -> Result<Tensor> {
            let loss = model.forward(&x_device)?.mse(&target_device)?;
            loss.backward()?;
            Ok(loss)
        })?;
        default.wait_stream(&side)?;
        sgd_step(&model.parameters(), 0.05)?;
        zero_grad(&model.parameters())?;
        let expected = reference.step(&x, &target, 0.05);
        let loss = loss.item()?;
        assert!((loss - expected).abs() < 1e-3 * expected, "step {step}: {loss}, not {expected}");
        losses.push(loss);
    }
    assert!(losses[19] < losses[0] * 0.7, "{losses:?}");
    let trained = Reference::of(&model)?;
    close(&trained.w1, &reference.w1);
    close(&trained.b1, &reference.b1);
    close(&trained.w2, &reference.w2);
    close(&trained.b2, &reference.b2);
    Ok(())
}

#[test]
fn branches_on_two_streams_meet_in_one_loss() -> Result<()> {
    let (left, right) = (Stream::new("left")?, Stream::new("right")?);
    let default = current_stream()?;
    let ((w, host), (x, y)) = (leaf(&[8, 8], 1)?, leaf(&[8, 8], 2)?);
    let x = x.detach();
    left.wait_stream(&default)?;
    right.wait_stream(&default)?;
    let a = with_stream(&left, || w.mul(&x)?.sum())?;
    // The second branch is late, and its part counts all the same.
    let b = with_stream(&right, || {
        spin(20_000_000)?;
        w.mul(&w)?.sum()
    })?;
    default.wait_stream(&left)?;
    default.wait_stream(&right)?;
    let loss = a.add(&b)?;
    loss.backward()?;
    let expected: Vec<f32> = host.iter().zip(&y).map(|(w, x)| x + 2.0 * w).collect();
    close(&grad(&w), &expected);
    Ok(())
}

#[test]
fn backward_runs_where_forward_did_and_the_caller_waits_for_it() -> Result<()> {
    let (side, caller) = (Stream::new("side")?, Stream::new("caller")?);
    let layer = Linear::new(4, 4, 1)?;
    let x = Tensor::full([2, 4], 1.0)?;
    side.wait_stream(Device::get()?.default_stream())?;
    let loss = with_stream(&side, || layer.forward(&x)?.sum())?;
    side.synchronize()?;
    with_stream(&side, || spin(200_000_000))?;
    with_stream(&caller, || loss.backward())?;
    let grad = layer.weight.grad().expect("there is one");
    assert_eq!(*grad.stream(), side);
    assert!(!side.query()? && !caller.query()?, "the caller's stream waits, not the host");
    caller.synchronize()?;
    assert!(side.query()?);
    close(&grad.to_vec()?, &[2.0; 16]);
    Ok(())
}
