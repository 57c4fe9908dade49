//! The few types and constants of the driver API that this crate needs, as `cuda.h` defines them.
//!
//! Handles are opaque words here; nothing outside the driver that gave one out may look behind it.

/// What every driver function returns.
pub type CUresult = u32;
/// CUcontext, CUstream, CUevent, CUmodule, CUfunction, CUmemoryPool.
pub type Handle = usize;
/// CUdevice.
pub type Device = i32;
/// CUdeviceptr.
pub type DevicePtr = u64;
/// CUhostFn.
pub type HostFn = Option<unsafe extern "C" fn(*mut std::ffi::c_void)>;
/// CUstreamCallback.
pub type StreamCallback = Option<unsafe extern "C" fn(Handle, CUresult, *mut std::ffi::c_void)>;

/// CU_STREAM_NON_BLOCKING.
pub const STREAM_NON_BLOCKING: u32 = 1;
/// CU_STREAM_LEGACY: the legacy default stream by name; handle 0 means the same.
pub const STREAM_LEGACY: Handle = 1;
/// CU_STREAM_PER_THREAD.
pub const STREAM_PER_THREAD: Handle = 2;
/// CU_EVENT_DISABLE_TIMING.
pub const EVENT_DISABLE_TIMING: u32 = 2;

macro_rules! results {
    ($($name:ident = $code:literal, $text:literal;)*) => {
        $(#[doc = $text] pub const $name: CUresult = $code;)*

        /// The name and the meaning of a result, NUL-terminated; `None` for one that we never return.
        pub fn describe(result: CUresult) -> Option<(&'static std::ffi::CStr, &'static std::ffi::CStr)> {
            match result {
                $($code => Some((cstr(concat!(stringify!($name), "\0")), cstr(concat!($text, "\0")))),)*
                _ => None,
            }
        }
    };
}

fn cstr(text: &'static str) -> &'static std::ffi::CStr {
    std::ffi::CStr::from_bytes_with_nul(text.as_bytes()).unwrap_or_default()
}

/// The name of a result for messages.
pub fn name(result: CUresult) -> String {
    match describe(result) {
        Some((name, _)) => name.to_string_lossy().into_owned(),
        None => format!("CUDA error {result}"),
    }
}

results! {
    CUDA_SUCCESS = 0, "no error";
    CUDA_ERROR_INVALID_VALUE = 1, "invalid argument";
    CUDA_ERROR_OUT_OF_MEMORY = 2, "out of memory";
    CUDA_ERROR_NO_DEVICE = 100, "no CUDA-capable device was found";
    CUDA_ERROR_INVALID_DEVICE = 101, "no device of that number";
    CUDA_ERROR_INVALID_CONTEXT = 201, "no context is current, or the handle is not one";
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209, "the module holds no code for this device";
    CUDA_ERROR_UNSUPPORTED_LIMIT = 215, "the device has no such limit";
    CUDA_ERROR_INVALID_PTX = 218, "the PTX cannot be compiled";
    CUDA_ERROR_FILE_NOT_FOUND = 301, "file not found";
    CUDA_ERROR_OPERATING_SYSTEM = 304, "a call to the operating system failed";
    CUDA_ERROR_INVALID_HANDLE = 400, "the handle does not name a live object";
    CUDA_ERROR_NOT_FOUND = 500, "no symbol of that name";
    CUDA_ERROR_NOT_READY = 600, "the work has not been completed yet";
    CUDA_ERROR_ILLEGAL_ADDRESS = 700, "a kernel accessed memory that is not allocated";
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712, "part of the memory is page-locked already";
    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713, "the memory is not page-locked";
    CUDA_ERROR_MISALIGNED_ADDRESS = 716, "a kernel accessed an address that its type does not allow";
    CUDA_ERROR_LAUNCH_FAILED = 719, "a kernel failed";
    CUDA_ERROR_NOT_SUPPORTED = 801, "the operation is not supported";
    CUDA_ERROR_SYSTEM_NOT_READY = 802, "the system is not ready";
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803, "the library and the kernel module are of different versions";
    CUDA_ERROR_UNKNOWN = 999, "unknown error";
}
