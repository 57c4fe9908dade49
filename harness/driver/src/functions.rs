//! What is known about modules and kernels: names, parameter sizes, and the kernels table's entry.
//!
//! A launch names its kernel by a handle and its arguments by bare pointers; how many there are and
//! how long each is comes from the PTX that the module was loaded from.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use streamlings_kernels::Kernel;

use crate::record::log::{MOST_WORDS, Writer};
use crate::sys::*;

/// CUlaunchConfig, up to the fields that we read.
#[repr(C)]
pub struct LaunchConfig {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory, bytes.
    pub shared: u32,
    /// Where it is launched.
    pub stream: Handle,
    /// Further attributes, which the emulated device ignores.
    pub attributes: *const c_void,
    /// How many of them.
    pub attribute_count: u32,
}

/// What is known about one kernel.
#[derive(Clone)]
pub struct Info {
    /// Its place in the list of all kernels ever looked up.
    pub id: usize,
    /// Its name.
    pub name: String,
    /// The sizes of its parameters in bytes; `None` if the module is not PTX.
    pub params: Option<Vec<usize>>,
    /// Its entry in the kernels table, if it is one of ours.
    pub kernel: Option<&'static Kernel>,
}

/// An `.entry` of a PTX module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// The sizes of its parameters, in bytes.
    pub params: Vec<usize>,
}

#[derive(Default)]
struct Known {
    modules: HashMap<Handle, Vec<Entry>>,
    functions: HashMap<Handle, Arc<Info>>,
    all: Vec<Arc<Info>>,
}

fn known() -> &'static RwLock<Known> {
    static KNOWN: std::sync::OnceLock<RwLock<Known>> = std::sync::OnceLock::new();
    KNOWN.get_or_init(RwLock::default)
}

/// Raised whenever a handle may have changed its meaning; what threads remember is then stale.
static GENERATION: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static LAST: Cell<Shape> = const {
        Cell::new(Shape { generation: 0, handle: 0, id: UNKNOWN, sizes: Sizes(0) })
    };
}

/// What is known about a function handle.
pub fn find(handle: Handle) -> Option<Arc<Info>> {
    known().read().unwrap_or_else(PoisonError::into_inner).functions.get(&handle).cloned()
}

/// What a launch needs to know of its kernel; each thread remembers that of its last one.
#[derive(Clone, Copy)]
struct Shape {
    generation: u64,
    handle: Handle,
    /// [`Info::id`], or [`UNKNOWN`].
    id: u64,
    sizes: Sizes,
}

impl Shape {
    #[inline]
    fn of(handle: Handle) -> Shape {
        let generation = GENERATION.load(Ordering::Acquire);
        let last = LAST.get();
        if last.generation == generation && last.handle == handle {
            return last;
        }
        Shape::look_up(handle, generation)
    }

    #[cold]
    fn look_up(handle: Handle, generation: u64) -> Shape {
        let mut shape = Shape { generation, handle, id: UNKNOWN, sizes: Sizes(0) };
        if let Some(info) = find(handle) {
            shape.id = info.id as u64;
            shape.sizes = Sizes::of(info.params.as_deref().unwrap_or(&[]));
        }
        LAST.set(shape);
        shape
    }
}

/// The sizes of a kernel's parameters, three bits each from the lowest on: 1 to 4 for 1, 2, 4 and 8
/// bytes, 5 for any other; 0 ends them. None where there are too many to record.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sizes(u64);

impl Sizes {
    const MOST: usize = MOST_WORDS - LAUNCH_FIXED;

    fn of(sizes: &[usize]) -> Sizes {
        const { assert!(Sizes::MOST * 3 < 64) };
        if sizes.len() > Sizes::MOST {
            return Sizes(0);
        }
        Sizes(sizes.iter().rev().fold(0, |packed, size| {
            let code = match size {
                1 | 2 | 4 | 8 => u64::from(size.trailing_zeros()) + 1,
                _ => 5,
            };
            packed << 3 | code
        }))
    }
}

/// The number of bytes that the code of a size stands for; 0 for any that is not recorded.
fn bytes(code: u64) -> usize {
    match code {
        1..=4 => 1 << (code - 1),
        _ => 0,
    }
}

/// The kernel of that [`Info::id`].
pub fn by_id(id: usize) -> Option<Arc<Info>> {
    known().read().unwrap_or_else(PoisonError::into_inner).all.get(id).cloned()
}

/// The entries of a module.
pub fn module(handle: Handle) -> Option<Vec<Entry>> {
    known().read().unwrap_or_else(PoisonError::into_inner).modules.get(&handle).cloned()
}

/// A module was loaded.
pub fn add_module(handle: Handle, entries: Vec<Entry>) {
    let mut known = known().write().unwrap_or_else(PoisonError::into_inner);
    known.modules.insert(handle, entries);
}

/// A function was looked up in a module.
pub fn add_function(handle: Handle, module: Handle, name: &str) {
    let mut known = known().write().unwrap_or_else(PoisonError::into_inner);
    let params = known.modules.get(&module).and_then(|entries| {
        entries.iter().find(|entry| entry.name == name).map(|entry| entry.params.clone())
    });
    if let Some(already) = known.functions.get(&handle)
        && already.name == name
        && already.params == params
    {
        return;
    }
    // Ours by name and by shape: somebody else's `fill` is not.
    let kernel = streamlings_kernels::find(name).filter(|kernel| {
        params.as_ref().is_some_and(|params| {
            params.iter().copied().eq(kernel.params.iter().map(|param| param.kind.size()))
        })
    });
    let info = Arc::new(Info { id: known.all.len(), name: name.to_owned(), params, kernel });
    known.all.push(Arc::clone(&info));
    known.functions.insert(handle, info);
    GENERATION.fetch_add(1, Ordering::AcqRel);
}

/// A module was unloaded.
pub fn remove_module(handle: Handle) {
    let mut known = known().write().unwrap_or_else(PoisonError::into_inner);
    known.modules.remove(&handle);
    GENERATION.fetch_add(1, Ordering::AcqRel);
}

/// The kernels that a PTX text declares, with the sizes of their parameters.
pub fn parse_ptx(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(".entry") {
        rest = &rest[at + ".entry".len()..];
        let head_end = rest.find(['(', '{']).unwrap_or(rest.len());
        let name = rest[..head_end].trim().to_owned();
        let mut params = Vec::new();
        if rest[head_end..].starts_with('(') {
            let list = &rest[head_end + 1..];
            let list = &list[..list.find(')').unwrap_or(list.len())];
            params = list.split(".param").skip(1).map(param_size).collect();
        }
        if !name.is_empty() {
            entries.push(Entry { name, params });
        }
    }
    entries
}

/// The size of a parameter from its declaration: `.u64 name`, or `.align 8 .b8 name[16]`.
fn param_size(declaration: &str) -> usize {
    let element = declaration
        .split_whitespace()
        .find_map(|word| {
            let digits = word.strip_prefix(['.'])?.trim_start_matches(|c: char| c.is_alphabetic());
            digits.parse::<usize>().ok().map(|bits| bits / 8)
        })
        .unwrap_or(0);
    let count = declaration
        .split_once('[')
        .and_then(|(_, rest)| rest.split(']').next())
        .and_then(|count| count.trim().parse::<usize>().ok())
        .unwrap_or(1);
    element * count
}

/// The PTX text behind a module image; `None` if it is a cubin or a fat binary.
///
/// # Safety
/// `image` is what a caller may pass to cuModuleLoadData.
pub unsafe fn ptx_text(image: *const c_void) -> Option<String> {
    if image.is_null() {
        return None;
    }
    // SAFETY: every image has at least four bytes: a magic number, or text and its terminator.
    let first = unsafe { *image.cast::<u8>() };
    if first == 0x7f || first == 0x50 {
        return None;
    }
    // SAFETY: what is no binary is a NUL-terminated PTX text.
    Some(unsafe { CStr::from_ptr(image.cast()) }.to_string_lossy().into_owned())
}

/// What marks a launch whose kernel is not known in a record.
pub const UNKNOWN: u64 = u64::MAX;

/// Words before the arguments: kernel, stream, blocks.
pub const LAUNCH_FIXED: usize = 3;

/// # Safety
/// As for cuLaunchKernel, which has returned.
#[inline]
unsafe fn record_launch(
    words: &mut Writer,
    function: Handle,
    blocks: u64,
    stream: Handle,
    params: *mut *mut c_void,
) {
    let shape = Shape::of(function);
    words.put(shape.id);
    words.put(stream as u64);
    words.put(blocks);
    if params.is_null() {
        return;
    }
    let (mut sizes, mut param) = (shape.sizes.0, params);
    while sizes != 0 {
        // SAFETY: the launch's contract: one pointer for each parameter, to as many bytes as the kernel
        // declares.
        unsafe {
            words.put(argument(*param, bytes(sizes & 7)));
            param = param.add(1);
        }
        sizes >>= 3;
    }
}

/// An argument as a word; 0 for one that is longer.
///
/// # Safety
/// `at` points to `size` bytes.
#[inline]
pub unsafe fn argument(at: *const c_void, size: usize) -> u64 {
    // Not a match: nearly all are pointers or 32-bit numbers, and a jump table is one more cache line.
    // SAFETY: the caller's promise; arguments need not be aligned.
    unsafe {
        if size == 8 {
            at.cast::<u64>().read_unaligned()
        } else if size == 4 {
            u64::from(at.cast::<u32>().read_unaligned())
        } else {
            short_argument(at, size)
        }
    }
}

/// # Safety
/// As for [`argument`].
#[cold]
unsafe fn short_argument(at: *const c_void, size: usize) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        match size {
            1 => u64::from(at.cast::<u8>().read_unaligned()),
            2 => u64::from(at.cast::<u16>().read_unaligned()),
            _ => 0,
        }
    }
}

fn volume(x: u32, y: u32, z: u32) -> u64 {
    u64::from(x).saturating_mul(u64::from(y)).saturating_mul(u64::from(z))
}

/// # Safety
/// As for cuLaunchKernel.
#[expect(clippy::too_many_arguments, reason = "the driver API's own signature")]
pub unsafe fn launch_words(
    words: &mut Writer,
    _result: CUresult,
    function: Handle,
    grid_x: u32,
    grid_y: u32,
    grid_z: u32,
    _block_x: u32,
    _block_y: u32,
    _block_z: u32,
    _shared: u32,
    stream: Handle,
    params: *mut *mut c_void,
    _extra: *mut *mut c_void,
) {
    // SAFETY: the caller's promise.
    unsafe { record_launch(words, function, volume(grid_x, grid_y, grid_z), stream, params) }
}

/// # Safety
/// As for cuLaunchCooperativeKernel.
#[expect(clippy::too_many_arguments, reason = "the driver API's own signature")]
pub unsafe fn launch_cooperative_words(
    words: &mut Writer,
    _result: CUresult,
    function: Handle,
    grid_x: u32,
    grid_y: u32,
    grid_z: u32,
    _block_x: u32,
    _block_y: u32,
    _block_z: u32,
    _shared: u32,
    stream: Handle,
    params: *mut *mut c_void,
) {
    // SAFETY: the caller's promise.
    unsafe { record_launch(words, function, volume(grid_x, grid_y, grid_z), stream, params) }
}

/// # Safety
/// As for cuLaunchKernelEx.
pub unsafe fn launch_ex_words(
    words: &mut Writer,
    _result: CUresult,
    config: *const LaunchConfig,
    function: Handle,
    params: *mut *mut c_void,
    _extra: *mut *mut c_void,
) {
    // SAFETY: the caller's promise: null or a configuration.
    let Some(config) = (unsafe { config.as_ref() }) else { return };
    let [x, y, z] = config.grid;
    // SAFETY: the caller's promise.
    unsafe { record_launch(words, function, volume(x, y, z), config.stream, params) }
}

/// # Safety
/// As for cuModuleLoad, which has returned `result`.
pub unsafe fn load_words(
    _words: &mut Writer,
    result: CUresult,
    module: *mut Handle,
    path: *const c_char,
) {
    if result == CUDA_SUCCESS && !path.is_null() && !module.is_null() {
        // SAFETY: a C string, by the function's contract.
        let path = unsafe { CStr::from_ptr(path) }.to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).unwrap_or_default();
        // SAFETY: filled by the successful call.
        add_module(unsafe { *module }, parse_ptx(&text));
    }
}

/// # Safety
/// As for cuModuleLoadData, which has returned `result`.
pub unsafe fn load_data_words(
    _words: &mut Writer,
    result: CUresult,
    module: *mut Handle,
    image: *const c_void,
) {
    if result == CUDA_SUCCESS && !module.is_null() {
        // SAFETY: the function's contract.
        let text = unsafe { ptx_text(image) };
        // SAFETY: filled by the successful call.
        add_module(unsafe { *module }, text.map(|text| parse_ptx(&text)).unwrap_or_default());
    }
}

/// # Safety
/// As for cuModuleLoadDataEx, which has returned `result`.
pub unsafe fn load_data_ex_words(
    words: &mut Writer,
    result: CUresult,
    module: *mut Handle,
    image: *const c_void,
    _count: u32,
    _options: *mut i32,
    _values: *mut *mut c_void,
) {
    // SAFETY: the caller's promise.
    unsafe { load_data_words(words, result, module, image) }
}

/// # Safety
/// As for cuModuleGetFunction, which has returned `result`.
pub unsafe fn get_function_words(
    _words: &mut Writer,
    result: CUresult,
    function: *mut Handle,
    module: Handle,
    name: *const c_char,
) {
    if result == CUDA_SUCCESS && !function.is_null() && !name.is_null() {
        // SAFETY: filled by the successful call, and a C string by the function's contract.
        let (function, name) = unsafe { (*function, CStr::from_ptr(name)) };
        add_function(function, module, &name.to_string_lossy());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_packed_from_the_first_on() {
        assert_eq!(Sizes::of(&[8, 4, 2, 1, 16]), Sizes(0o5_1_2_3_4));
        assert_eq!([1, 2, 3, 4, 5].map(bytes), [1, 2, 4, 8, 0]);
        assert_eq!(Sizes::of(&[8; Sizes::MOST]).0.count_ones() as usize, Sizes::MOST);
        assert_eq!(Sizes::of(&[8; Sizes::MOST + 1]), Sizes(0));
    }

    #[test]
    fn ptx_entries_have_their_parameters_sizes() {
        let text = "
.visible .entry fill(
	.param .u64 fill_param_0,
	.param .f32 fill_param_1,
	.param .u32 fill_param_2
)
{ ret; }
.entry none()
{ ret; }
.visible .entry packed(.param .align 8 .b8 packed_param_0[24])
.maxntid 256, 1, 1
{ ret; }";
        let entries = parse_ptx(text);
        let sizes: Vec<_> =
            entries.iter().map(|entry| (entry.name.as_str(), entry.params.clone())).collect();
        assert_eq!(sizes, [("fill", vec![8, 4, 4]), ("none", vec![]), ("packed", vec![24])]);
    }
}
