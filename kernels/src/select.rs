//! Kernels that compare and choose: `cuda/select.cu`. A mask holds a float per element, 0 where
//! false; an index buffer holds the bits of `u32`.

use crate::{Geometry, Kernel, Param, cost, split, spread};

/// Threads of the kernels that work in one block.
const ONE_BLOCK: Geometry = Geometry::linear(1, 1024);

/// `mask[i] = 1` where `x[i] > threshold`, else 0
pub(crate) const GREATER: Kernel = Kernel {
    name: "greater",
    params: &[
        Param::write("mask", |args| args.n(3)),
        Param::read("x", |args| args.n(3)),
        Param::f32("threshold"),
        Param::u32("n"),
    ],
    cost: |args| cost(args.n(3), 2 * args.n(3)),
    launch: |args| spread(args.n(3)),
    twin: |args, buffers| {
        let [mask, x] = split(buffers);
        let threshold = args.f32(2);
        for (mask, &x) in mask.iter_mut().zip(&*x) {
            *mask = if x > threshold { 1.0 } else { 0.0 };
        }
    },
};

/// `out[i] = a[i]` where `mask[i]` is true, else `b[i]`
pub(crate) const WHERE: Kernel = Kernel {
    name: "where",
    params: &[
        Param::write("out", |args| args.n(4)),
        Param::read("mask", |args| args.n(4)),
        Param::read("a", |args| args.n(4)),
        Param::read("b", |args| args.n(4)),
        Param::u32("n"),
    ],
    cost: |args| cost(0, 4 * args.n(4)),
    launch: |args| spread(args.n(4)),
    twin: |_, buffers| {
        let [out, mask, a, b] = split(buffers);
        for (((out, &mask), &a), &b) in out.iter_mut().zip(&*mask).zip(&*a).zip(&*b) {
            *out = if mask != 0.0 { a } else { b };
        }
    },
};

/// `out[i] = x[index[i]]`, or 0 where `index[i]` is no element of `x[len]`
pub(crate) const GATHER: Kernel = Kernel {
    name: "gather",
    params: &[
        Param::write("out", |args| args.n(3)),
        Param::read("x", |args| args.n(4)),
        Param::read("index", |args| args.n(3)),
        Param::u32("n"),
        Param::u32("len"),
    ],
    cost: |args| cost(0, 3 * args.n(3)),
    launch: |args| spread(args.n(3)),
    twin: |_, buffers| {
        let [out, x, index] = split(buffers);
        for (out, index) in out.iter_mut().zip(&*index) {
            *out = x.get(index.to_bits() as usize).copied().unwrap_or(0.0);
        }
    },
};

/// `index[.. count[0]]` = the places where the mask is true, ascending; the rest of `index[n]` is
/// `n`
pub(crate) const NONZERO: Kernel = Kernel {
    name: "nonzero",
    params: &[
        Param::write("index", |args| args.n(3)),
        Param::write("count", |_| 1),
        Param::read("mask", |args| args.n(3)),
        Param::u32("n"),
    ],
    cost: |args| cost(0, 2 * args.n(3) + 1),
    launch: |_| ONE_BLOCK,
    twin: |args, buffers| {
        let [index, count, mask] = split(buffers);
        index.fill(f32::from_bits(args.u32(3)));
        let mut found = 0;
        for (i, _) in (0_u32..).zip(&*mask).filter(|(_, mask)| **mask != 0.0) {
            index[found] = f32::from_bits(i);
            found += 1;
        }
        count.fill(f32::from_bits(found as u32));
    },
};

/// `count[0]` = how many elements of the mask are true
pub(crate) const COUNT: Kernel = Kernel {
    name: "count",
    params: &[Param::write("count", |_| 1), Param::read("mask", |args| args.n(2)), Param::u32("n")],
    cost: |args| cost(0, args.n(2) + 1),
    launch: |_| ONE_BLOCK,
    twin: |_, buffers| {
        let [count, mask] = split(buffers);
        let found = mask.iter().filter(|mask| **mask != 0.0).count();
        count.fill(f32::from_bits(found as u32));
    },
};
