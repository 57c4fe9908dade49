//! Every operation against plain loops on the host, on whatever device there is.

use rstest::rstest;
use streamlings_tensor::{Error, HostTensor, Index, PinnedTensor, Result, Tensor, no_grad};

/// Small multiples of 1/8, so that sums of them are exact, and some are zero and some negative.
fn values(count: usize, seed: u64) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..count).map(|_| random.i32(-40..40) as f32 / 8.0).collect()
}

fn tensor(shape: &[usize], seed: u64) -> Result<(Tensor, Vec<f32>)> {
    let host = values(shape.iter().product(), seed);
    Ok((Tensor::from_slice(&host, shape)?, host))
}

fn close(got: &[f32], expected: &[f32]) {
    assert_eq!(got.len(), expected.len());
    for (index, (got, expected)) in got.iter().zip(expected).enumerate() {
        let tolerance = 1e-5 * expected.abs().max(1.0);
        assert!((got - expected).abs() <= tolerance, "element {index}: {got}, not {expected}");
    }
}

#[rstest]
#[case::scalar(&[])]
#[case::one(&[1])]
#[case::odd(&[7])]
#[case::more_than_a_block(&[1025])]
#[case::matrix(&[33, 17])]
#[case::three(&[3, 5, 7])]
#[case::empty(&[0])]
#[case::no_rows(&[0, 5])]
fn elementwise(#[case] shape: &[usize]) -> Result<()> {
    let ((a, x), (b, y)) = (tensor(shape, 1)?, tensor(shape, 2)?);
    let pairs = || x.iter().zip(&y);
    let check = |got: Tensor, expected: Vec<f32>| -> Result<()> {
        assert_eq!(got.shape(), shape);
        close(&got.to_vec()?, &expected);
        Ok(())
    };
    check(a.add(&b)?, pairs().map(|(x, y)| x + y).collect())?;
    check(a.sub(&b)?, pairs().map(|(x, y)| x - y).collect())?;
    check(a.mul(&b)?, pairs().map(|(x, y)| x * y).collect())?;
    check(a.scale(-1.5)?, x.iter().map(|x| x * -1.5).collect())?;
    check(a.relu()?, x.iter().map(|x| x.max(0.0)).collect())?;
    check(a.gt(0.5)?, x.iter().map(|x| f32::from(*x > 0.5)).collect())?;
    check(a.copy()?, x.clone())?;
    check(Tensor::full(shape, 2.5)?, vec![2.5; x.len()])?;
    check(Tensor::zeros(shape)?, vec![0.0; x.len()])?;
    let chosen = pairs().map(|(x, y)| if *x > 0.0 { *x } else { *y }).collect();
    check(Tensor::select(&a.gt(0.0)?, &a, &b)?, chosen)
}

#[rstest]
#[case::one(&[1])]
#[case::odd(&[1027])]
#[case::matrix(&[33, 17])]
fn reductions(#[case] shape: &[usize]) -> Result<()> {
    let ((a, x), (b, y)) = (tensor(shape, 3)?, tensor(shape, 4)?);
    let count = x.len() as f32;
    let sum: f32 = x.iter().sum();
    let squares: f32 = x.iter().zip(&y).map(|(x, y)| (x - y) * (x - y)).sum();
    close(
        &[a.sum()?.item()?, a.mean()?.item()?, a.mse(&b)?.item()?],
        &[sum, sum / count, squares / count],
    );
    assert_eq!(a.sum()?.shape(), [0; 0]);
    Ok(())
}

#[test]
fn reductions_of_nothing() -> Result<()> {
    let empty = Tensor::empty([0])?;
    assert_eq!(empty.sum()?.item()?, 0.0);
    assert!(empty.mean()?.item()?.is_nan());
    assert!(empty.mse(&empty)?.item()?.is_nan());
    Ok(())
}

#[rstest]
#[case(1, 1, 1)]
#[case(3, 5, 7)]
#[case(64, 64, 64)]
#[case(65, 1, 33)]
#[case(2, 0, 3)]
#[case(0, 4, 3)]
fn matrices(#[case] m: usize, #[case] k: usize, #[case] n: usize) -> Result<()> {
    let ((a, x), (b, y)) = (tensor(&[m, k], 5)?, tensor(&[k, n], 6)?);
    let mut expected = vec![0.0; m * n];
    for (row, col) in (0..m).flat_map(|row| (0..n).map(move |col| (row, col))) {
        expected[row * n + col] = (0..k).map(|i| x[row * k + i] * y[i * n + col]).sum();
    }
    let product = a.matmul(&b)?;
    assert_eq!(product.shape(), [m, n]);
    close(&product.to_vec()?, &expected);

    let (bias, z) = tensor(&[n], 7)?;
    let biased: Vec<f32> =
        expected.iter().enumerate().map(|(index, value)| value + z[index % n]).collect();
    close(&product.bias_add(&bias)?.to_vec()?, &biased);

    let transposed = a.transpose()?;
    assert_eq!(transposed.shape(), [k, m]);
    let expected: Vec<f32> =
        (0..k).flat_map(|col| (0..m).map(move |row| row * k + col)).map(|at| x[at]).collect();
    close(&transposed.to_vec()?, &expected);
    Ok(())
}

#[test]
fn in_place() -> Result<()> {
    let ((a, x), (b, y)) = (tensor(&[5, 3], 8)?, tensor(&[5, 3], 9)?);
    let second_name = a.clone();
    a.axpy_(-0.5, &b)?;
    let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| x - 0.5 * y).collect();
    close(&second_name.to_vec()?, &expected);
    a.copy_(&b)?;
    close(&second_name.to_vec()?, &y);
    let copy = a.copy()?;
    a.fill_(3.0)?;
    close(&a.to_vec()?, &[3.0; 15]);
    a.zero_()?;
    close(&a.to_vec()?, &[0.0; 15]);
    close(&copy.to_vec()?, &y);
    a.copy_from_pinned_(&PinnedTensor::from_slice(&x, [5, 3])?, true)?;
    close(&a.to_vec()?, &x);
    Ok(())
}

#[rstest]
#[case(0)]
#[case(1)]
#[case(1000)]
#[case(2049)]
fn masks_and_indices(#[case] count: usize) -> Result<()> {
    let (a, x) = tensor(&[count], 10)?;
    let mask = a.gt(1.0)?;
    let places: Vec<u32> = (0..).zip(&x).filter(|(_, x)| **x > 1.0).map(|(at, _)| at).collect();
    let index = mask.nonzero()?;
    assert_eq!((index.len(), index.is_empty()), (places.len(), places.is_empty()));
    assert_eq!(index.to_vec()?, places);
    assert_eq!(mask.count_nonzero()?, places.len());
    let chosen: Vec<f32> = places.iter().map(|place| x[*place as usize]).collect();
    assert_eq!(a.masked_select(&mask)?.to_vec()?, chosen);
    assert_eq!(a.gather(&index)?.to_vec()?, chosen);
    assert_eq!(a.gather(&Index::from_slice(&[count as u32])?)?.to_vec()?, [0.0]);
    Ok(())
}

#[rstest]
fn there_and_back(#[values(0, 1, 1000, 800_000)] count: usize) -> Result<()> {
    let x = values(count, 11);
    for non_blocking in [false, true] {
        let pageable = HostTensor::new(x.clone(), [count])?;
        assert_eq!(*pageable.to_device(non_blocking)?.to_host()?, *x);
        let pinned = pageable.pin()?;
        assert_eq!((pinned.as_slice(), pinned.shape()), (&*x, &[count][..]));
        let there = pinned.to_device(non_blocking)?;
        // The buffer stays until the copy is done.
        drop(pinned);
        let back = there.to_host_pinned()?.wait()?;
        assert_eq!(back.as_slice(), x);
        let doubled = there.scale(2.0)?.copy_to_pinned(back)?.wait()?;
        let expected: Vec<f32> = x.iter().map(|x| x * 2.0).collect();
        assert_eq!(doubled.as_slice(), expected);
    }
    Ok(())
}

#[rstest]
#[case(Tensor::full([], 1.5), "tensor(1.5000)")]
#[case(Tensor::zeros([0]), "tensor([])")]
#[case(Tensor::from_slice(&[1.0, -2.0, 0.25], [3]), "tensor([1.0000, -2.0000, 0.2500])")]
#[case(
    Tensor::from_slice(&[1.0, 2.0, 3.0, 4.0], [2, 2]),
    "tensor([[1.0000, 2.0000],\n        [3.0000, 4.0000]])"
)]
#[case(
    Tensor::full([2000], 1.0),
    "tensor([1.0000, 1.0000, 1.0000, ..., 1.0000, 1.0000, 1.0000])"
)]
fn printed(#[case] tensor: Result<Tensor>, #[case] expected: &str) -> Result<()> {
    assert_eq!(tensor?.to_string(), expected);
    Ok(())
}

#[test]
fn what_is_refused_says_why() -> Result<()> {
    let (a, b) = (Tensor::zeros([2, 3])?, Tensor::zeros([3, 2])?);
    let (vector, weight) = (Tensor::zeros([3])?, Tensor::zeros([2, 3])?.with_grad()?);
    let message = |error: Option<Error>| error.map(|error| error.to_string()).unwrap_or_default();
    let cases = [
        (a.add(&b).err(), "add: the shapes [2, 3] and [3, 2] differ"),
        (a.mse(&b).err(), "mse: the shapes [2, 3] and [3, 2] differ"),
        (a.copy_(&b).err(), "copy_: the shapes [2, 3] and [3, 2] differ"),
        (a.matmul(&a).err(), "matmul: the shapes [2, 3] and [2, 3] do not fit: 3 against 2"),
        (vector.matmul(&a).err(), "matmul: expected a matrix, got the shape [3]"),
        (b.bias_add(&vector).err(), "bias_add: the shapes [3, 2] and [3] do not fit: 2 against 3"),
        (a.bias_add(&b).err(), "bias_add: expected a vector as the bias, got the shape [3, 2]"),
        (a.item().err(), "item: expected one element, got the shape [2, 3]"),
        (
            Tensor::from_slice(&[1.0; 5], [2, 3]).err(),
            "the shape [2, 3] holds 6 elements, but 5 were given",
        ),
        (
            HostTensor::new(vec![1.0; 7], [2, 3]).err(),
            "the shape [2, 3] holds 6 elements, but 7 were given",
        ),
        (
            Tensor::empty([1 << 20, 1 << 20]).err(),
            "the shape [1048576, 1048576] holds more than 2^32 - 1 elements",
        ),
        (
            weight.fill_(0.0).err(),
            "fill_: the tensor requires grad; change it in place inside of no_grad",
        ),
        (
            weight.masked_select(&a).err(),
            "masked_select: has no derivative here; use detach, or no_grad",
        ),
        (
            weight.scale(1.0)?.with_grad().err(),
            "with_grad: only a leaf, a tensor that no recorded operation made, can do this",
        ),
        (a.backward().err(), "backward: expected one element, got the shape [2, 3]"),
        (
            a.sum()?.backward().err(),
            "backward: the tensor does not require grad and no operation on it was recorded",
        ),
    ];
    for (error, expected) in cases {
        assert_eq!(message(error), expected);
    }
    no_grad(|| weight.fill_(1.0))?;
    assert_eq!(weight.sum()?.item()?, 6.0);
    Ok(())
}
