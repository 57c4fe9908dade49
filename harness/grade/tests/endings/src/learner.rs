//! Code as a learner might hand it in, one function for each way in which a process can end.

use std::hint::black_box;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, DevicePtr, LaunchConfig, PushKernelArg, sys,
};

pub fn returns() -> u32 {
    42
}

pub fn is_not_done() {
    todo!()
}

pub fn is_not_implemented() {
    unimplemented!("later")
}

pub fn panics() {
    let nothing: Option<u32> = black_box(None);
    nothing.expect("there is something");
}

pub fn panics_below() {
    // The panic is raised in the standard library, without a caller's location.
    let _ = "x".repeat(usize::MAX);
}

pub fn panics_in_a_thread() {
    std::thread::spawn(|| panic!("in a thread")).join().expect("the thread ends well");
}

struct PanicsOnDrop;

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        panic!("while dropping");
    }
}

pub fn panics_while_dropping() {
    drop(PanicsOnDrop);
}

pub fn panics_twice() {
    let _guard = PanicsOnDrop;
    panic!("first");
}

pub fn returns_what_panics_later() -> impl Drop {
    PanicsOnDrop
}

#[expect(unconditional_recursion, reason = "that is what it is for")]
pub fn overflows_its_stack(depth: u64) -> u64 {
    black_box(depth) + overflows_its_stack(black_box(depth + 1))
}

pub fn aborts() {
    std::process::abort();
}

pub fn dereferences_null() {
    // SAFETY: it is not; that is what the case is about.
    unsafe { std::ptr::write_volatile(black_box(std::ptr::null_mut::<u32>()), 1) };
}

pub fn exits_early() {
    println!("test result: ok. 1 passed; 0 failed");
    std::process::exit(0);
}

pub fn loops_for_ever() {
    while black_box(true) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub fn floods_its_output() {
    let mut out = std::io::stdout().lock();
    for line in 0_u64.. {
        if writeln!(out, "line {line}").is_err() {
            break;
        }
    }
}

/// Leaves a child that holds the pipes; says which.
#[expect(clippy::zombie_processes, reason = "that is what it is for")]
pub fn leaves_a_child() {
    let child = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().expect("it starts");
    println!("child {}", child.id());
}

/// Looks for what the supervisor told the grader.
pub fn reads_the_environment() -> Option<String> {
    let environment = std::fs::read_to_string("/proc/self/environ").unwrap_or_default();
    environment.split('\0').find(|entry| entry.contains("verdict.json")).map(str::to_owned)
}

/// The address is in no allocation; whoever asks next is told.
pub fn faults(stream: &Arc<CudaStream>, poke: &CudaFunction) {
    let (nowhere, value) = (0x10_u64, 1.0_f32);
    // SAFETY: it is not; that is what the case is about.
    let launched = unsafe {
        let mut launch = stream.launch_builder(poke);
        launch.arg(&nowhere).arg(&value).launch(LaunchConfig::for_num_elems(1)) // the fault
    };
    launched.expect("a launch returns before its kernel runs");
}

pub fn leaves_no_context_current() {
    // SAFETY: no context is a context that can be made current.
    unsafe { sys::cuCtxSetCurrent(std::ptr::null_mut()) }.result().expect("there is a device");
}

pub fn destroys_its_context() {
    let mut context = std::ptr::null_mut();
    // SAFETY: the context is the current one; that others use it is what the case is about.
    unsafe {
        sys::cuCtxGetCurrent(&mut context).result().expect("there is a device");
        let _ = sys::cuCtxDestroy_v2(context);
    }
}

pub fn resets_its_context() {
    // SAFETY: that others use the context is what the case is about.
    unsafe { sys::cuDevicePrimaryCtxReset_v2(0) }.result().expect("there is a device");
}

pub fn gives_back_what_others_own(stream: &Arc<CudaStream>, memory: &CudaSlice<f32>) {
    let (address, _in_use) = memory.device_ptr(stream);
    // SAFETY: it is not: the slice owns it.
    let freed = unsafe { sys::cuMemFreeAsync(address, stream.cu_stream()) };
    freed.result().expect("it is there");
}

pub fn returns_an_error(stream: &Arc<CudaStream>) -> Result<u64, String> {
    let mut address = 0;
    // SAFETY: no memory is used.
    unsafe { sys::cuMemAllocAsync(&mut address, usize::MAX >> 1, stream.cu_stream()) } // too much
        .result()
        .map(|()| address)
        .map_err(|error| format!("{:?}", error.0))
}
