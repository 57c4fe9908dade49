//! A folder that goes with the process that made it, or with the next one where that was killed.
//!
//! Its maker holds a lock on the folder itself, which ends with the process whatever ends that. A file system
//! that locks no folders keeps what was left behind.

use std::fs::File;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use tempfile::TempDir;

/// How often a folder is made anew that another process has just taken for one that was left behind.
const ATTEMPTS: usize = 10;

/// A folder of this process alone.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
    _lock: Option<Flock<File>>,
}

impl Scratch {
    /// Makes one in `within`, and removes those of this prefix whose makers are gone.
    ///
    /// # Errors
    /// The file system's.
    pub fn make(within: &Path, prefix: &str) -> std::io::Result<Scratch> {
        remove_left_behind(within, prefix);
        for _ in 0..ATTEMPTS {
            let folder = tempfile::Builder::new().prefix(prefix).tempdir_in(within)?;
            match lock(folder.path()) {
                Ok(lock) if folder.path().exists() => {
                    return Ok(Scratch { folder, _lock: Some(lock) });
                }
                Ok(_) | Err(Errno::EWOULDBLOCK | Errno::ENOENT) => {}
                Err(_) => return Ok(Scratch { folder, _lock: None }),
            }
        }
        Err(std::io::Error::other("other processes remove every folder that is made"))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

fn remove_left_behind(within: &Path, prefix: &str) {
    for entry in within.read_dir().into_iter().flatten().flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder
            && entry.file_name().to_string_lossy().starts_with(prefix)
            && let Ok(_lock) = lock(&entry.path())
        {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn lock(folder: &Path) -> Result<Flock<File>, Errno> {
    let file = File::open(folder)
        .map_err(|error| error.raw_os_error().map_or(Errno::UnknownErrno, Errno::from_raw))?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, error)| error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_holds_is_removed_and_nothing_else() {
        let within = tempfile::tempdir().expect("a temporary folder");
        let there = |name: &str| within.path().join(name).exists();
        for name in ["running-1/programs", "other-1"] {
            std::fs::create_dir_all(within.path().join(name)).expect("it can be made");
        }
        std::fs::write(within.path().join("running-file"), "").expect("it can be written");
        let first = Scratch::make(within.path(), "running-").expect("it can be made");
        assert!(!there("running-1"));
        assert!(there("other-1") && there("running-file"));
        let second = Scratch::make(within.path(), "running-").expect("it can be made");
        assert!(first.path().exists() && second.path() != first.path());
        let path = first.path().to_owned();
        drop(first);
        assert!(!path.exists() && second.path().exists());
    }
}
