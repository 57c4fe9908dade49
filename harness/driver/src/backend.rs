//! Which device serves this process: a GPU through libcuda.so.1, the emulated one, or none.
//!
//! `STREAMLINGS_DEVICE` chooses: `auto` (the default) takes a GPU where cuInit succeeds and the
//! driver knows the API version, `gpu` insists, `emulated` never looks. The choice is made once, at
//! the first driver call.

use std::env;
use std::ffi::{CStr, c_char, c_void};
use std::path::Path;
use std::sync::OnceLock;

use crate::NoDevice;
use crate::emulated::Emulator;
use crate::sys::*;

/// The lowest driver API that the exercises need: cudarc is built for CUDA 12.0.
pub const API_VERSION: i32 = 12_000;

/// Names the library to open instead of libcuda.so.1; for tests of the forwarding path.
const LIBRARY_VARIABLE: &str = "STREAMLINGS_LIBCUDA";

/// What serves the driver calls of this process.
pub enum Backend {
    /// The system's driver.
    Gpu(Library),
    /// The emulated device.
    Emulated(&'static Emulator),
    /// Neither: every call returns CUDA_ERROR_NO_DEVICE.
    None(NoDevice),
}

/// The system's driver, opened.
pub struct Library {
    // Never closed: the driver's threads outlive any point at which we could.
    library: std::mem::ManuallyDrop<libloading::Library>,
}

impl Library {
    fn open(name: &str) -> Result<Library, libloading::Error> {
        // SAFETY: the driver's initialisers are what any CUDA program runs.
        let library = unsafe { libloading::Library::new(name) }?;
        Ok(Library { library: std::mem::ManuallyDrop::new(library) })
    }

    /// The address of a driver function, or null if this driver lacks it.
    pub fn symbol(&self, name: &CStr) -> *const c_void {
        // SAFETY: only the address is taken; who calls it casts it to the signature that the table
        // has for this name.
        match unsafe { self.library.get::<*const c_void>(name.to_bytes_with_nul()) } {
            Ok(symbol) => *symbol,
            Err(_) => std::ptr::null(),
        }
    }
}

/// The backend, chosen at the first call.
#[inline]
pub fn backend() -> &'static Backend {
    static BACKEND: OnceLock<Backend> = OnceLock::new();
    BACKEND.get_or_init(choose)
}

fn choose() -> Backend {
    let wish = env::var("STREAMLINGS_DEVICE").unwrap_or_else(|_| "auto".to_owned());
    match wish.as_str() {
        "emulated" => emulated(),
        "gpu" => match open_gpu() {
            Ok(library) => Backend::Gpu(library),
            Err(missing) => Backend::None(missing.into_no_device()),
        },
        "auto" | "" => match open_gpu() {
            Ok(library) => Backend::Gpu(library),
            Err(missing) => {
                if let Missing::Broken(no_device) = missing {
                    eprintln!("streamlings: {no_device}; going on with the emulated device");
                }
                emulated()
            }
        },
        other => Backend::None(NoDevice {
            why: format!("STREAMLINGS_DEVICE is `{other}`, which is not a device"),
            remedy: "set it to auto, gpu or emulated".to_owned(),
        }),
    }
}

fn emulated() -> Backend {
    match Emulator::start() {
        Ok(emulator) => Backend::Emulated(emulator),
        Err(error) => Backend::None(NoDevice {
            why: format!("the emulated device could not reserve its memory: {error}"),
            remedy: "raise the limit on address space (ulimit -v) and try again".to_owned(),
        }),
    }
}

/// Why no GPU is used.
enum Missing {
    /// There is none, as on most laptops: nothing to say.
    Absent,
    /// There is one, or something that looks like one, and it cannot be used.
    Broken(NoDevice),
}

impl Missing {
    fn into_no_device(self) -> NoDevice {
        match self {
            Missing::Absent => NoDevice {
                why: "this machine has no NVIDIA GPU that the driver knows of".to_owned(),
                remedy: "use --device emulated, or run on a machine with a GPU".to_owned(),
            },
            Missing::Broken(no_device) => no_device,
        }
    }
}

fn broken(why: impl Into<String>, remedy: &str) -> Missing {
    Missing::Broken(NoDevice { why: why.into(), remedy: remedy.to_owned() })
}

/// Whether a GPU seems to be there, driver library or not.
fn hardware_present() -> bool {
    ["/dev/nvidia0", "/dev/nvidiactl", "/dev/dxg"].iter().any(|node| Path::new(node).exists())
}

fn open_gpu() -> Result<Library, Missing> {
    let chosen = env::var(LIBRARY_VARIABLE).ok();
    let name = chosen.as_deref().unwrap_or("libcuda.so.1");
    let library = match Library::open(name) {
        Ok(library) => library,
        // WSL2 keeps its driver library outside the loader's path.
        Err(_) if Path::new("/usr/lib/wsl/lib/libcuda.so.1").exists() && chosen.is_none() => {
            Library::open("/usr/lib/wsl/lib/libcuda.so.1").map_err(|error| {
                broken(
                    format!("the WSL2 driver library cannot be loaded ({error})"),
                    "update the NVIDIA driver on Windows",
                )
            })?
        }
        Err(error) if hardware_present() || chosen.is_some() => {
            return Err(broken(
                format!("a GPU is there, but {name} cannot be loaded ({error})"),
                "install the NVIDIA driver's user-space library, or add its folder to LD_LIBRARY_PATH",
            ));
        }
        Err(_) => return Err(Missing::Absent),
    };

    let init = library.symbol(c"cuInit");
    if init.is_null() {
        return Err(broken(
            format!("{name} has no cuInit, so it is not the CUDA driver"),
            "look for a stub library in LD_LIBRARY_PATH and remove it from there",
        ));
    }
    // SAFETY: cuInit takes one unsigned int and returns a CUresult.
    let init: unsafe extern "C" fn(u32) -> CUresult = unsafe { std::mem::transmute(init) };
    // SAFETY: flags must be 0.
    let result = unsafe { init(0) };
    if result != CUDA_SUCCESS {
        return Err(init_failed(&library, result));
    }

    let mut version = 0;
    let get_version = library.symbol(c"cuDriverGetVersion");
    if !get_version.is_null() {
        // SAFETY: cuDriverGetVersion takes an int to fill.
        let get_version: unsafe extern "C" fn(*mut i32) -> CUresult =
            unsafe { std::mem::transmute(get_version) };
        // SAFETY: `version` outlives the call.
        unsafe { get_version(&mut version) };
    }
    if version < API_VERSION {
        return Err(broken(
            format!(
                "the NVIDIA driver knows CUDA {}.{}, and the exercises need {}.{}",
                version / 1000,
                version % 1000 / 10,
                API_VERSION / 1000,
                API_VERSION % 1000 / 10
            ),
            "update the NVIDIA driver to 525 or newer",
        ));
    }
    Ok(library)
}

fn init_failed(library: &Library, result: CUresult) -> Missing {
    let remedy = match result {
        CUDA_ERROR_NO_DEVICE if env::var_os("CUDA_VISIBLE_DEVICES").is_some() => {
            "CUDA_VISIBLE_DEVICES hides every GPU: unset it"
        }
        CUDA_ERROR_NO_DEVICE if !hardware_present() => return Missing::Absent,
        CUDA_ERROR_NO_DEVICE => {
            "check that this user may open /dev/nvidia* (in a container: that the GPU was passed in)"
        }
        CUDA_ERROR_OPERATING_SYSTEM => {
            "check that this user may open /dev/nvidia* and that the nvidia_uvm module is loaded"
        }
        CUDA_ERROR_SYSTEM_NOT_READY => "start nvidia-fabricmanager, or wait until it is up",
        CUDA_ERROR_SYSTEM_DRIVER_MISMATCH => {
            "the driver was updated while its kernel module was loaded: restart the machine"
        }
        CUDA_ERROR_UNKNOWN => {
            "load the nvidia_uvm module (`nvidia-modprobe -u`), or restart the machine"
        }
        34 => "LD_LIBRARY_PATH finds the toolkit's stub library: take its `stubs` folder out",
        _ => "run nvidia-smi to see what the driver says",
    };
    broken(format!("a GPU is there, but cuInit returned {}", foreign_name(library, result)), remedy)
}

/// A result's name as the system's driver gives it, which knows more of them than we do.
fn foreign_name(library: &Library, result: CUresult) -> String {
    let get = library.symbol(c"cuGetErrorName");
    if !get.is_null() {
        // SAFETY: cuGetErrorName takes a result and a place for a pointer to a static string.
        let get: unsafe extern "C" fn(CUresult, *mut *const c_char) -> CUresult =
            unsafe { std::mem::transmute(get) };
        let mut text = std::ptr::null();
        // SAFETY: `text` outlives the call.
        if unsafe { get(result, &mut text) } == CUDA_SUCCESS && !text.is_null() {
            // SAFETY: on success it is a NUL-terminated string in the driver's static data.
            return unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
        }
    }
    name(result)
}
