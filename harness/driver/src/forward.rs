//! Reaching the system's driver: one lazily filled slot for each driver function.
//!
//! A function that is neither recorded nor emulated is a bare jump through its slot, so its
//! signature need not be known here: registers and stack arrive in the real driver as the caller
//! left them.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::api::Function;
use crate::backend::{Backend, backend};
use crate::sys::*;

/// Where each function of the system's driver is; null until it is first called.
pub static SLOTS: [AtomicPtr<c_void>; Function::COUNT] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; Function::COUNT];

/// The address to call for a function on a GPU: the driver's own, or that of a function that returns
/// an error where this driver lacks it.
#[inline]
pub fn address(function: Function) -> *const c_void {
    let known = SLOTS[function as usize].load(Ordering::Acquire);
    if known.is_null() { resolve(function) } else { known }
}

#[cold]
fn resolve(function: Function) -> *const c_void {
    match backend() {
        Backend::Gpu(library) => {
            let found = library.symbol(function.c_name());
            if found.is_null() {
                say_once(function, "this version of the NVIDIA driver does not have it");
                return not_supported as *const c_void;
            }
            SLOTS[function as usize].store(found.cast_mut(), Ordering::Release);
            found
        }
        Backend::Emulated(_) => {
            say_once(function, "the emulated device does not have it");
            not_supported as *const c_void
        }
        Backend::None(_) => no_device as *const c_void,
    }
}

/// One line for each function that is called in vain, however often.
pub fn say_once(function: Function, why: &str) {
    static SAID: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    let new = SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(function as u16);
    if new {
        eprintln!("streamlings: {} returns CUDA_ERROR_NOT_SUPPORTED: {why}", function.name());
    }
}

extern "C" fn not_supported() -> CUresult {
    CUDA_ERROR_NOT_SUPPORTED
}

extern "C" fn no_device() -> CUresult {
    CUDA_ERROR_NO_DEVICE
}

/// [`resolve`] for the bare jumps.
extern "C" fn resolve_index(index: u32) -> *const c_void {
    catch_unwind(|| Function::from_index(index as usize).map(resolve))
        .ok()
        .flatten()
        .unwrap_or(not_supported as *const c_void)
}

/// Finds the function whose index is in `r11d` and jumps to it with every argument as it came.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub unsafe extern "C" fn resolve_and_jump() {
    std::arch::naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "sub rsp, 128",
        "movups [rsp], xmm0",
        "movups [rsp + 16], xmm1",
        "movups [rsp + 32], xmm2",
        "movups [rsp + 48], xmm3",
        "movups [rsp + 64], xmm4",
        "movups [rsp + 80], xmm5",
        "movups [rsp + 96], xmm6",
        "movups [rsp + 112], xmm7",
        "mov edi, r11d",
        "call {resolve}",
        "movups xmm0, [rsp]",
        "movups xmm1, [rsp + 16]",
        "movups xmm2, [rsp + 32]",
        "movups xmm3, [rsp + 48]",
        "movups xmm4, [rsp + 64]",
        "movups xmm5, [rsp + 80]",
        "movups xmm6, [rsp + 96]",
        "movups xmm7, [rsp + 112]",
        "add rsp, 128",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "pop rbp",
        "jmp rax",
        resolve = sym resolve_index,
    )
}

#[cfg(not(target_arch = "x86_64"))]
compile_error!(
    "streamlings-driver forwards driver calls in x86-64 assembly; other processors are not supported yet"
);
