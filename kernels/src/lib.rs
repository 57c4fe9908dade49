//! The CUDA kernels of the exercises, each described once.
//!
//! A [`Kernel`] in [`TABLE`] holds what every part of the workspace needs to know about one: its
//! parameters with their roles and extents (for the record), its cost (for the emulated device's
//! clock), how to launch it, and its host twin (for the emulated device's effects). The CUDA C++
//! sources are in `kernels/cuda/`, the PTX made from them is [`PTX`].
//!
//! Matrices are row-major. Every size is an `unsigned int`, and may be 0. A kernel that works
//! element by element (`cuda/elementwise.cu`, `greater`, `where`) may write over an input of the
//! same shape; elsewhere, output and inputs do not overlap.
//!
//! To add a kernel: write it in a `.cu` file, describe it in the module of the same name and in
//! [`TABLE`], and run `cargo xtask ptx`. Tests hold the table against the PTX, and the twins
//! against naive references.

#![deny(unsafe_code)]

mod control;
mod elementwise;
mod matmul;
mod product;
mod reduce;
mod select;

/// What a kernel does with the memory behind a pointer parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Reads all of it.
    Read,
    /// Writes all of it.
    Write,
    /// Reads and writes it.
    Update,
}

/// The type of a parameter, as the launch passes it.
#[derive(Clone, Copy)]
pub enum ParamKind {
    /// A device pointer to `f32` or `u32` elements.
    Pointer {
        /// What is done with the memory.
        role: Role,
        /// How many 4-byte elements from the pointer on, given all arguments.
        elements: fn(&Args) -> u64,
    },
    /// `unsigned int`.
    U32,
    /// `unsigned long long`.
    U64,
    /// `float`.
    F32,
}

impl ParamKind {
    /// The parameter's size in bytes.
    pub fn size(&self) -> usize {
        match self {
            ParamKind::Pointer { .. } | ParamKind::U64 => 8,
            ParamKind::U32 | ParamKind::F32 => 4,
        }
    }
}

/// A parameter of a kernel.
#[derive(Clone, Copy)]
pub struct Param {
    /// Its name in the CUDA source.
    pub name: &'static str,
    /// Its type.
    pub kind: ParamKind,
}

impl Param {
    const fn pointer(name: &'static str, role: Role, elements: fn(&Args) -> u64) -> Self {
        Param { name, kind: ParamKind::Pointer { role, elements } }
    }

    const fn read(name: &'static str, elements: fn(&Args) -> u64) -> Self {
        Self::pointer(name, Role::Read, elements)
    }

    const fn write(name: &'static str, elements: fn(&Args) -> u64) -> Self {
        Self::pointer(name, Role::Write, elements)
    }

    const fn update(name: &'static str, elements: fn(&Args) -> u64) -> Self {
        Self::pointer(name, Role::Update, elements)
    }

    const fn u32(name: &'static str) -> Self {
        Param { name, kind: ParamKind::U32 }
    }

    const fn u64(name: &'static str) -> Self {
        Param { name, kind: ParamKind::U64 }
    }

    const fn f32(name: &'static str) -> Self {
        Param { name, kind: ParamKind::F32 }
    }
}

/// The arguments of one launch: a word per parameter, in order, 4-byte ones in the low half.
///
/// The accessors panic where there is no argument `i`; every argument's value is accepted.
#[derive(Clone, Copy, Debug)]
pub struct Args<'a>(pub &'a [u64]);

impl Args<'_> {
    /// Argument `i` as `unsigned int`.
    pub fn u32(&self, i: usize) -> u32 {
        self.0[i] as u32
    }

    /// Argument `i`, an `unsigned int`, as a number of elements.
    fn n(&self, i: usize) -> u64 {
        u64::from(self.u32(i))
    }

    /// Argument `i` as `unsigned long long` or a device pointer.
    pub fn u64(&self, i: usize) -> u64 {
        self.0[i]
    }

    /// Argument `i` as `float`.
    pub fn f32(&self, i: usize) -> f32 {
        f32::from_bits(self.0[i] as u32)
    }
}

/// What a launch costs, for the emulated device's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Floating-point operations.
    pub flops: f64,
    /// Bytes moved through device memory.
    pub bytes: f64,
    /// Nanoseconds that it takes whatever the device (a spin).
    pub fixed_ns: u64,
}

/// How to launch a kernel: blocks in the grid and threads in a block, along x, y and z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Blocks along each axis, at least 1.
    pub grid: [u32; 3],
    /// Threads of a block along each axis, at least 1.
    pub block: [u32; 3],
}

impl Geometry {
    /// `blocks` blocks of `threads` threads along x.
    const fn linear(blocks: u32, threads: u32) -> Self {
        Geometry { grid: [blocks, 1, 1], block: [threads, 1, 1] }
    }
}

/// Runs a kernel on the host. There is one buffer for each pointer parameter, in order, as long as
/// its extent says: filled with the memory's contents for [`Role::Read`] and [`Role::Update`], of
/// unspecified contents for [`Role::Write`]. What the buffers of the latter two hold afterwards is
/// what the kernel wrote.
///
/// A buffer of `u32` elements holds their bits. Every twin but the matrix products' gives the same
/// bits as the kernel does; those may add in another order.
///
/// No argument's value makes a twin panic; another number of buffers, or a shorter one, does.
pub type Twin = fn(&Args, &mut [Vec<f32>]);

/// One kernel.
#[derive(Clone, Copy)]
pub struct Kernel {
    /// Its name in the CUDA source (`extern "C"`).
    pub name: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// What a launch costs.
    pub cost: fn(&Args) -> Cost,
    /// How to launch it for good speed. Another one-dimensional geometry gives the same result, if
    /// the matrix products get at most 128 threads a block.
    pub launch: fn(&Args) -> Geometry,
    /// Its host twin.
    pub twin: Twin,
}

/// The kernel of that name.
pub fn find(name: &str) -> Option<&'static Kernel> {
    TABLE.iter().find(|kernel| kernel.name == name)
}

/// Every kernel of [`PTX`].
pub static TABLE: &[Kernel] = &[
    control::SPIN,
    control::POKE,
    elementwise::FILL,
    elementwise::COPY,
    elementwise::SCALE,
    elementwise::ADD,
    elementwise::SUB,
    elementwise::MUL,
    elementwise::AXPY,
    elementwise::RELU,
    elementwise::RELU_BACKWARD,
    elementwise::MSE_BACKWARD,
    elementwise::BROADCAST,
    elementwise::BIAS_ADD,
    matmul::MATMUL,
    matmul::MATMUL_TN,
    matmul::MATMUL_NT,
    matmul::TRANSPOSE,
    reduce::SUM,
    reduce::MEAN,
    reduce::MSE,
    reduce::COLUMN_SUM,
    select::GREATER,
    select::WHERE,
    select::GATHER,
    select::NONZERO,
    select::COUNT,
];

/// The PTX of all kernels in [`TABLE`], for every driver since CUDA 11.8 and every GPU of compute
/// capability 5.2 or higher.
pub const PTX: &str = include_str!("../ptx/kernels.ptx");

/// The buffers of a twin, one for each of the kernel's `N` pointer parameters.
fn split<const N: usize>(buffers: &mut [Vec<f32>]) -> &mut [Vec<f32>; N] {
    let given = buffers.len();
    buffers.try_into().unwrap_or_else(|_| panic!("{given} buffers for {N} pointer parameters"))
}

/// `rows` times `cols`, which two `u32` never overflow.
fn area(rows: u32, cols: u32) -> u64 {
    u64::from(rows) * u64::from(cols)
}

/// The cost of a kernel that makes `flops` floating-point operations and moves `elements` 4-byte
/// elements.
fn cost(flops: u64, elements: u64) -> Cost {
    Cost { flops: flops as f64, bytes: 4.0 * elements as f64, fixed_ns: 0 }
}

/// The geometry for one thread per element, up to what fills any GPU; the kernel's grid-stride loop
/// does the rest.
fn spread(elements: u64) -> Geometry {
    const THREADS: u32 = 256;
    const MOST_BLOCKS: u64 = 2048;
    let blocks = elements.div_ceil(u64::from(THREADS)).clamp(1, MOST_BLOCKS);
    Geometry::linear(blocks as u32, THREADS)
}
