//! The scratch folder of a submission: what is in it, and what a process that works in it may touch.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use streamlings_grade::supervise::{Confinement, Supervisor};
use streamlings_trace::{Device, DeviceKind};

use super::sources::{Sources, hex};
use crate::course::{Course, Exercise};

/// What of the grader's environment a submission gets: where the driver of a GPU is, and which GPU.
const ENVIRONMENT: &[&str] = &[
    "LANG",
    "LD_LIBRARY_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "NVIDIA_VISIBLE_DEVICES",
    "STREAMLINGS_DEVICE",
];

/// A submission's scratch folder.
#[derive(Clone, Debug)]
pub struct Room {
    folder: PathBuf,
    workspace: PathBuf,
}

impl Room {
    /// Makes the folder for the submission of this name, or takes the one that is there.
    ///
    /// # Errors
    /// The file system's.
    pub fn make(within: &Path, name: &str) -> std::io::Result<Room> {
        let folder = within.join("rooms").join(folder_name(name));
        let room = Room { workspace: folder.join("workspace"), folder };
        for folder in ["workspace", "built", "temporary"] {
            std::fs::create_dir_all(room.folder.join(folder))?;
        }
        // The root of a workspace is where its Cargo.lock is.
        std::fs::write(room.workspace().join("Cargo.lock"), "")?;
        Ok(room)
    }

    /// A room for sources that lie elsewhere and were built elsewhere; this folder is its own.
    ///
    /// # Errors
    /// The file system's.
    pub fn around(workspace: PathBuf, folder: PathBuf) -> std::io::Result<Room> {
        std::fs::create_dir_all(folder.join("temporary"))?;
        Ok(Room { folder, workspace })
    }

    /// A workspace as far as file names go: the submission's sources beside the grader's cases.
    pub fn workspace(&self) -> PathBuf {
        self.workspace.clone()
    }

    /// All of it.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where rustc writes.
    pub fn built(&self) -> PathBuf {
        self.folder.join("built")
    }

    /// Where a report may be left.
    pub fn report(&self) -> PathBuf {
        self.folder.join("report.txt")
    }

    /// Puts an exercise in: the submission's `src/`, and the grader's own cases.
    ///
    /// # Errors
    /// The file system's.
    pub fn put(
        &self,
        course: &Course,
        exercise: &Exercise,
        sources: &Sources,
    ) -> std::io::Result<()> {
        let to = self.workspace().join("exercises").join(&exercise.folder);
        sources.write(&to.join("src"))?;
        let tests = to.join("tests");
        if tests.exists() {
            std::fs::remove_dir_all(&tests)?;
        }
        copy(&course.root.join("exercises").join(&exercise.folder).join("tests"), &tests)
    }

    /// A supervisor whose processes see this folder, the system's own, and nothing else.
    pub fn confine(&self, supervisor: &Supervisor, device: Option<&Device>) -> Supervisor {
        let mut confinement = Confinement::system();
        if device.is_some_and(|device| device.kind == DeviceKind::Gpu) {
            confinement = confinement.with_gpu();
        }
        confinement.read.push(self.workspace());
        let libraries = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        confinement
            .read
            .extend(std::env::split_paths(&libraries).filter(|path| path.is_absolute()));
        // The driver compiles kernels for its GPU once, and finds them here the next time.
        let cache = self.folder.join("temporary/cuda");
        let _ = std::fs::create_dir_all(&cache);
        confinement.write.push(cache.clone());
        let mut environment = environment();
        environment.push(("CUDA_CACHE_PATH".into(), cache.into()));
        Supervisor {
            confinement: Some(confinement),
            environment: Some(environment),
            directory: Some(self.workspace()),
            scratch: Some(self.folder.join("temporary")),
            ..supervisor.clone()
        }
    }

    /// The same for rustc, which reads `read` besides.
    pub fn confine_rustc(&self, supervisor: &Supervisor, read: &[PathBuf]) -> Supervisor {
        let temporary = self.folder.join("temporary");
        let mut confinement = Confinement::system();
        confinement.read.push(self.workspace());
        confinement.read.extend(read.iter().cloned());
        confinement.write.extend([self.built(), temporary.clone()]);
        let mut environment = environment();
        environment.push(("TMPDIR".into(), temporary.clone().into()));
        environment.push(("HOME".into(), temporary.into()));
        Supervisor {
            confinement: Some(confinement),
            environment: Some(environment),
            directory: Some(self.workspace()),
            ..supervisor.clone()
        }
    }
}

fn environment() -> Vec<(OsString, OsString)> {
    let kept =
        ENVIRONMENT.iter().filter_map(|name| Some(((*name).into(), std::env::var_os(name)?)));
    let path = ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into());
    kept.chain([path]).collect()
}

/// A folder's name for the submission of this name, of plain characters, and its alone.
pub fn folder_name(name: &str) -> String {
    use sha2::Digest;
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let shown: String = name.chars().take(40).map(plain).collect();
    // Two names may look alike once they are plain.
    let hash = hex(&sha2::Sha256::digest(name.as_bytes())[..4]);
    format!("{shown}-{hash}")
}

/// Copies a folder with its folders.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in from.read_dir()? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            std::fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}
