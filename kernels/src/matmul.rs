//! Matrix products and the transpose, row-major: `cuda/matmul.cu`.

use crate::product::{Matrix, product};
use crate::{Args, Geometry, Kernel, Param, area, cost, split, spread};

/// Threads of a block, the rows and columns of a block's large and small tiles of `c`, and from how
/// many large tiles on the kernels use them, as in the CUDA source.
const THREADS: u32 = 128;
const LARGE: (u32, u32) = (128, 128);
const SMALL: (u32, u32) = (64, 64);
const MANY: u64 = 64;

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
        let (m, n, k) = (args.u32(3), args.u32(4), args.u32(5));
        let tiles = |(rows, cols)| area(m.div_ceil(rows), n.div_ceil(cols));
        let aligned = m % 4 == 0 && n % 4 == 0 && k % 8 == 0 && k > 0;
        let large = aligned && tiles(LARGE) >= MANY;
        let blocks = tiles(if large { LARGE } else { SMALL });
        Geometry::linear(blocks.clamp(1, i32::MAX as u64) as u32, THREADS)
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
        let [rows, cols] = [2, 3].map(|i| args.u32(i) as usize);
        for (c, column) in out.chunks_exact_mut(rows.max(1)).enumerate() {
            for (out, x) in column.iter_mut().zip(x.iter().skip(c).step_by(cols)) {
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
