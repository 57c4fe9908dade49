//! Matrix products and the transpose, row-major: `cuda/matmul.cu`.

use crate::product::{Matrix, product};
use crate::{Args, Geometry, Kernel, Param, area, cost, split, spread};

/// The edge of the tile of `c` that a block makes, and the threads of a block.
const TILE: u32 = 128;
const THREADS: u32 = 256;

/// `c[m][n] = a[m][k] b[k][n]`
pub(crate) const MATMUL: Kernel = Kernel {
    name: "matmul",
    params: &[
        Param::write("c", |args| area(args.u32(3), args.u32(4))),
        Param::read("a", |args| area(args.u32(3), args.u32(5))),
        Param::read("b", |args| area(args.u32(5), args.u32(4))),
        Param::u32("m"),
        Param::u32("n"),
        Param::u32("k"),
    ],
    cost: |args| {
        let (m, n, k) = (args.u32(3), args.u32(4), args.u32(5));
        let elements = area(m, n).saturating_add(area(m, k)).saturating_add(area(k, n));
        cost(area(m, n).saturating_mul(2 * u64::from(k)), elements)
    },
    launch: |args| {
        let tiles = area(args.u32(3).div_ceil(TILE), args.u32(4).div_ceil(TILE));
        Geometry::linear(tiles.clamp(1, i32::MAX as u64) as u32, THREADS)
    },
    twin: |args, buffers| multiply(args, buffers, false, false),
};

/// `c[m][n] = aᵀ b`, where `a` is `a[k][m]` and `b` is `b[k][n]`
pub(crate) const MATMUL_TN: Kernel = Kernel {
    name: "matmul_tn",
    twin: |args, buffers| multiply(args, buffers, true, false),
    ..MATMUL
};

/// `c[m][n] = a bᵀ`, where `a` is `a[m][k]` and `b` is `b[n][k]`
pub(crate) const MATMUL_NT: Kernel = Kernel {
    name: "matmul_nt",
    twin: |args, buffers| multiply(args, buffers, false, true),
    ..MATMUL
};

/// `out[c][r] = x[r][c]`, for `x[rows][cols]`
pub(crate) const TRANSPOSE: Kernel = Kernel {
    name: "transpose",
    params: &[
        Param::write("out", |args| area(args.u32(2), args.u32(3))),
        Param::read("x", |args| area(args.u32(2), args.u32(3))),
        Param::u32("rows"),
        Param::u32("cols"),
    ],
    cost: |args| cost(0, area(args.u32(2), args.u32(3)).saturating_mul(2)),
    launch: |args| spread(area(args.u32(2), args.u32(3))),
    twin: |args, buffers| {
        let [out, x] = split(buffers);
        let rows = args.u32(2) as usize;
        for (r, row) in x.chunks_exact((args.u32(3) as usize).max(1)).enumerate() {
            for (out, x) in out.iter_mut().skip(r).step_by(rows).zip(row) {
                *out = *x;
            }
        }
    },
};

fn multiply(args: &Args, buffers: &mut [Vec<f32>], transpose_a: bool, transpose_b: bool) {
    let [c, a, b] = split(buffers);
    let [m, n, k] = [3, 4, 5].map(|i| args.u32(i) as usize);
    let a = if transpose_a { Matrix::transposed(a, m, k) } else { Matrix::new(a, m, k) };
    let b = if transpose_b { Matrix::transposed(b, k, n) } else { Matrix::new(b, k, n) };
    product(c, a, b);
}
