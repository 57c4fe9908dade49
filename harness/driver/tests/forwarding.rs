//! Choosing a device and forwarding to the system's driver, tried with a driver that does nothing.
//!
//! Each try is a process of its own, since a process chooses its device once.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rstest::rstest;
use streamlings_driver::{device, recording};
use streamlings_trace::{DeviceKind, Op};

/// What the child process is to do; see [`child`].
const TASK: &str = "STREAMLINGS_TEST_TASK";

/// The fake driver, compiled once.
fn library() -> PathBuf {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY
        .get_or_init(|| {
            let folder = tempfile::tempdir().expect("a temporary folder").keep();
            let library = folder.join("libcuda.so.1");
            let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
            let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fake_driver.c");
            let status = Command::new(compiler)
                .args(["-shared", "-fPIC", "-O1", "-o"])
                .arg(&library)
                .arg(source)
                .status()
                .expect("a C compiler, as linking needs");
            assert!(status.success());
            library
        })
        .clone()
}

fn run(task: &str, device: &str, environment: &[(&str, &str)]) -> Output {
    let output = Command::new(std::env::current_exe().expect("this test's own path"))
        .args(["--exact", "child", "--ignored", "--nocapture"])
        .env(TASK, task)
        .env("STREAMLINGS_DEVICE", device)
        .env("STREAMLINGS_LIBCUDA", library())
        .envs(environment.iter().copied())
        .output()
        .expect("this test runs itself");
    assert!(output.status.success(), "{task}: {}", text(&output));
    output
}

fn text(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}

#[test]
#[ignore = "the body of the child processes"]
fn child() {
    match std::env::var(TASK).as_deref() {
        Ok("device") => match device() {
            Ok(device) => println!("device {:?} {}", device.kind, device.name),
            Err(none) => println!("none: {none}"),
        },
        Ok("record") => record(),
        Ok("bare") => bare(),
        Ok("lacking") => lacking(),
        Ok("side by side") => side_by_side(),
        other => panic!("no task {other:?}"),
    }
}

#[rstest]
#[case::no_permission("304", &["FAKE_ERROR_304", "/dev/nvidia"])]
#[case::mismatch("803", &["FAKE_ERROR_803", "restart the machine"])]
#[case::not_ready("802", &["FAKE_ERROR_802", "fabricmanager"])]
#[case::unknown("999", &["FAKE_ERROR_999", "nvidia_uvm"])]
#[case::stub("34", &["FAKE_ERROR_34", "stubs"])]
#[case::anything_else("1", &["FAKE_ERROR_1", "nvidia-smi"])]
fn a_driver_that_does_not_start_is_named(#[case] result: &str, #[case] words: &[&str]) {
    let gpu = text(&run("device", "gpu", &[("FAKE_INIT", result)]));
    assert!(gpu.contains("none: "), "{gpu}");
    let auto = text(&run("device", "auto", &[("FAKE_INIT", result)]));
    assert!(auto.contains("device Emulated emulated device (no GPU)"), "{auto}");
    let lines = auto.lines().filter(|line| line.starts_with("streamlings: ")).count();
    assert_eq!(lines, 1, "one visible line: {auto}");
    for word in words {
        assert!(gpu.contains(word), "{gpu}");
        assert!(auto.contains(word), "{auto}");
    }
}

#[test]
fn an_old_driver_is_named_with_what_it_needs() {
    let gpu = text(&run("device", "gpu", &[("FAKE_VERSION", "11080")]));
    assert!(gpu.contains("none: the NVIDIA driver knows CUDA 11.8"), "{gpu}");
    assert!(gpu.contains("update the NVIDIA driver"), "{gpu}");
}

#[test]
fn a_missing_library_is_named() {
    let gpu = text(&run("device", "gpu", &[("STREAMLINGS_LIBCUDA", "/nowhere/libcuda.so.1")]));
    assert!(gpu.contains("/nowhere/libcuda.so.1 cannot be loaded"), "{gpu}");
}

#[test]
fn a_library_that_is_no_driver_is_named() {
    let gpu = text(&run("device", "gpu", &[("STREAMLINGS_LIBCUDA", "libc.so.6")]));
    assert!(gpu.contains("has no cuInit"), "{gpu}");
}

#[test]
fn a_wish_that_is_no_device_is_named() {
    let none = text(&run("device", "cpu", &[]));
    assert!(
        none.contains("`cpu`, which is not a device; set it to auto, gpu or emulated"),
        "{none}"
    );
}

#[rstest]
#[case::auto("auto")]
#[case::gpu("gpu")]
fn a_driver_that_starts_is_taken(#[case] wish: &str) {
    let taken = text(&run("device", wish, &[]));
    assert!(taken.contains("device Gpu fake GPU"), "{taken}");
}

#[test]
fn emulated_never_looks_for_a_gpu() {
    let emulated = text(&run("device", "emulated", &[]));
    assert!(emulated.contains("device Emulated"), "{emulated}");
}

#[test]
fn forwarded_calls_are_recorded() {
    run("record", "gpu", &[]);
}

fn record() {
    use cudarc::driver::sys::{cuStreamCreate, cuStreamQuery};
    recording::begin(recording::Options {
        learner_roots: vec![concat!(env!("CARGO_MANIFEST_DIR"), "/tests").into()],
        ..Default::default()
    });
    let mut stream = std::ptr::null_mut();
    // SAFETY: a place for a handle, and the handle.
    unsafe {
        assert_eq!(cuStreamCreate(&mut stream, 1) as u32, 0);
        assert_eq!(cuStreamQuery(stream) as u32, 600);
    }
    let line = line!() - 2;
    let trace = recording::finish();
    assert_eq!(trace.header.device.kind, DeviceKind::Gpu);
    let calls: Vec<_> = trace.calls().collect();
    assert!(matches!(calls[0].op, Op::StreamCreate { blocking: false, .. }), "{calls:?}");
    assert!(matches!(calls[1].op, Op::StreamQuery { done: false, .. }), "{calls:?}");
    assert_eq!(calls[1].result, 600);
    assert_eq!(calls[1].waited, None, "a GPU does not tell");
    assert!(calls[0].seq < calls[1].seq && calls[0].left <= calls[1].entered);
    let at = trace.at(calls[1]).expect("the caller's line");
    assert!(at.file.as_deref().is_some_and(|file| file.ends_with("tests/forwarding.rs")), "{at:?}");
    assert_eq!(at.line, line);
}

#[test]
fn a_bare_jump_keeps_every_argument() {
    run("bare", "gpu", &[]);
}

fn bare() {
    type Encode = unsafe extern "C" fn(
        usize,
        i32,
        u32,
        usize,
        usize,
        usize,
        usize,
        usize,
        i32,
        i32,
        i32,
        i32,
    ) -> u32;
    let address = streamlings_driver::Function::cuTensorMapEncodeTiled.export();
    // SAFETY: the fake driver's function has this signature.
    let encode: Encode = unsafe { std::mem::transmute(address) };
    for _ in 0..2 {
        // Once through the resolver, once straight through the slot.
        // SAFETY: it looks behind none of them.
        assert_eq!(unsafe { encode(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12) }, 0);
    }
}

#[test]
fn a_function_that_the_driver_lacks_says_so_once() {
    let output = text(&run("lacking", "gpu", &[]));
    let said = output.matches("cuArray3DCreate_v2 returns CUDA_ERROR_NOT_SUPPORTED").count();
    assert_eq!(said, 1, "{output}");
}

fn lacking() {
    for _ in 0..3 {
        let mut array = std::ptr::null_mut();
        // SAFETY: it returns before it looks at the arguments.
        let result =
            unsafe { cudarc::driver::sys::cuArray3DCreate_v2(&mut array, std::ptr::null()) };
        assert_eq!(result as u32, 801);
    }
}

#[test]
fn no_lock_is_held_across_a_forwarded_call() {
    run("side by side", "gpu", &[]);
}

fn side_by_side() {
    use cudarc::driver::sys::{CUstream, cuStreamQuery, cuStreamSynchronize};
    let stream = 0x40_usize;
    let waiting = std::thread::spawn(move || {
        let began = Instant::now();
        // SAFETY: the fake driver looks behind no handle.
        unsafe { cuStreamSynchronize(stream as CUstream) };
        began.elapsed()
    });
    std::thread::sleep(Duration::from_millis(50));
    let began = Instant::now();
    for _ in 0..1000 {
        // SAFETY: as above.
        unsafe { cuStreamQuery(stream as CUstream) };
    }
    let others = began.elapsed();
    let waited = waiting.join().expect("the wait returns");
    assert!(waited >= Duration::from_millis(200));
    assert!(others < waited / 2, "1,000 calls took {others:?} beside a wait of {waited:?}");
}
