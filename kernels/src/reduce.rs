//! Kernels that make few numbers of many: `cuda/reduce.cu`.

use crate::{Geometry, Kernel, Param, area, cost, split, spread};

/// Partial sums, as in the CUDA source.
const LANES: usize = 1024;

/// `out[0]` = the sum of `x`; 0 of nothing
pub(crate) const SUM: Kernel = Kernel {
    name: "sum",
    params: &[Param::write("out", |_| 1), Param::read("x", |args| args.n(2)), Param::u32("n")],
    cost: |args| cost(args.n(2), args.n(2) + 1),
    launch: |_| Geometry::linear(1, LANES as u32),
    twin: |_, buffers| {
        let [out, x] = split(buffers);
        out.fill(block_sum(x.iter().copied()));
    },
};

/// `out[0]` = the mean of `x`; NaN of nothing
pub(crate) const MEAN: Kernel = Kernel {
    name: "mean",
    twin: |args, buffers| {
        let [out, x] = split(buffers);
        out.fill(block_sum(x.iter().copied()) / args.u32(2) as f32);
    },
    ..SUM
};

/// `loss[0]` = the mean of `(y[i] - target[i])^2`; NaN of nothing
pub(crate) const MSE: Kernel = Kernel {
    name: "mse",
    params: &[
        Param::write("loss", |_| 1),
        Param::read("y", |args| args.n(3)),
        Param::read("target", |args| args.n(3)),
        Param::u32("n"),
    ],
    cost: |args| cost(3 * args.n(3), 2 * args.n(3) + 1),
    launch: |_| Geometry::linear(1, LANES as u32),
    twin: |args, buffers| {
        let [loss, y, target] = split(buffers);
        let squares = y.iter().zip(&*target).map(|(y, target)| (y - target) * (y - target));
        loss.fill(block_sum(squares) / args.u32(3) as f32);
    },
};

/// `out[c]` = the sum of column `c` of `x[rows][cols]`, from the first row to the last
pub(crate) const COLUMN_SUM: Kernel = Kernel {
    name: "column_sum",
    params: &[
        Param::write("out", |args| args.n(3)),
        Param::read("x", |args| area(args.u32(2), args.u32(3))),
        Param::u32("rows"),
        Param::u32("cols"),
    ],
    cost: |args| {
        let n = area(args.u32(2), args.u32(3));
        cost(n, n.saturating_add(args.n(3)))
    },
    launch: |args| spread(args.n(3)),
    twin: |args, buffers| {
        let [out, x] = split(buffers);
        out.fill(0.0);
        for row in x.chunks_exact((args.u32(3) as usize).max(1)) {
            for (sum, x) in out.iter_mut().zip(row) {
                *sum += x;
            }
        }
    },
};

/// The sum of the terms, added in the kernels' order: lane `l` adds up the terms `l`,
/// `l + LANES`, ...; then the lanes are added pairwise, half of them to the other half.
fn block_sum(terms: impl Iterator<Item = f32>) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    for (i, term) in terms.enumerate() {
        lanes[i % LANES] += term;
    }
    let mut half = LANES / 2;
    while half > 0 {
        let (low, high) = lanes.split_at_mut(half);
        for (low, high) in low.iter_mut().zip(high) {
            *low += *high;
        }
        half /= 2;
    }
    lanes[0]
}
