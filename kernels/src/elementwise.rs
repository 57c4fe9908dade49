//! Kernels that make each element of their output from the same element of their inputs:
//! `cuda/elementwise.cu`.

use crate::{Args, Kernel, Param, area, cost, split, spread};

/// `out[i] = value`
pub(crate) const FILL: Kernel = Kernel {
    name: "fill",
    params: &[Param::write("out", |args| args.n(2)), Param::f32("value"), Param::u32("n")],
    cost: |args| cost(0, args.n(2)),
    launch: |args| spread(args.n(2)),
    twin: |args, buffers| {
        let [out] = split(buffers);
        out.fill(args.f32(1));
    },
};

/// `out[i] = x[i]`
pub(crate) const COPY: Kernel = Kernel {
    name: "copy",
    params: &[
        Param::write("out", |args| args.n(2)),
        Param::read("x", |args| args.n(2)),
        Param::u32("n"),
    ],
    cost: |args| cost(0, 2 * args.n(2)),
    launch: |args| spread(args.n(2)),
    twin: |_, buffers| unary(buffers, |x| x),
};

/// `out[i] = x[i] * factor`
pub(crate) const SCALE: Kernel = Kernel {
    name: "scale",
    params: &[
        Param::write("out", |args| args.n(3)),
        Param::read("x", |args| args.n(3)),
        Param::f32("factor"),
        Param::u32("n"),
    ],
    cost: |args| cost(args.n(3), 2 * args.n(3)),
    launch: |args| spread(args.n(3)),
    twin: |args, buffers| {
        let factor = args.f32(2);
        unary(buffers, |x| x * factor);
    },
};

/// `out[i] = a[i] + b[i]`
pub(crate) const ADD: Kernel =
    Kernel { name: "add", twin: |_, buffers| binary(buffers, |a, b| a + b), ..BINARY };

/// `out[i] = a[i] - b[i]`
pub(crate) const SUB: Kernel =
    Kernel { name: "sub", twin: |_, buffers| binary(buffers, |a, b| a - b), ..BINARY };

/// `out[i] = a[i] * b[i]`
pub(crate) const MUL: Kernel =
    Kernel { name: "mul", twin: |_, buffers| binary(buffers, |a, b| a * b), ..BINARY };

/// What kernels of two inputs have in common.
const BINARY: Kernel = Kernel {
    name: "",
    params: &[
        Param::write("out", |args| args.n(3)),
        Param::read("a", |args| args.n(3)),
        Param::read("b", |args| args.n(3)),
        Param::u32("n"),
    ],
    cost: |args| cost(args.n(3), 3 * args.n(3)),
    launch: |args| spread(args.n(3)),
    twin: |_, _| {},
};

/// `y[i] += a * x[i]`
pub(crate) const AXPY: Kernel = Kernel {
    name: "axpy",
    params: &[
        Param::update("y", |args| args.n(3)),
        Param::read("x", |args| args.n(3)),
        Param::f32("a"),
        Param::u32("n"),
    ],
    cost: |args| cost(2 * args.n(3), 3 * args.n(3)),
    launch: |args| spread(args.n(3)),
    twin: |args, buffers| {
        let a = args.f32(2);
        unary_update(buffers, |y, x| y + a * x);
    },
};

/// `out[i] = max(x[i], 0)`; NaN stays NaN.
pub(crate) const RELU: Kernel = Kernel {
    name: "relu",
    twin: |_, buffers| unary(buffers, |x| if x < 0.0 { 0.0 } else { x }),
    ..COPY
};

/// `grad_x[i] = grad_out[i]` where `x[i] > 0`, else 0
pub(crate) const RELU_BACKWARD: Kernel = Kernel {
    name: "relu_backward",
    params: &[
        Param::write("grad_x", |args| args.n(3)),
        Param::read("grad_out", |args| args.n(3)),
        Param::read("x", |args| args.n(3)),
        Param::u32("n"),
    ],
    twin: |_, buffers| binary(buffers, |grad_out, x| if x > 0.0 { grad_out } else { 0.0 }),
    ..BINARY
};

/// `grad_y[i] = (y[i] - target[i]) * (upstream[0] * (2 / n))`
pub(crate) const MSE_BACKWARD: Kernel = Kernel {
    name: "mse_backward",
    params: &[
        Param::write("grad_y", |args| args.n(4)),
        Param::read("y", |args| args.n(4)),
        Param::read("target", |args| args.n(4)),
        Param::read("upstream", |_| 1),
        Param::u32("n"),
    ],
    cost: |args| cost(2 * args.n(4), 3 * args.n(4) + 1),
    launch: |args| spread(args.n(4)),
    twin: |args, buffers| {
        let [grad_y, y, target, upstream] = split(buffers);
        let factor = upstream[0] * (2.0 / args.u32(4) as f32);
        for ((grad, y), target) in grad_y.iter_mut().zip(&*y).zip(&*target) {
            *grad = (y - target) * factor;
        }
    },
};

/// `out[i] = x[0] * factor`
pub(crate) const BROADCAST: Kernel = Kernel {
    name: "broadcast",
    params: &[
        Param::write("out", |args| args.n(3)),
        Param::read("x", |_| 1),
        Param::f32("factor"),
        Param::u32("n"),
    ],
    cost: |args| cost(0, args.n(3) + 1),
    launch: |args| spread(args.n(3)),
    twin: |args, buffers| {
        let [out, x] = split(buffers);
        out.fill(x[0] * args.f32(2));
    },
};

/// `out[r][c] = x[r][c] + bias[c]`
pub(crate) const BIAS_ADD: Kernel = Kernel {
    name: "bias_add",
    params: &[
        Param::write("out", elements_of_bias_add),
        Param::read("x", elements_of_bias_add),
        Param::read("bias", |args| args.n(4)),
        Param::u32("rows"),
        Param::u32("cols"),
    ],
    cost: |args| {
        let n = elements_of_bias_add(args);
        cost(n, n.saturating_mul(2).saturating_add(args.n(4)))
    },
    launch: |args| spread(elements_of_bias_add(args)),
    twin: |args, buffers| {
        let [out, x, bias] = split(buffers);
        let cols = (args.u32(4) as usize).max(1);
        for (out, x) in out.chunks_exact_mut(cols).zip(x.chunks_exact(cols)) {
            for ((out, x), bias) in out.iter_mut().zip(x).zip(&*bias) {
                *out = x + bias;
            }
        }
    },
};

fn elements_of_bias_add(args: &Args) -> u64 {
    area(args.u32(3), args.u32(4))
}

fn unary(buffers: &mut [Vec<f32>], f: impl Fn(f32) -> f32) {
    let [out, x] = split(buffers);
    for (out, &x) in out.iter_mut().zip(&*x) {
        *out = f(x);
    }
}

fn unary_update(buffers: &mut [Vec<f32>], f: impl Fn(f32, f32) -> f32) {
    let [y, x] = split(buffers);
    for (y, &x) in y.iter_mut().zip(&*x) {
        *y = f(*y, x);
    }
}

fn binary(buffers: &mut [Vec<f32>], f: impl Fn(f32, f32) -> f32) {
    let [out, a, b] = split(buffers);
    for ((out, &a), &b) in out.iter_mut().zip(&*a).zip(&*b) {
        *out = f(a, b);
    }
}
