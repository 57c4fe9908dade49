//! What the driver costs, and how true its clock is: one JSON object a line, for `cargo xtask bench`.
//!
//! - recording against the bare driver: a loop of empty launches through our exports, and the same
//!   loop straight into libcuda.so.1, by turns in one process (GPU only);
//! - a large product on the GPU beside cuBLAS, by turns, where Python has PyTorch;
//! - enqueueing an empty kernel on the emulated device, and a large product there;
//! - the event time of kernels of known duration, on either device.

use std::ffi::c_void;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
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
        DeviceKind::Gpu => {
            recording_against_the_bare_driver(&gpu)?;
            product_on_the_gpu(&gpu)?;
        }
        DeviceKind::Emulated => {
            enqueue_on_the_emulated_device(&gpu)?;
            product_on_the_emulated_device(&gpu)?;
        }
    }
    known_durations(&gpu, device.kind)?;
    Ok(())
}

/// Prints a figure; `met` is null where it has no target, or nothing to compare it with.
fn row(
    what: &str,
    (figure, unit): (f64, &str),
    target: &str,
    against: &str,
    met: impl Into<Option<bool>>,
) {
    let met: Option<bool> = met.into();
    println!(
        "{}",
        json!({
            "what": what, "figure": figure, "unit": unit, "target": target, "against": against,
            "met": met,
        })
    );
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
    row(
        "recording: launch-bound loop of 100,000 launches",
        (ratio, "times"),
        "at most 1.05",
        &format!("straight into libcuda.so.1 ({without:.0} ns a launch)"),
        ratio <= 1.05,
    );
    row(
        "recording: cost of a call",
        (cost, "ns"),
        "at most 100",
        "straight into libcuda.so.1",
        cost <= 100.0,
    );
    Ok(())
}

/// The side of the product, its turns, and the products of a turn.
const SIDE: u32 = 2048;
const TURNS: usize = 15;
const PRODUCTS: u32 = 20;

/// Says when it is ready, and does a turn for each line: milliseconds a product, by events. The same
/// values as in [`Product`], since what a product draws depends on them.
const CUBLAS: &str = "
import sys, torch
side, products = int(sys.argv[1]), int(sys.argv[2])
torch.backends.cuda.matmul.allow_tf32 = False
a = ((torch.arange(side * side, device='cuda') % 251) / 251 - 0.5).reshape(side, side)
b, c = a.clone(), torch.empty_like(a)
start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
print('ready', flush=True)
for _ in sys.stdin:
    for i in range(2 * products):
        if i == products:
            start.record()
        torch.mm(a, b, out=c)
    end.record()
    end.synchronize()
    print(start.elapsed_time(end) / products, flush=True)
";

/// cuBLAS through PyTorch, in a process of its own.
struct Cublas {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Cublas {
    /// None where Python or PyTorch is not there.
    fn start() -> Option<Cublas> {
        let mut child = Command::new("python3")
            .args(["-c", CUBLAS, &SIDE.to_string(), &PRODUCTS.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let (to, from) = (child.stdin.take()?, BufReader::new(child.stdout.take()?));
        let mut cublas = Cublas { child, to, from };
        if cublas.line().as_deref() == Some("ready") {
            return Some(cublas);
        }
        cublas.end();
        None
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.from.read_line(&mut line).ok()?;
        (read > 0).then(|| line.trim().to_owned())
    }

    /// Milliseconds a product.
    fn turn(&mut self) -> Option<f64> {
        writeln!(self.to, "turn").ok()?;
        self.line()?.parse().ok()
    }

    fn end(self) {
        let Cublas { mut child, to, from: _ } = self;
        // Without standard input its loop ends.
        drop(to);
        let _ = child.wait();
    }
}

fn product_on_the_gpu(gpu: &Gpu) -> Result<(), DriverError> {
    let mut product = Product::new(gpu, SIDE)?;
    let timed = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
    let mut cublas = Cublas::start();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        for _ in 0..PRODUCTS {
            product.launch(&gpu.stream)?;
        }
        let start: CudaEvent = gpu.stream.record_event(timed)?;
        for _ in 0..PRODUCTS {
            product.launch(&gpu.stream)?;
        }
        let end = gpu.stream.record_event(timed)?;
        ours.push(f64::from(start.elapsed_ms(&end)?) / f64::from(PRODUCTS));
        theirs.extend(cublas.as_mut().and_then(Cublas::turn));
    }
    if let Some(cublas) = cublas {
        cublas.end();
    }
    let rate = |ms: f64| product.flops() / (ms * 1e-3) / 1e12;
    let ours = rate(median(ours));
    let compared = (theirs.len() == TURNS).then(|| rate(median(theirs)));
    let against = match compared {
        Some(theirs) => format!("cuBLAS through PyTorch: {theirs:.1} TFLOP/s"),
        None => "cuBLAS: not run, python3 has no PyTorch".to_owned(),
    };
    row(
        "matmul of 2048^3 on the GPU, fp32",
        (ours, "TFLOP/s"),
        "at least 90 % of cuBLAS",
        &against,
        compared.map(|theirs| ours >= 0.9 * theirs),
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
    row(
        "emulated device: enqueue of an empty kernel",
        (microseconds, "us"),
        "at most 2",
        "a real launch: 3.6 us on an H200",
        microseconds <= 2.0,
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
    row(
        "emulated device: 2048^3 product, launch to synchronize",
        (seconds, "s"),
        "at most 0.5",
        "0.2 s on the device's own clock",
        seconds <= 0.5,
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
        row(
            &format!("event time of a {ms} ms kernel, {device}"),
            (off, "us off"),
            &format!("at most {most}"),
            "the kernel's own clock",
            off <= most,
        );
    }
    Ok(())
}
