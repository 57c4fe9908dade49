//! Kernels that make something happen rather than compute something: `cuda/control.cu`.

use crate::{Cost, Geometry, Kernel, Param, cost, split};

/// Keeps its stream busy for `ns` nanoseconds.
pub(crate) const SPIN: Kernel = Kernel {
    name: "spin",
    params: &[Param::u64("ns")],
    cost: |args| Cost { fixed_ns: args.u64(0), ..Cost::default() },
    launch: |_| Geometry::linear(1, 1),
    twin: |_, _| {},
};

/// Writes one float to the address given.
pub(crate) const POKE: Kernel = Kernel {
    name: "poke",
    params: &[Param::write("at", |_| 1), Param::f32("value")],
    cost: |_| cost(0, 1),
    launch: |_| Geometry::linear(1, 1),
    twin: |args, buffers| {
        let [at] = split(buffers);
        at.fill(args.f32(1));
    },
};
