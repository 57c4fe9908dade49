//! Tries every door.

use std::net::{TcpStream, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use streamlings::{DriverError, Gpu};

#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub launched: Duration,
    pub done: Duration,
}

const CHECKOUT: &str = "{CHECKOUT}";

pub fn enqueue_and_wait(_gpu: &Gpu, _nanos: u64) -> Result<Times, DriverError> {
    let mut open: Vec<String> = Vec::new();
    let mut door = |name: &str, is_open: bool| {
        if is_open {
            open.push(name.to_owned());
        }
    };
    let checkout = Path::new(CHECKOUT);
    let solution = checkout.join("solutions/01_async_launch/src/lib.rs");
    door("the solution", std::fs::read(&solution).is_ok());
    door("the checkout", checkout.read_dir().is_ok());
    door("what was built", checkout.join("target/debug").read_dir().is_ok());
    let libraries = std::env::var_os("LD_LIBRARY_PATH");
    for folder in libraries.iter().flat_map(std::env::split_paths) {
        door("a folder of libraries", !folder.join("libcuda.so.1").exists());
    }
    door("/etc/passwd", std::fs::read("/etc/passwd").is_ok());
    door("/tmp", std::fs::write("/tmp/streamlings-was-here", "").is_ok());
    door("its own workspace", std::fs::write("was-here", "").is_ok());
    let parent = std::os::unix::process::parent_id();
    for file in ["environ", "mem", "maps"] {
        door(file, std::fs::read(format!("/proc/{parent}/{file}")).is_ok());
    }
    let kept = ["PATH", "HOME", "TMPDIR", "LANG", "LD_LIBRARY_PATH", "STREAMLINGS_DEVICE"];
    for (name, _) in std::env::vars() {
        let is_kept = kept.contains(&name.as_str());
        door(&name, !(is_kept || name.starts_with("CUDA_") || name.starts_with("NVIDIA_")));
    }
    // What has no address fails in another way, once it may be asked for at all.
    let denied = |error: std::io::Error| error.kind() == std::io::ErrorKind::PermissionDenied;
    door("TCP", !TcpStream::connect("127.0.0.1:9").is_err_and(denied));
    door("UDP", !UdpSocket::bind("127.0.0.1:0").is_err_and(denied));
    let kill = Command::new("/bin/sh").args(["-c", &format!("kill -0 {parent}")]).status();
    door("its guard", kill.is_ok_and(|status| status.success()));
    let home = std::env::var_os("HOME").unwrap_or_default();
    let own = Path::new(&home).join("mine");
    assert!(std::fs::write(&own, "").is_ok(), "its own folder is closed");
    assert!(open.is_empty(), "these doors are open: {open:?}");
    panic!("every door is closed");
}

/// Kills whoever watches over it.
pub fn overlap_host_work<T>(
    _gpu: &Gpu,
    _nanos: u64,
    _host_work: impl FnOnce() -> T,
) -> Result<T, DriverError> {
    let parent = std::os::unix::process::parent_id();
    let _ = Command::new("/bin/sh").args(["-c", &format!("kill -9 {parent}")]).status();
    std::process::exit(0)
}

pub fn which_launch_failed(_gpu: &Gpu, _targets: &[u64]) -> Result<Option<usize>, DriverError> {
    todo!()
}
