//! What the driver costs, and how true its clock is: one JSON object a line, for `cargo xtask bench`.
//!
//! - recording against the bare driver: a loop of empty launches through our exports, and the same
//!   loop straight into libcuda.so.1, by turns in one process (GPU only);
//! - enqueueing an empty kernel on the emulated device, and a large product there;
//! - the event time of kernels of known duration, on either device.

use std::ffi::c_void;
use std::time::Instant;

use serde_json::json;
use streamlings::cudarc::driver::sys::{self, CUfunction, CUresult, CUstream};
use streamlings::trace::DeviceKind;
use streamlings::{CudaEvent, DriverError, Gpu, LaunchConfig, Product, PushKernelArg};

const ONE: LaunchConfig =
    LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = streamlings::driver::device()?;
    let gpu = Gpu::new()?;
    match device.kind {
        DeviceKind::Gpu => recording_against_the_bare_driver(&gpu)?,
        DeviceKind::Emulated => {
            enqueue_on_the_emulated_device(&gpu)?;
            product_on_the_emulated_device(&gpu)?;
        }
    }
    known_durations(&gpu, device.kind)?;
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The signature of cuLaunchKernel.
type Launch = unsafe extern "C" fn(
    CUfunction,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    CUstream,
    *mut *mut c_void,
    *mut *mut c_void,
) -> CUresult;

/// Nanoseconds a launch, over `count` launches of a spin of no duration.
fn launch_loop(launch: impl Fn(*mut *mut c_void) -> CUresult, stream: CUstream, count: u32) -> f64 {
    let mut nothing = 0_u64;
    let mut params = [(&raw mut nothing).cast::<c_void>()];
    let began = Instant::now();
    for _ in 0..count {
        assert_eq!(launch(params.as_mut_ptr()), CUresult::CUDA_SUCCESS);
    }
    let nanos = began.elapsed().as_nanos() as f64 / f64::from(count);
    // SAFETY: a live stream.
    assert_eq!(unsafe { sys::cuStreamSynchronize(stream) }, CUresult::CUDA_SUCCESS);
    nanos
}

/// A launch through our own export.
fn recorded(function: CUfunction, stream: CUstream) -> impl Fn(*mut *mut c_void) -> CUresult {
    // SAFETY: a live function and stream, and the one argument that `spin` takes.
    move |params| unsafe {
        let none = std::ptr::null_mut();
        sys::cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, none)
    }
}

fn recording_against_the_bare_driver(gpu: &Gpu) -> Result<(), Box<dyn std::error::Error>> {
    // SAFETY: the library is loaded already; this is one more reference to it.
    let library = unsafe { libloading::Library::new("libcuda.so.1") }?;
    // SAFETY: cuLaunchKernel has this signature.
    let bare = unsafe { *library.get::<Launch>(b"cuLaunchKernel\0")? };
    let spin = gpu.kernel("spin")?;
    let function = spin.cu_function();
    let stream = gpu.stream.cu_stream();
    // SAFETY: a live function and stream, and the one argument that `spin` takes.
    let straight = |params| unsafe {
        bare(function, 1, 1, 1, 1, 1, 1, 0, stream, params, std::ptr::null_mut())
    };
    // The first loop is for warming up.
    launch_loop(recorded(function, stream), stream, 100_000);
    streamlings::driver::recording::begin(Default::default());
    // 100,000 launches each, by short turns, so that what disturbs the machine falls on both alike; a
    // figure is the median over the pairs of turns.
    let (mut ratios, mut differences, mut bare_turns) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..500 {
        let bare = [(); 2].map(|()| launch_loop(straight, stream, 100));
        let seen = [(); 2].map(|()| launch_loop(recorded(function, stream), stream, 100));
        for (bare, seen) in bare.into_iter().zip(seen) {
            ratios.push(seen / bare);
            differences.push(seen - bare);
            bare_turns.push(bare);
        }
    }
    let (ratio, cost, without) = (median(ratios), median(differences), median(bare_turns));
    println!(
        "{}",
        json!({
            "what": "recording: launch-bound loop of 100,000 launches",
            "figure": ratio, "unit": "times", "target": "at most 1.05",
            "against": format!("straight into libcuda.so.1 ({without:.0} ns a launch)"),
            "met": ratio <= 1.05,
        })
    );
    println!(
        "{}",
        json!({
            "what": "recording: cost of a call", "figure": cost, "unit": "ns",
            "target": "at most 100", "against": "straight into libcuda.so.1",
            "met": cost <= 100.0,
        })
    );
    Ok(())
}

fn enqueue_on_the_emulated_device(gpu: &Gpu) -> Result<(), DriverError> {
    let spin = gpu.kernel("spin")?;
    let function = spin.cu_function();
    let stream = gpu.stream.cu_stream();
    let mut rounds = Vec::new();
    for _ in 0..101 {
        streamlings::driver::recording::begin(Default::default());
        // Fewer than fill the queue: what is timed is enqueueing, not waiting for a place.
        rounds.push(launch_loop(recorded(function, stream), stream, 1000) / 1000.0);
    }
    let microseconds = median(rounds);
    println!(
        "{}",
        json!({
            "what": "emulated device: enqueue of an empty kernel", "figure": microseconds,
            "unit": "us", "target": "at most 2", "against": "a real launch: 3.6 us on an H200",
            "met": microseconds <= 2.0,
        })
    );
    Ok(())
}

fn product_on_the_emulated_device(gpu: &Gpu) -> Result<(), DriverError> {
    let mut product = Product::new(gpu, 2048)?;
    let mut rounds = Vec::new();
    for _ in 0..5 {
        let began = Instant::now();
        product.launch(&gpu.stream)?;
        gpu.stream.synchronize()?;
        rounds.push(began.elapsed().as_secs_f64());
    }
    let seconds = median(rounds);
    println!(
        "{}",
        json!({
            "what": "emulated device: 2048^3 product, launch to synchronize", "figure": seconds,
            "unit": "s", "target": "at most 0.5", "against": "0.2 s on the device's own clock",
            "met": seconds <= 0.5,
        })
    );
    Ok(())
}

fn known_durations(gpu: &Gpu, kind: DeviceKind) -> Result<(), DriverError> {
    let spin = gpu.kernel("spin")?;
    let timed = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
    for ms in [1_u64, 5, 20] {
        let mut off = Vec::new();
        for _ in 0..11 {
            // SAFETY: `spin` takes one integer.
            unsafe { gpu.stream.launch_builder(&spin).arg(&1_000_000_u64).launch(ONE)? };
            let start: CudaEvent = gpu.stream.record_event(timed)?;
            // SAFETY: `spin` takes one integer.
            unsafe { gpu.stream.launch_builder(&spin).arg(&(ms * 1_000_000)).launch(ONE)? };
            let end = gpu.stream.record_event(timed)?;
            off.push((f64::from(start.elapsed_ms(&end)?) - ms as f64).abs() * 1000.0);
        }
        let off = median(off);
        let most = (ms as f64 * 10.0).max(10.0);
        let device = if kind == DeviceKind::Gpu { "GPU" } else { "emulated" };
        println!(
            "{}",
            json!({
                "what": format!("event time of a {ms} ms kernel, {device}"), "figure": off,
                "unit": "us off", "target": format!("at most {most}"),
                "against": "the kernel's own clock", "met": off <= most,
            })
        );
    }
    Ok(())
}
