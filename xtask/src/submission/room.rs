//! The scratch folder of a submission: what is in it, and what a process that works in it may touch.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use streamlings_grade::supervise::{Confinement, Supervisor};
use streamlings_trace::{Device, DeviceKind};

use super::disk;
use super::sources::{Sources, hex};
use crate::course::{Course, Exercise};

/// What of the grader's environment a submission gets: where the driver of a GPU is, and which GPU.
const ENVIRONMENT: &[&str] = &[
    "LANG",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "NVIDIA_VISIBLE_DEVICES",
    "STREAMLINGS_DEVICE",
];

/// How many bytes may stay from one exercise to the next: some kernels that the driver has compiled.
const KEPT: u64 = 64 << 20;

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
    pub fn make(within: &Path, name: &OsStr) -> std::io::Result<Room> {
        let folder = within.join("rooms").join(folder_name(name));
        let room = Room { workspace: folder.join("workspace"), folder };
        for folder in ["workspace", "built", "temporary"] {
            std::fs::create_dir_all(room.folder.join(folder))?;
        }
        // The root of a workspace is where its Cargo.lock is.
        std::fs::write(room.workspace().join("Cargo.lock"), "")?;
        Ok(room)
    }

    /// Takes out what an earlier submission of this name had.
    ///
    /// # Errors
    /// The file system's.
    pub fn clear(&self) -> std::io::Result<()> {
        match std::fs::remove_dir_all(self.workspace.join("exercises")) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Takes out what was built, which is large and needed no more, and what programs have left behind,
    /// if it is more than a driver's cache has a use for.
    pub fn tidy_up(&self) {
        for entry in self.built().read_dir().into_iter().flatten().flatten() {
            // The next build replaces it anyway.
            let _ = disk::remove(&entry);
        }
        let temporary = self.folder.join("temporary");
        if disk::in_folder(&temporary) > KEPT {
            disk::clear(&temporary);
        }
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

    /// Where a report may be left, by its name.
    pub fn report(&self, name: &str) -> PathBuf {
        self.folder.join(name)
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
        let libraries = driver_folders(&std::env::var_os(LIBRARIES).unwrap_or_default());
        confinement.read.extend(libraries.iter().cloned());
        // The driver compiles kernels for its GPU once, and finds them here the next time.
        let cache = self.folder.join("temporary/cuda");
        let _ = std::fs::create_dir_all(&cache);
        confinement.write.push(cache.clone());
        let mut environment = environment();
        environment.push(("CUDA_CACHE_PATH".into(), cache.into()));
        if !libraries.is_empty()
            && let Ok(libraries) = std::env::join_paths(libraries)
        {
            environment.push((LIBRARIES.into(), libraries));
        }
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
        // Not where programs write: the next exercise could include as source what nobody has looked at.
        let own = self.built();
        let mut confinement = Confinement::system();
        confinement.read.push(self.workspace());
        confinement.read.extend(read.iter().cloned());
        confinement.write.push(own.clone());
        let mut environment = environment();
        environment.push(("TMPDIR".into(), own.clone().into()));
        environment.push(("HOME".into(), own.into()));
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

/// Where the loader looks for libraries.
const LIBRARIES: &str = "LD_LIBRARY_PATH";

/// Of the folders where the loader looks, those that have a GPU's driver. cargo adds what it has built,
/// and that is not for submissions.
fn driver_folders(paths: &OsStr) -> Vec<PathBuf> {
    let folders = std::env::split_paths(paths);
    folders.filter(|path| path.is_absolute() && path.join("libcuda.so.1").exists()).collect()
}

/// A folder's name for the submission of this name, of plain characters, and its alone.
pub fn folder_name(name: &OsStr) -> String {
    use sha2::Digest;
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let shown: String = name.to_string_lossy().chars().take(40).map(plain).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_drivers_folders_are_passed_on() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let [driver, built] = ["driver", "built"].map(|name| folder.path().join(name));
        for path in [&driver, &built] {
            std::fs::create_dir(path).expect("it can be made");
        }
        std::fs::write(driver.join("libcuda.so.1"), "").expect("it can be written");
        let paths = [built.as_path(), &driver, Path::new("")].map(Path::to_owned);
        let paths = std::env::join_paths(paths).expect("there is no colon in them");
        assert_eq!(driver_folders(&paths), [driver]);
        assert_eq!(driver_folders(OsStr::new("")), [] as [PathBuf; 0]);
    }

    #[test]
    fn names_of_different_bytes_have_different_rooms() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let rooms = [&b"ada\xff"[..], b"ada\xfe", b"ada_"].map(|name| {
            let room = Room::make(folder.path(), OsStr::from_bytes(name)).expect("it can be made");
            room.folder().to_owned()
        });
        assert!(rooms[0] != rooms[1] && rooms[1] != rooms[2] && rooms[0] != rooms[2], "{rooms:?}");
    }

    #[test]
    fn a_small_cache_stays_and_what_is_large_goes() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let room = Room::make(folder.path(), OsStr::new("ada")).expect("it can be made");
        let cache = room.folder().join("temporary/cuda");
        std::fs::create_dir(&cache).expect("it can be made");
        let write = |name: &str, size: usize| {
            std::fs::write(cache.join(name), vec![7; size]).expect("it can be written");
            room.tidy_up();
            cache.join(name).exists()
        };
        std::fs::write(room.built().join("program"), "").expect("it can be written");
        assert!(write("small", 1 << 20));
        assert!(!room.built().join("program").exists());
        assert!(!write("large", KEPT as usize));
        assert!(cache.exists() && !cache.join("small").exists());
    }
}
