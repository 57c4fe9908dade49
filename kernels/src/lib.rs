//! The CUDA kernels of the exercises, each described once.
//!
//! A [`Kernel`] in [`TABLE`] holds what every part of the workspace needs to know about one: its
//! parameters with their roles and extents (for the record), its cost (for the emulated device's
//! clock), and its host twin (for the emulated device's effects). The CUDA C++ sources are in
//! `kernels/cuda/`, the PTX made from them is [`PTX`].

#![forbid(unsafe_code)]

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

/// The arguments of one launch: a word per parameter, in order, 4-byte ones in the low half.
#[derive(Clone, Copy, Debug)]
pub struct Args<'a>(pub &'a [u64]);

impl Args<'_> {
    /// Argument `i` as `unsigned int`.
    pub fn u32(&self, i: usize) -> u32 {
        self.0[i] as u32
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

/// Runs a kernel on the host. There is one buffer for each pointer parameter, in order, as long as
/// its extent says: filled with the memory's contents for [`Role::Read`] and [`Role::Update`], of
/// unspecified contents for [`Role::Write`]. What the buffers of the latter two hold afterwards is
/// what the kernel wrote.
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
    /// Its host twin.
    pub twin: Twin,
}

/// The kernel of that name.
pub fn find(name: &str) -> Option<&'static Kernel> {
    TABLE.iter().find(|kernel| kernel.name == name)
}

/// Every kernel of [`PTX`].
pub static TABLE: &[Kernel] = &[];

/// The PTX of all kernels in [`TABLE`], for every driver since CUDA 11.8 and every GPU since Maxwell.
pub const PTX: &str = "";
