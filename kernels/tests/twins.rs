//! The host twins against naive references.

use proptest::prelude::*;
use rstest::rstest;
use streamlings_kernels::{Args, Kernel, ParamKind, Role, TABLE, find};

/// An argument of a launch.
#[derive(Clone, Debug)]
enum Arg {
    In(Vec<f32>),
    /// An output, poisoned.
    Out,
    F32(f32),
    U32(u32),
    U64(u64),
}

use Arg::{F32, In, Out, U32, U64};

const POISON: f32 = -7.5e30;

fn kernel(name: &str) -> &'static Kernel {
    find(name).unwrap_or_else(|| panic!("kernel {name}"))
}

/// Runs a kernel's twin and returns its outputs.
fn run(name: &str, given: &[Arg]) -> Vec<Vec<f32>> {
    let kernel = kernel(name);
    assert_eq!(given.len(), kernel.params.len(), "arguments of {name}");
    let words: Vec<u64> = given
        .iter()
        .map(|arg| match arg {
            In(_) | Out => 0x1000,
            F32(x) => u64::from(x.to_bits()),
            U32(x) => u64::from(*x),
            U64(x) => *x,
        })
        .collect();
    let args = Args(&words);
    let mut roles = Vec::new();
    let mut buffers = Vec::new();
    for (param, arg) in kernel.params.iter().zip(given) {
        let ParamKind::Pointer { role, elements } = param.kind else { continue };
        let elements = elements(&args) as usize;
        roles.push(role);
        buffers.push(match arg {
            In(data) => {
                assert_eq!(data.len(), elements, "extent of {name}'s {}", param.name);
                data.clone()
            }
            _ => vec![POISON; elements],
        });
    }
    let before = buffers.clone();
    (kernel.twin)(&args, &mut buffers);
    let mut outputs = Vec::new();
    for ((role, before), after) in roles.iter().zip(before).zip(buffers) {
        assert_eq!(before.len(), after.len(), "{name} changed a buffer's length");
        match role {
            Role::Read => assert_eq!(bits(&before), bits(&after), "{name} wrote to an input"),
            Role::Write | Role::Update => outputs.push(after),
        }
    }
    outputs
}

/// Runs a kernel with one output.
fn run1(name: &str, given: &[Arg]) -> Vec<f32> {
    let mut outputs = run(name, given);
    assert_eq!(outputs.len(), 1, "outputs of {name}");
    outputs.remove(0)
}

fn bits(x: &[f32]) -> Vec<u32> {
    x.iter().map(|x| x.to_bits()).collect()
}

fn from_bits(x: &[u32]) -> Vec<f32> {
    x.iter().map(|&x| f32::from_bits(x)).collect()
}

/// `n` numbers between -1 and 1, the same for the same seed.
fn data(n: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    (0..n)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect()
}

#[rstest]
fn elementwise(#[values(0, 1, 7, 1000, 4097)] n: usize) {
    let (a, b) = (data(n, 1), data(n, 2));
    let count = U32(n as u32);
    let unary = |f: fn(f32) -> f32| a.iter().map(|&x| f(x)).collect::<Vec<_>>();
    let binary =
        |f: fn(f32, f32) -> f32| a.iter().zip(&b).map(|(&a, &b)| f(a, b)).collect::<Vec<_>>();
    let two = [Out, In(a.clone()), In(b.clone()), count.clone()];

    assert_eq!(run1("fill", &[Out, F32(2.5), count.clone()]), vec![2.5; n]);
    assert_eq!(run1("copy", &[Out, In(a.clone()), count.clone()]), a);
    assert_eq!(run1("scale", &[Out, In(a.clone()), F32(3.0), count.clone()]), unary(|x| x * 3.0));
    assert_eq!(run1("add", &two), binary(|a, b| a + b));
    assert_eq!(run1("sub", &two), binary(|a, b| a - b));
    assert_eq!(run1("mul", &two), binary(|a, b| a * b));
    assert_eq!(
        run1("axpy", &[In(a.clone()), In(b.clone()), F32(-0.1), count.clone()]),
        binary(|y, x| y + -0.1 * x)
    );
    assert_eq!(run1("relu", &[Out, In(a.clone()), count.clone()]), unary(|x| x.max(0.0)));
    assert_eq!(run1("relu_backward", &two), binary(|grad, x| if x > 0.0 { grad } else { 0.0 }));
    assert_eq!(run1("broadcast", &[Out, In(vec![1.5]), F32(2.0), count.clone()]), vec![3.0; n]);
    assert_eq!(
        run1("greater", &[Out, In(a.clone()), F32(0.25), count.clone()]),
        unary(|x| f32::from(u8::from(x > 0.25)))
    );
    let mask = run1("greater", &[Out, In(a.clone()), F32(0.0), count.clone()]);
    assert_eq!(
        run1("where", &[Out, In(mask), In(a.clone()), In(b.clone()), count]),
        binary(|a, b| if a > 0.0 { a } else { b })
    );
}

#[test]
fn relu_keeps_nan() {
    let out = run1("relu", &[Out, In(vec![f32::NAN, -1.0, 2.0]), U32(3)]);
    assert!(out[0].is_nan());
    assert_eq!(out[1..], [0.0, 2.0]);
}

#[test]
fn spin_has_no_buffers_and_poke_writes_one_element() {
    assert!(run("spin", &[U64(5)]).is_empty());
    assert_eq!(run1("poke", &[Out, F32(4.0)]), [4.0]);
}

#[rstest]
#[case(0, 0)]
#[case(0, 5)]
#[case(5, 0)]
#[case(1, 1)]
#[case(3, 5)]
#[case(64, 33)]
fn rows_and_columns(#[case] rows: usize, #[case] cols: usize) {
    let x = data(rows * cols, 3);
    let bias = data(cols, 4);
    let sizes = [U32(rows as u32), U32(cols as u32)];
    let [r, c] = sizes.clone();

    let biased = run1("bias_add", &[Out, In(x.clone()), In(bias.clone()), r, c]);
    let columns = run1("column_sum", &[&[Out, In(x.clone())], &sizes[..]].concat());
    let transposed = run1("transpose", &[&[Out, In(x.clone())], &sizes[..]].concat());
    for col in 0..cols {
        let mut sum = 0.0;
        for row in 0..rows {
            let element = x[row * cols + col];
            sum += element;
            assert_eq!(biased[row * cols + col], element + bias[col]);
            assert_eq!(transposed[col * rows + row], element);
        }
        assert_eq!(columns[col], sum);
    }
    assert_eq!(columns.len(), cols);
}

#[rstest]
fn mean_squared_error_and_its_gradient(#[values(1, 2, 1023, 3001)] n: usize) {
    let (y, target) = (data(n, 5), data(n, 6));
    let loss = |y: &[f32]| {
        let squares = y.iter().zip(&target).map(|(y, t)| (f64::from(*y) - f64::from(*t)).powi(2));
        squares.sum::<f64>() / n as f64
    };
    let count = U32(n as u32);

    let [got] = run1("mse", &[Out, In(y.clone()), In(target.clone()), count.clone()])[..] else {
        panic!("one element")
    };
    assert!((f64::from(got) - loss(&y)).abs() < 1e-5, "{got} for {}", loss(&y));

    let gradient =
        run1("mse_backward", &[Out, In(y.clone()), In(target.clone()), In(vec![0.5]), count]);
    for i in [0, n / 2, n - 1] {
        let (mut above, mut below) = (y.clone(), y.clone());
        above[i] += 0.25;
        below[i] -= 0.25;
        let slope = 0.5 * (loss(&above) - loss(&below)) / f64::from(above[i] - below[i]);
        assert!((f64::from(gradient[i]) - slope).abs() < 1e-6, "{} for {slope}", gradient[i]);
    }
}

#[test]
fn reductions_of_nothing() {
    assert_eq!(run1("sum", &[Out, In(vec![]), U32(0)]), [0.0]);
    assert!(run1("mean", &[Out, In(vec![]), U32(0)])[0].is_nan());
    assert!(run1("mse", &[Out, In(vec![]), In(vec![]), U32(0)])[0].is_nan());
    assert_eq!(bits(&run1("count", &[Out, In(vec![]), U32(0)])), [0]);
    assert!(run1("mse_backward", &[Out, In(vec![]), In(vec![]), In(vec![1.0]), U32(0)]).is_empty());
}

/// The kernel's order, to the bit: 2^24 swallows a 1 that is added to it, but not a 2.
#[rstest]
#[case::the_same_lane(&[1024, 2048], 16_777_216.0)]
#[case::two_lanes_that_meet_first(&[1, 513], 16_777_218.0)]
#[case::two_lanes_that_meet_last(&[512, 256], 16_777_216.0)]
fn sum_adds_in_the_kernels_order(#[case] ones: &[usize], #[case] expected: f32) {
    let mut x = vec![0.0; 2049];
    x[0] = 16_777_216.0;
    for &one in ones {
        x[one] = 1.0;
    }
    assert_eq!(run1("sum", &[Out, In(x), U32(2049)]), [expected]);
}

#[rstest]
#[case::nothing(&[])]
#[case::none(&[0.0, -0.0])]
#[case::all(&[1.0, 2.0, f32::NAN])]
#[case::some(&[0.0, 1.0, 0.0, 0.0, -1.0, 0.5, 0.0])]
fn nonzero_lists_the_true_places(#[case] mask: &[f32]) {
    let n = mask.len() as u32;
    let places: Vec<u32> = (0..n).filter(|&i| mask[i as usize] != 0.0).collect();
    let mut index = places.clone();
    index.resize(mask.len(), n);

    let outputs = run("nonzero", &[Out, Out, In(mask.to_vec()), U32(n)]);
    assert_eq!(bits(&outputs[0]), index);
    assert_eq!(bits(&outputs[1]), [places.len() as u32]);
    assert_eq!(bits(&run1("count", &[Out, In(mask.to_vec()), U32(n)])), [places.len() as u32]);
}

#[test]
fn gather_reads_zero_outside() {
    let index = from_bits(&[2, 0, 3, u32::MAX, 2]);
    let x = vec![10.0, 11.0, 12.0];
    assert_eq!(
        run1("gather", &[Out, In(x), In(index), U32(5), U32(3)]),
        [12.0, 10.0, 0.0, 0.0, 12.0]
    );
}

/// The product of `a[m][k]` and `b[k][n]`, and the sum of the magnitudes that go into each element.
fn naive_product(a: &[f32], b: &[f32], m: usize, n: usize, k: usize) -> Vec<(f64, f64)> {
    let mut c = vec![(0.0, 0.0); m * n];
    for (i, (sum, size)) in c.iter_mut().enumerate() {
        for inner in 0..k {
            let term = f64::from(a[i / n * k + inner]) * f64::from(b[inner * n + i % n]);
            *sum += term;
            *size += term.abs();
        }
    }
    c
}

fn transposed(x: &[f32], rows: usize, cols: usize) -> Vec<f32> {
    (0..rows * cols).map(|i| x[i % rows * cols + i / rows]).collect()
}

fn check_products(m: usize, n: usize, k: usize, seed: u32) {
    let (a, b) = (data(m * k, seed), data(k * n, seed ^ 1));
    let expected = naive_product(&a, &b, m, n, k);
    let (at, bt) = (transposed(&a, m, k), transposed(&b, k, n));
    for (name, a, b) in [("matmul", &a, &b), ("matmul_tn", &at, &b), ("matmul_nt", &a, &bt)] {
        let sizes = [m, n, k].map(|x| U32(x as u32));
        let c = run1(name, &[&[Out, In(a.clone()), In(b.clone())], &sizes[..]].concat());
        for (c, (sum, size)) in c.iter().zip(&expected) {
            let error = (f64::from(*c) - sum).abs();
            assert!(error <= 1e-6 * (1.0 + size), "{name} {m} {n} {k}: {c} for {sum}");
        }
    }
}

#[rstest]
#[case(0, 3, 4)]
#[case(3, 0, 4)]
#[case(3, 4, 0)]
#[case(1, 1, 1)]
#[case(1, 130, 9)]
#[case(128, 128, 128)]
#[case(129, 127, 65)]
fn products_at_the_edges(#[case] m: usize, #[case] n: usize, #[case] k: usize) {
    check_products(m, n, k, 7);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn products(m in 0_usize..40, n in 0_usize..40, k in 0_usize..40, seed: u32) {
        check_products(m, n, k, seed);
    }

    #[test]
    fn sum_and_mean(x in prop::collection::vec(-1e3_f32..1e3, 1..5000)) {
        let n = x.len();
        let exact: f64 = x.iter().map(|&x| f64::from(x)).sum();
        let size: f64 = x.iter().map(|&x| f64::from(x.abs())).sum();
        let sum = run1("sum", &[Out, In(x.clone()), U32(n as u32)])[0];
        let mean = run1("mean", &[Out, In(x), U32(n as u32)])[0];
        prop_assert!((f64::from(sum) - exact).abs() <= 1e-6 * (1.0 + size));
        prop_assert!((f64::from(mean) * n as f64 - exact).abs() <= 2e-6 * (1.0 + size));
    }

    /// Extents, costs and geometries answer for all arguments, without an overflow.
    #[test]
    fn descriptions_take_any_argument(words in prop::collection::vec(any::<u64>(), 8)) {
        let args = Args(&words);
        for kernel in TABLE {
            for param in kernel.params {
                if let ParamKind::Pointer { elements, .. } = param.kind {
                    elements(&args);
                }
            }
            let cost = (kernel.cost)(&args);
            prop_assert!(cost.flops >= 0.0 && cost.bytes >= 0.0, "{}: {cost:?}", kernel.name);
            let geometry = (kernel.launch)(&args);
            let threads = geometry.block.iter().product::<u32>();
            prop_assert!((1..=1024).contains(&threads), "{}: {geometry:?}", kernel.name);
            prop_assert!(geometry.grid.iter().all(|&blocks| blocks > 0));
            prop_assert!(geometry.grid[0] <= i32::MAX as u32);
            prop_assert_eq!(geometry.grid[1..].iter().max(), Some(&1));
        }
    }
}

#[test]
fn largest_sizes_do_not_overflow() {
    let words = [u64::MAX; 8];
    let area = u64::from(u32::MAX) * u64::from(u32::MAX);
    let ParamKind::Pointer { elements, .. } = kernel("matmul").params[0].kind else {
        panic!("matmul writes to its first argument")
    };
    assert_eq!(elements(&Args(&words)), area);
}

#[rstest]
#[case("matmul", &[0, 0, 0, 2048, 2048, 2048], 17_179_869_184.0, 50_331_648.0, 0)]
#[case("add", &[0, 0, 0, 1000], 1000.0, 12_000.0, 0)]
#[case("fill", &[0, 0, 1000], 0.0, 4000.0, 0)]
#[case("spin", &[5_000_000], 0.0, 0.0, 5_000_000)]
fn costs(
    #[case] name: &str,
    #[case] words: &[u64],
    #[case] flops: f64,
    #[case] bytes: f64,
    #[case] fixed_ns: u64,
) {
    let cost = (kernel(name).cost)(&Args(words));
    assert_eq!((cost.flops, cost.bytes, cost.fixed_ns), (flops, bytes, fixed_ns));
}

#[rstest]
#[case("matmul", &[0, 0, 0, 2048, 2048, 2048], 256, 128)]
#[case("matmul", &[0, 0, 0, 2048, 2048, 2047], 1024, 128)]
#[case("matmul", &[0, 0, 0, 1, 129, 7], 3, 128)]
#[case("matmul", &[0, 0, 0, 0, 129, 7], 1, 128)]
#[case("sum", &[0, 0, 1_000_000], 1, 1024)]
#[case("fill", &[0, 0, 0], 1, 256)]
#[case("fill", &[0, 0, 257], 2, 256)]
#[case("fill", &[0, 0, 1 << 30], 2048, 256)]
fn geometries(
    #[case] name: &str,
    #[case] words: &[u64],
    #[case] blocks: u32,
    #[case] threads: u32,
) {
    let geometry = (kernel(name).launch)(&Args(words));
    assert_eq!((geometry.grid, geometry.block), ([blocks, 1, 1], [threads, 1, 1]));
}
