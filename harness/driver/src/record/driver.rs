//! Calls of our own into the system's driver, past the record.

use std::ffi::{c_char, c_void};

use crate::api::Function;
use crate::forward;
use crate::sys::*;

macro_rules! real {
    ($(#[$doc:meta])* $name:ident, $function:ident($($arg:ident: $ty:ty),*)) => {
        $(#[$doc])*
        pub fn $name($($arg: $ty),*) -> CUresult {
            // SAFETY: the slot holds the system driver's function, whose signature this is; handles are
            // live, places are ours, texts have their terminators.
            unsafe {
                let real: unsafe extern "C" fn($($ty),*) -> CUresult =
                    std::mem::transmute(forward::address(Function::$function));
                real($($arg),*)
            }
        }
    };
}

real!(create, cuEventCreate(event: &mut Handle, flags: u32));
real!(record, cuEventRecord(event: Handle, stream: Handle));
real!(synchronize, cuEventSynchronize(event: Handle));
real!(elapsed, cuEventElapsedTime(ms: &mut f32, start: Handle, end: Handle));
real!(is_capturing, cuStreamIsCapturing(stream: Handle, status: &mut i32));
real!(current, cuCtxGetCurrent(context: &mut Handle));
real!(
    /// `image` is PTX text with its terminator.
    load,
    cuModuleLoadData(module: &mut Handle, image: *const c_char)
);
real!(function, cuModuleGetFunction(function: &mut Handle, module: Handle, name: *const c_char));

/// Launches a kernel of one thread that takes one 64-bit integer.
pub fn launch(function: Handle, stream: Handle, mut argument: u64) -> CUresult {
    type Launch = unsafe extern "C" fn(
        Handle,
        u32,
        u32,
        u32,
        u32,
        u32,
        u32,
        u32,
        Handle,
        *mut *mut c_void,
        *mut *mut c_void,
    ) -> CUresult;
    let mut params = [(&raw mut argument).cast::<c_void>()];
    // SAFETY: as above; the driver copies the argument before it returns.
    unsafe {
        let real: Launch = std::mem::transmute(forward::address(Function::cuLaunchKernel));
        real(function, 1, 1, 1, 1, 1, 1, 0, stream, params.as_mut_ptr(), std::ptr::null_mut())
    }
}
