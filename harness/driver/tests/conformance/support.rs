//! The bare driver API, with as little around it as the rows need.

use std::ffi::{CString, c_void};
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

pub use cudarc::driver::sys::{self, CUdeviceptr, CUevent, CUfunction, CUresult, CUstream};

/// How long the kernel spins that keeps a stream busy.
pub const SPIN: Duration = Duration::from_millis(80);
pub const KIB: usize = 1 << 10;
pub const MIB: usize = 1 << 20;
pub const OK: CUresult = CUresult::CUDA_SUCCESS;

/// Asserts that a call succeeded.
#[track_caller]
pub fn ok(result: CUresult) {
    assert_eq!(result, OK);
}

/// The out-parameter of a call that succeeded.
#[track_caller]
pub fn out<T>(call: impl FnOnce(*mut T) -> CUresult) -> T {
    let mut value = MaybeUninit::uninit();
    ok(call(value.as_mut_ptr()));
    // SAFETY: the call succeeded, so it filled its out-parameter.
    unsafe { value.assume_init() }
}

/// A context with the kernels loaded.
pub struct Cuda {
    pub spin: CUfunction,
    pub fill: CUfunction,
}

/// Safe enough for rows: every handle is live, every range allocated.
macro_rules! cu {
    ($name:ident($($arg:expr),* $(,)?)) => {{
        // SAFETY: the handles are live and the ranges allocated; what is wrong on purpose is what the
        // driver checks.
        #[allow(clippy::allow_attributes, unused_unsafe)]
        let result = unsafe { $crate::support::sys::$name($($arg),*) };
        result
    }};
}
pub(crate) use cu;

impl Cuda {
    pub fn new() -> Cuda {
        ok(cu!(cuInit(0)));
        let context = out(|context| cu!(cuDevicePrimaryCtxRetain(context, 0)));
        ok(cu!(cuCtxSetCurrent(context)));
        let module = load();
        let cuda = Cuda { spin: function(module, "spin"), fill: function(module, "fill") };
        // The first launch of a kernel may load its code.
        let stream = nb();
        cuda.spin(stream, Duration::ZERO);
        let x = alloc(4);
        cuda.fill(stream, x, 0.0, 1);
        ok(cu!(cuStreamSynchronize(stream)));
        cuda
    }

    /// Keeps a stream busy for that long.
    pub fn spin(&self, stream: CUstream, duration: Duration) {
        let mut nanos = duration.as_nanos() as u64;
        ok(self.launch(self.spin, 1, stream, &mut [(&raw mut nanos).cast()]));
    }

    /// Sets `n` floats at `x`.
    pub fn fill(&self, stream: CUstream, x: CUdeviceptr, value: f32, n: u32) {
        ok(self.try_fill(stream, x, value, n));
    }

    pub fn try_fill(&self, stream: CUstream, mut x: CUdeviceptr, value: f32, n: u32) -> CUresult {
        let (mut value, mut n) = (value, n);
        let mut params = [(&raw mut x).cast(), (&raw mut value).cast(), (&raw mut n).cast()];
        self.launch(self.fill, 8, stream, &mut params)
    }

    pub fn launch(
        &self,
        function: CUfunction,
        blocks: u32,
        stream: CUstream,
        params: &mut [*mut c_void],
    ) -> CUresult {
        let none = std::ptr::null_mut();
        cu!(cuLaunchKernel(function, blocks, 1, 1, 128, 1, 1, 0, stream, params.as_mut_ptr(), none))
    }
}

pub fn load() -> sys::CUmodule {
    let text = CString::new(streamlings_kernels::PTX).expect("PTX has no NUL");
    out(|module| cu!(cuModuleLoadData(module, text.as_ptr().cast())))
}

pub fn function(module: sys::CUmodule, name: &str) -> CUfunction {
    let name = CString::new(name).expect("a kernel's name has no NUL");
    out(|function| cu!(cuModuleGetFunction(function, module, name.as_ptr())))
}

/// A non-blocking stream.
pub fn nb() -> CUstream {
    out(|stream| cu!(cuStreamCreate(stream, 1)))
}

/// A blocking stream.
pub fn blocking() -> CUstream {
    out(|stream| cu!(cuStreamCreate(stream, 0)))
}

/// The legacy default stream.
pub fn null() -> CUstream {
    std::ptr::null_mut()
}

/// An event made for timing.
pub fn event() -> CUevent {
    out(|event| cu!(cuEventCreate(event, 0)))
}

pub fn record(event: CUevent, stream: CUstream) {
    ok(cu!(cuEventRecord(event, stream)));
}

pub fn wait(stream: CUstream, event: CUevent) {
    ok(cu!(cuStreamWaitEvent(stream, event, 0)));
}

pub fn sync(stream: CUstream) {
    ok(cu!(cuStreamSynchronize(stream)));
}

pub fn sync_all() {
    ok(cu!(cuCtxSynchronize()));
}

pub fn elapsed_ms(start: CUevent, end: CUevent) -> f32 {
    out(|ms| cu!(cuEventElapsedTime(ms, start, end)))
}

pub fn alloc(bytes: usize) -> CUdeviceptr {
    out(|address| cu!(cuMemAlloc_v2(address, bytes)))
}

pub fn alloc_async(bytes: usize, stream: CUstream) -> CUdeviceptr {
    out(|address| cu!(cuMemAllocAsync(address, bytes, stream)))
}

pub fn free_async(address: CUdeviceptr, stream: CUstream) {
    ok(cu!(cuMemFreeAsync(address, stream)));
}

/// Page-locked host memory, never freed: rows end with their process.
pub fn pinned(bytes: usize) -> &'static mut [u8] {
    let address: *mut c_void = out(|address| cu!(cuMemHostAlloc(address, bytes, 0)));
    // SAFETY: just allocated for that many bytes and never freed.
    unsafe {
        std::ptr::write_bytes(address.cast::<u8>(), 0, bytes);
        std::slice::from_raw_parts_mut(address.cast(), bytes)
    }
}

pub fn upload(to: CUdeviceptr, from: &[u8], stream: CUstream) {
    ok(cu!(cuMemcpyHtoDAsync_v2(to, from.as_ptr().cast(), from.len(), stream)));
}

pub fn download(to: &mut [u8], from: CUdeviceptr, stream: CUstream) {
    ok(cu!(cuMemcpyDtoHAsync_v2(to.as_mut_ptr().cast(), from, to.len(), stream)));
}

/// How long a call takes.
pub fn time(call: impl FnOnce()) -> Duration {
    let began = Instant::now();
    call();
    began.elapsed()
}

/// Asserts that a call holds the host while a kernel spins on `busy`; then waits for it all.
#[track_caller]
pub fn holds(cuda: &Cuda, busy: CUstream, call: impl FnOnce()) {
    sync_all();
    cuda.spin(busy, SPIN);
    let held = time(call);
    assert!(held >= SPIN / 2, "it returned after {held:?}");
    sync_all();
}

/// Asserts that a call returns while a kernel spins on `busy`; then waits for it all.
#[track_caller]
pub fn returns(cuda: &Cuda, busy: CUstream, call: impl FnOnce()) {
    sync_all();
    cuda.spin(busy, SPIN);
    let held = time(call);
    let pending = cu!(cuStreamQuery(busy));
    assert!(held < SPIN / 4, "it held the host for {held:?}");
    assert_eq!(pending, CUresult::CUDA_ERROR_NOT_READY, "the kernel was not running");
    sync_all();
}
