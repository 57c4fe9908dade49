//! Stamps the table of driver calls (`api.rs`) into the exported functions.

use std::ffi::{c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::api::Function;
use crate::backend::{Backend, backend};
use crate::emulated::Status;
use crate::forward;
use crate::sys::*;

/// Runs emulated code for a C caller: a panic becomes CUDA_ERROR_UNKNOWN and a line on stderr.
pub fn guard(function: Function, emulated: impl FnOnce() -> Status) -> CUresult {
    match catch_unwind(AssertUnwindSafe(emulated)) {
        Ok(Ok(())) => CUDA_SUCCESS,
        Ok(Err(code)) => {
            if code == CUDA_ERROR_NOT_SUPPORTED {
                forward::say_once(function, "the emulated device does not have it");
            }
            code
        }
        Err(_) => {
            eprintln!(
                "streamlings: internal error of the emulated device in {}; please report it",
                function.name()
            );
            CUDA_ERROR_UNKNOWN
        }
    }
}

/// A recorded argument as a word.
pub trait ToWord: Copy {
    /// Its bits, zero-extended.
    fn to_word(self) -> u64;
}

macro_rules! to_word {
    ($($ty:ty),*) => { $(impl ToWord for $ty {
        fn to_word(self) -> u64 { self as u64 }
    })* };
}
to_word!(u8, u16, u32, u64, usize, i32);

impl ToWord for f32 {
    fn to_word(self) -> u64 {
        u64::from(self.to_bits())
    }
}

impl<T> ToWord for *mut T {
    fn to_word(self) -> u64 {
        self as usize as u64
    }
}

impl<T> ToWord for *const T {
    fn to_word(self) -> u64 {
        self as usize as u64
    }
}

/// What an out-parameter holds after the call; 0 where the call failed or nothing was asked for.
///
/// # Safety
/// After a successful call, `pointer` is null or what that call filled.
pub unsafe fn filled<T: ToWord>(pointer: *mut T, result: CUresult) -> u64 {
    if result != CUDA_SUCCESS || pointer.is_null() {
        return 0;
    }
    // SAFETY: the caller's promise; `read_unaligned` because C callers may pack structures.
    unsafe { pointer.read_unaligned() }.to_word()
}

macro_rules! driver_api {
    (
        typed { $([$($record:tt)*] $name:ident($($arg:ident: $ty:ty),*) => $module:ident::$emulate:ident;)* }
        own { $($own:ident),* }
        bare { $($bare:ident),* }
    ) => {
        /// A function of the driver API.
        #[expect(non_camel_case_types, reason = "named as in cuda.h")]
        #[expect(missing_docs, reason = "documented by NVIDIA")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum Function { $($name,)* $($own,)* $($bare,)* }

        impl Function {
            /// Every function, in the order of their indices.
            pub const ALL: &[Function] =
                &[$(Function::$name,)* $(Function::$own,)* $(Function::$bare,)*];
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();
            /// How many of them the emulated device has.
            pub const EMULATED: usize = [$(stringify!($name),)* $(stringify!($own),)*].len();

            /// The function of that index.
            pub fn from_index(index: usize) -> Option<Function> {
                Self::ALL.get(index).copied()
            }

            /// Its name, as linked.
            pub fn name(self) -> &'static str {
                match self {
                    $(Function::$name => stringify!($name),)*
                    $(Function::$own => stringify!($own),)*
                    $(Function::$bare => stringify!($bare),)*
                }
            }

            /// The same for the C side.
            pub fn c_name(self) -> &'static CStr {
                let name: &'static str = match self {
                    $(Function::$name => concat!(stringify!($name), "\0"),)*
                    $(Function::$own => concat!(stringify!($own), "\0"),)*
                    $(Function::$bare => concat!(stringify!($bare), "\0"),)*
                };
                CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or_default()
            }

            /// Whether to wait is all that it is for.
            pub const fn synchronizes(self) -> bool {
                matches!(
                    self,
                    Function::cuStreamSynchronize
                        | Function::cuEventSynchronize
                        | Function::cuCtxSynchronize
                )
            }

            /// The address of our own export.
            pub fn export(self) -> *const c_void {
                match self {
                    $(Function::$name => $name as *const c_void,)*
                    $(Function::$own => crate::exports::$own as *const c_void,)*
                    $(Function::$bare => $bare as *const c_void,)*
                }
            }
        }

        $(crate::exports::typed_function! {
            [$($record)*] $name($($arg: $ty),*) => $module::$emulate
        })*

        $(crate::exports::bare_function! { $bare })*
    };
}
pub(crate) use driver_api;

macro_rules! typed_function {
    // Not recorded: straight to the device.
    ([] $name:ident($($arg:ident: $ty:ty),*) => $module:ident::$emulate:ident) => {
        #[doc = concat!("`", stringify!($name), "`, not recorded.")]
        ///
        /// # Safety
        /// As NVIDIA's documentation of the function says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> CUresult {
            crate::exports::call_device!($name($($arg: $ty),*) => $module::$emulate)
        }
    };
    // An operation that takes time on a stream: recorded, and timed where a recording asks for it.
    ([on $stream:ident; $($record:tt)*] $name:ident($($arg:ident: $ty:ty),*) => $module:ident::$emulate:ident) => {
        #[doc = concat!("`", stringify!($name), "`, recorded and timed.")]
        ///
        /// # Safety
        /// As NVIDIA's documentation of the function says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> CUresult {
            let before = crate::record::before($stream);
            let entry = crate::record::enter();
            let result =
                crate::exports::call_device!($name($($arg: $ty),*) => $module::$emulate);
            crate::record::hold();
            let left = crate::record::leave(entry);
            crate::record::timestamps::after(before, $stream, left);
            let frame = crate::record::stack::frame_pointer();
            crate::record::write(left, Function::$name, result, frame, |words| {
                crate::exports::words!(words, result, [$($record)*], $($arg),*);
            });
            result
        }
    };
    ([$($record:tt)*] $name:ident($($arg:ident: $ty:ty),*) => $module:ident::$emulate:ident) => {
        #[doc = concat!("`", stringify!($name), "`, recorded.")]
        ///
        /// # Safety
        /// As NVIDIA's documentation of the function says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> CUresult {
            let entry = crate::record::enter();
            let result =
                crate::exports::call_device!($name($($arg: $ty),*) => $module::$emulate);
            if const { Function::$name.synchronizes() } {
                crate::record::hold();
            }
            let left = crate::record::leave(entry);
            let frame = crate::record::stack::frame_pointer();
            crate::record::write(left, Function::$name, result, frame, |words| {
                crate::exports::words!(words, result, [$($record)*], $($arg),*);
            });
            result
        }
    };
}
pub(crate) use typed_function;

macro_rules! call_device {
    ($name:ident($($arg:ident: $ty:ty),*) => $module:ident::$emulate:ident) => {
        match crate::backend::backend() {
            crate::backend::Backend::Gpu(_) => {
                let address = crate::forward::address(Function::$name);
                // SAFETY: the slot holds the system driver's function of this name, whose signature
                // the table gives; the arguments are the caller's, under the contract of this very
                // function.
                unsafe {
                    let function: unsafe extern "C" fn($($ty),*) -> CUresult =
                        std::mem::transmute(address);
                    function($($arg),*)
                }
            }
            crate::backend::Backend::Emulated(device) => {
                // A function of its own: a closure here would keep the arguments in memory on the way to
                // a GPU, too.
                #[inline(never)]
                fn emulate(
                    device: &'static crate::emulated::Emulator,
                    $($arg: <$ty as crate::emulated::Argument>::Emulated),*
                ) -> CUresult {
                    crate::exports::guard(Function::$name, move || {
                        crate::emulated::$module::$emulate(device, $($arg),*)
                    })
                }
                // SAFETY: as above: pointers are what the function's contract says.
                emulate(device, $(unsafe { crate::emulated::Argument::emulated($arg) }),*)
            }
            crate::backend::Backend::None(_) => CUDA_ERROR_NO_DEVICE,
        }
    };
}
pub(crate) use call_device;

macro_rules! words {
    ($words:ident, $result:ident, [fields: $($kind:ident $field:ident),*], $($arg:ident),*) => {{
        let _ = &$words;
        $($words.put(crate::exports::word!($result, $kind $field));)*
    }};
    ($words:ident, $result:ident, [words: $module:ident::$path:ident], $($arg:ident),*) => {
        // SAFETY: the arguments are the caller's, and the call has returned.
        unsafe { crate::$module::$path($words, $result, $($arg),*) }
    };
}
pub(crate) use words;

macro_rules! word {
    ($result:ident, val $field:ident) => {
        crate::exports::ToWord::to_word($field)
    };
    ($result:ident, out $field:ident) => {
        // SAFETY: the call has returned `result`, and `field` is its out-parameter.
        unsafe { crate::exports::filled($field, $result) }
    };
}
pub(crate) use word;

macro_rules! bare_function {
    ($name:ident) => {
        #[doc = concat!("`", stringify!($name), "`: a bare jump into the system's driver.")]
        ///
        /// # Safety
        /// As NVIDIA's documentation of the function says.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() -> CUresult {
            std::arch::naked_asm!(
                "mov rax, qword ptr [rip + {slots} + {offset}]",
                "test rax, rax",
                "je 2f",
                "jmp rax",
                "2:",
                "mov r11d, {index}",
                "jmp {resolve}",
                slots = sym crate::forward::SLOTS,
                offset = const Function::$name as usize * 8,
                index = const Function::$name as usize,
                resolve = sym crate::forward::resolve_and_jump,
            )
        }
    };
}
pub(crate) use bare_function;

/// `cuGetErrorName`: from the system's driver where there is one, else from our own table.
///
/// # Safety
/// `text` is null or a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(error: CUresult, text: *mut *const c_char) -> CUresult {
    // SAFETY: the caller's promise.
    unsafe { error_text(Function::cuGetErrorName, error, text, |(name, _)| name) }
}

/// `cuGetErrorString`: likewise.
///
/// # Safety
/// `text` is null or a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(error: CUresult, text: *mut *const c_char) -> CUresult {
    // SAFETY: the caller's promise.
    unsafe { error_text(Function::cuGetErrorString, error, text, |(_, meaning)| meaning) }
}

type ErrorTexts = (&'static std::ffi::CStr, &'static std::ffi::CStr);

/// # Safety
/// `text` is null or a place for a pointer.
unsafe fn error_text(
    function: Function,
    error: CUresult,
    text: *mut *const c_char,
    pick: fn(ErrorTexts) -> &'static std::ffi::CStr,
) -> CUresult {
    if let Backend::Gpu(_) = backend() {
        // SAFETY: both functions have this signature in cuda.h.
        let real: unsafe extern "C" fn(CUresult, *mut *const c_char) -> CUresult =
            unsafe { std::mem::transmute(forward::address(function)) };
        // SAFETY: the arguments are the caller's.
        return unsafe { real(error, text) };
    }
    if text.is_null() {
        return CUDA_ERROR_INVALID_VALUE;
    }
    let found = describe(error).map(pick);
    // SAFETY: not null, so a place for a pointer; the text is static.
    unsafe { *text = found.map_or(std::ptr::null(), |text| text.as_ptr()) };
    if found.is_some() { CUDA_SUCCESS } else { CUDA_ERROR_INVALID_VALUE }
}

/// `cuGetProcAddress` (CUDA 11): see [`cuGetProcAddress_v2`].
///
/// # Safety
/// `symbol` is a C string, `function` a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetProcAddress(
    symbol: *const c_char,
    function: *mut *mut c_void,
    version: c_int,
    flags: u64,
) -> CUresult {
    // SAFETY: the caller's promise.
    unsafe { cuGetProcAddress_v2(symbol, function, version, flags, std::ptr::null_mut()) }
}

/// `cuGetProcAddress`: hands out our own exports, so that what is reached through them is seen too.
/// A name without a version (`cuMemAlloc`) gets the newest that the table has.
///
/// # Safety
/// `symbol` is a C string, `function` a place for a pointer, `status` null or a place for an int.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetProcAddress_v2(
    symbol: *const c_char,
    function: *mut *mut c_void,
    _version: c_int,
    _flags: u64,
    status: *mut c_int,
) -> CUresult {
    if symbol.is_null() || function.is_null() {
        return CUDA_ERROR_INVALID_VALUE;
    }
    // SAFETY: the caller's promise.
    let wanted = unsafe { std::ffi::CStr::from_ptr(symbol) }.to_string_lossy();
    let found = ["_v4", "_v3", "_v2", ""].iter().find_map(|suffix| {
        let name = format!("{wanted}{suffix}");
        Function::ALL.iter().find(|function| function.name() == name)
    });
    // SAFETY: the caller's promise.
    unsafe {
        *function = found.map_or(std::ptr::null_mut(), |found| found.export().cast_mut());
        if !status.is_null() {
            // CU_GET_PROC_ADDRESS_SUCCESS and _SYMBOL_NOT_FOUND.
            *status = if found.is_some() { 0 } else { 1 };
        }
    }
    if found.is_some() { CUDA_SUCCESS } else { CUDA_ERROR_NOT_FOUND }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_code() {
        assert_eq!(guard(Function::cuInit, || panic!("within the emulation")), CUDA_ERROR_UNKNOWN);
        assert_eq!(guard(Function::cuInit, || Err(CUDA_ERROR_NOT_FOUND)), CUDA_ERROR_NOT_FOUND);
        assert_eq!(guard(Function::cuInit, || Ok(())), CUDA_SUCCESS);
    }

    #[test]
    fn get_proc_address_hands_out_our_own_exports() {
        let mut function = std::ptr::null_mut();
        // SAFETY: a C string and a place for a pointer.
        let result = unsafe {
            cuGetProcAddress_v2(
                c"cuMemAlloc".as_ptr(),
                &mut function,
                12_000,
                0,
                std::ptr::null_mut(),
            )
        };
        assert_eq!(result, CUDA_SUCCESS);
        assert_eq!(function.cast_const(), Function::cuMemAlloc_v2.export());
        // SAFETY: as above.
        let result = unsafe { cuGetProcAddress(c"cuNoSuch".as_ptr(), &mut function, 12_000, 0) };
        assert_eq!(result, CUDA_ERROR_NOT_FOUND);
        assert!(function.is_null());
    }
}
