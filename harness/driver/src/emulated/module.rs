//! Modules, functions and launches. Kernels run as their host twins; one that has none is refused.

use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;

use super::engine::Work;
use super::state::Module;
use super::{Emulator, Out, Status, model};
use crate::functions::{self, LaunchConfig};
use crate::sys::*;

pub fn load(emulator: &Emulator, module: Out<Handle>, path: *const c_char) -> Status {
    if path.is_null() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: a C string, by the function's contract.
    let path = unsafe { CStr::from_ptr(path) }.to_string_lossy().into_owned();
    let text = std::fs::read(path).map_err(|_| CUDA_ERROR_FILE_NOT_FOUND)?;
    add(emulator, module, String::from_utf8(text).ok())
}

pub fn load_data(emulator: &Emulator, module: Out<Handle>, image: *const c_void) -> Status {
    if image.is_null() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: the function's contract.
    add(emulator, module, unsafe { functions::ptx_text(image) })
}

pub fn load_data_ex(
    emulator: &Emulator,
    module: Out<Handle>,
    image: *const c_void,
    _count: u32,
    _options: Out<i32>,
    _values: Out<*mut c_void>,
) -> Status {
    load_data(emulator, module, image)
}

fn add(emulator: &Emulator, module: Out<Handle>, text: Option<String>) -> Status {
    let (state, context) = emulator.enter()?;
    let Some(text) = text else {
        eprintln!(
            "streamlings: the emulated device takes PTX only, and this module is a binary for a GPU"
        );
        return Err(CUDA_ERROR_NO_BINARY_FOR_GPU);
    };
    if !text.contains(".version") || !text.contains(".target") {
        return Err(CUDA_ERROR_INVALID_PTX);
    }
    // Loading waits for all the work of the device.
    let mut state = emulator.wait_for_context(state, context)?;
    let handle = state.handle();
    // SAFETY: the caller's out-parameter.
    module.fill(handle)?;
    state.modules.insert(handle, Module { context });
    drop(state);
    functions::add_module(handle, functions::parse_ptx(&text));
    Ok(())
}

pub fn unload(emulator: &Emulator, module: Handle) -> Status {
    let (state, context) = emulator.enter()?;
    if !state.modules.contains_key(&module) {
        return Err(CUDA_ERROR_INVALID_HANDLE);
    }
    let mut state = emulator.wait_for_context(state, context)?;
    state.modules.remove(&module);
    state.function_modules.retain(|_, owner| *owner != module);
    state.functions.retain(|(owner, _), _| *owner != module);
    drop(state);
    functions::remove_module(module);
    Ok(())
}

pub fn get_function(
    emulator: &Emulator,
    function: Out<Handle>,
    module: Handle,
    name: *const c_char,
) -> Status {
    let (mut state, _) = emulator.enter()?;
    if name.is_null() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    if !state.modules.contains_key(&module) {
        return Err(CUDA_ERROR_INVALID_HANDLE);
    }
    // SAFETY: a C string, by the function's contract.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    let entries = functions::module(module).unwrap_or_default();
    if !entries.iter().any(|entry| entry.name == name) {
        return Err(CUDA_ERROR_NOT_FOUND);
    }
    let handle = match state.functions.get(&(module, name.clone())) {
        Some(handle) => *handle,
        None => {
            let handle = state.handle();
            state.functions.insert((module, name.clone()), handle);
            state.function_modules.insert(handle, module);
            handle
        }
    };
    drop(state);
    functions::add_function(handle, module, &name);
    // SAFETY: the caller's out-parameter.
    function.fill(handle)
}

pub fn get_global(
    _: &Emulator,
    _address: Out<DevicePtr>,
    _bytes: Out<usize>,
    _module: Handle,
    _name: *const c_char,
) -> Status {
    Err(CUDA_ERROR_NOT_FOUND)
}

fn check_function(emulator: &Emulator, function: Handle) -> Result<Handle, CUresult> {
    let (state, _) = emulator.enter()?;
    state.function_modules.get(&function).copied().ok_or(CUDA_ERROR_INVALID_HANDLE)
}

pub fn func_get_attribute(
    emulator: &Emulator,
    value: Out<i32>,
    attribute: i32,
    function: Handle,
) -> Status {
    check_function(emulator, function)?;
    // CUfunction_attribute: threads of a block, registers, PTX and binary version; the rest is 0.
    let known = match attribute {
        0 => 1024,
        4 => 32,
        5 => 78,
        6 => 86,
        _ => 0,
    };
    value.fill(known)
}

pub fn func_set_attribute(e: &Emulator, function: Handle, _a: i32, _v: i32) -> Status {
    check_function(e, function).map(|_| ())
}

pub fn func_set_config(emulator: &Emulator, function: Handle, _config: i32) -> Status {
    check_function(emulator, function).map(|_| ())
}

pub fn func_get_module(emulator: &Emulator, module: Out<Handle>, function: Handle) -> Status {
    let owner = check_function(emulator, function)?;
    module.fill(owner)
}

pub fn occupancy(
    emulator: &Emulator,
    blocks: Out<i32>,
    function: Handle,
    block_size: i32,
    _shared: usize,
) -> Status {
    check_function(emulator, function)?;
    if block_size <= 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    blocks.fill((1536 / block_size).min(16))
}

pub fn occupancy_with_flags(
    emulator: &Emulator,
    blocks: Out<i32>,
    function: Handle,
    block_size: i32,
    shared: usize,
    _flags: u32,
) -> Status {
    occupancy(emulator, blocks, function, block_size, shared)
}

pub fn potential_block_size(
    emulator: &Emulator,
    grid: Out<i32>,
    block: Out<i32>,
    function: Handle,
    _shared_of: *const c_void,
    _shared: usize,
    limit: i32,
) -> Status {
    check_function(emulator, function)?;
    let size = if limit > 0 { limit.min(512) } else { 512 };
    block.fill(size)?;
    grid.fill(model::MULTIPROCESSORS as i32 * (1536 / size))
}

#[expect(clippy::too_many_arguments, reason = "the driver API's own signature")]
pub fn potential_block_size_with_flags(
    emulator: &Emulator,
    grid: Out<i32>,
    block: Out<i32>,
    function: Handle,
    shared_of: *const c_void,
    shared: usize,
    limit: i32,
    _flags: u32,
) -> Status {
    potential_block_size(emulator, grid, block, function, shared_of, shared, limit)
}

/// Whether launches wait for their kernels: CUDA_LAUNCH_BLOCKING=1.
fn launch_blocking() -> bool {
    static BLOCKING: OnceLock<bool> = OnceLock::new();
    *BLOCKING.get_or_init(|| std::env::var("CUDA_LAUNCH_BLOCKING").is_ok_and(|value| value == "1"))
}

#[expect(clippy::too_many_arguments, reason = "the driver API's own signature")]
pub fn launch(
    emulator: &Emulator,
    function: Handle,
    grid_x: u32,
    grid_y: u32,
    grid_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    shared: u32,
    stream: Handle,
    params: Out<*mut c_void>,
    extra: Out<*mut c_void>,
) -> Status {
    let (mut state, context) = emulator.enter()?;
    if !extra.is_null() {
        eprintln!(
            "streamlings: the emulated device takes kernel arguments through kernelParams only"
        );
        return Err(CUDA_ERROR_NOT_SUPPORTED);
    }
    let grid = [grid_x, grid_y, grid_z].map(u64::from);
    let block = [block_x, block_y, block_z].map(u64::from);
    let threads: u64 = block.iter().product();
    if grid.contains(&0) || threads == 0 || threads > 1024 || block_z > 64 || shared > 99 << 10 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let info = functions::find(function)
        .filter(|_| state.function_modules.contains_key(&function))
        .ok_or(CUDA_ERROR_INVALID_HANDLE)?;
    let Some(kernel) = info.kernel else {
        eprintln!(
            "streamlings: the emulated device cannot run `{}`: it has no host twin for it \
             (kernels/ lists those that have one)",
            info.name
        );
        return Err(CUDA_ERROR_NOT_SUPPORTED);
    };
    if params.is_null() && !kernel.params.is_empty() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let args: Vec<u64> = kernel
        .params
        .iter()
        .enumerate()
        // SAFETY: the launch's contract: one pointer for each parameter.
        .map(|(index, param)| unsafe {
            functions::argument(*params.0.add(index), param.kind.size())
        })
        .collect();
    let key = state.stream(stream, context)?;
    let wide = grid.iter().product::<u64>() >= model::MULTIPROCESSORS;
    let (state, op) = emulator.submit(state, context, key, Work::Kernel { kernel, args, wide })?;
    if launch_blocking() {
        drop(emulator.wait_for(state, context, &[op])?);
    }
    Ok(())
}

#[expect(clippy::too_many_arguments, reason = "the driver API's own signature")]
pub fn launch_cooperative(
    emulator: &Emulator,
    function: Handle,
    grid_x: u32,
    grid_y: u32,
    grid_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    shared: u32,
    stream: Handle,
    params: Out<*mut c_void>,
) -> Status {
    launch(
        emulator,
        function,
        grid_x,
        grid_y,
        grid_z,
        block_x,
        block_y,
        block_z,
        shared,
        stream,
        params,
        Out(std::ptr::null_mut()),
    )
}

pub fn launch_ex(
    emulator: &Emulator,
    config: *const LaunchConfig,
    function: Handle,
    params: Out<*mut c_void>,
    extra: Out<*mut c_void>,
) -> Status {
    // SAFETY: the caller's promise: null or a configuration.
    let config = unsafe { config.as_ref() }.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let ([gx, gy, gz], [bx, by, bz]) = (config.grid, config.block);
    launch(emulator, function, gx, gy, gz, bx, by, bz, config.shared, config.stream, params, extra)
}
