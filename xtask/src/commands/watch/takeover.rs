//! The first watch takes over what is built already, so that it does not build everything once more.
//!
//! cargo takes what it finds in a target folder for its own: an artefact is fresh if it is there beside
//! its fingerprint, and no source is newer. So the fingerprints are taken first, and each is no newer
//! than its artefact, whatever another cargo builds meanwhile. Large files get a second name where the
//! file system can do that, which takes neither time nor room: rustc and linkers never write into one
//! that is there but put a new one in its place. All else is copied, with its time.
//!
//! What belongs to one folder alone stays: incremental state, examples, and programs, which are linked
//! anew in a moment.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use nix::sys::statvfs::statvfs;

/// The folder of cargo's profile in a target folder; checks are built with no other.
const PROFILE: &str = "debug";
/// What the half-made folder is called, so that whoever finds it knows whose it was.
const HALF: &str = "watch.half-";
/// More than this is not copied, where it has to be: building anew takes less.
const MOST: u64 = 2 << 30;
/// What has to be left on the disk, for what is built then.
const LEFT: u64 = 1 << 30;

const HOUR: Duration = Duration::from_secs(3600);

/// How far it is; and whether it is to end.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    of: AtomicU64,
    stop: AtomicBool,
}

impl Progress {
    /// `312 of 480 MB`.
    pub fn words(&self) -> String {
        let mega = |bytes: &AtomicU64| bytes.load(Ordering::Relaxed).div_ceil(1_000_000);
        format!("{} of {} MB", mega(&self.done), mega(&self.of))
    }

    /// Ends it; nothing is taken over then.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// How it went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The watch's folder has what the usual one has, or was there before.
    Over,
    /// Nothing was taken, so that all will be built; why, if anybody has to know.
    Nothing(Option<String>),
}

/// A file to take.
struct Piece {
    /// Within the target folder.
    path: PathBuf,
    length: u64,
}

/// Fills the watch's target folder from the usual one, if it is not there yet.
pub fn take_over(usual: &Path, own: &Path, progress: &Progress) -> Taken {
    if own.exists() {
        return Taken::Over;
    }
    match try_to(usual, own, progress) {
        Ok(taken) => taken,
        Err(error) => Taken::Nothing(Some(format!("what is built cannot be taken over: {error}"))),
    }
}

fn try_to(usual: &Path, own: &Path, progress: &Progress) -> std::io::Result<Taken> {
    if !usual.join(PROFILE).join(".fingerprint").exists() {
        // Nothing is built, or cargo was told to keep it elsewhere.
        return Ok(Taken::Nothing(None));
    }
    remove_old_halves(usual);
    let pieces = pieces(usual)?;
    let length = pieces.iter().map(|piece| piece.length).sum();
    progress.of.store(length, Ordering::Relaxed);
    // Removed with all that is in it, unless it becomes the watch's.
    let half = tempfile::Builder::new().prefix(HALF).tempdir_in(usual)?;
    if !can_link(usual, half.path(), &pieces) {
        let free = statvfs(usual)?;
        let free = free.blocks_available() * free.fragment_size();
        if let Some(why) = too_much(length, free) {
            return Ok(Taken::Nothing(Some(why)));
        }
    }
    for piece in &pieces {
        if progress.is_stopped() {
            return Ok(Taken::Nothing(None));
        }
        take(&usual.join(&piece.path), &half.path().join(&piece.path))?;
        progress.done.fetch_add(piece.length, Ordering::Relaxed);
    }
    match fs::rename(half.path(), own) {
        Ok(()) => {
            // It has another name now.
            let _ = half.keep();
            Ok(Taken::Over)
        }
        // Another watch was faster.
        Err(_) if own.exists() => Ok(Taken::Over),
        Err(error) => Err(error),
    }
}

/// Removes what a watch has left that was killed on the way. One that is at work takes no hour.
fn remove_old_halves(usual: &Path) {
    for entry in usual.read_dir().into_iter().flatten().flatten() {
        let age = entry.metadata().and_then(|data| data.modified()).map(|at| at.elapsed());
        let old = age.is_ok_and(|age| age.is_ok_and(|age| age > HOUR));
        if old && entry.file_name().to_string_lossy().starts_with(HALF) {
            // It is in nobody's way.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Why that much is not copied.
fn too_much(length: u64, free: u64) -> Option<String> {
    let mega = |bytes: u64| bytes.div_ceil(1_000_000);
    if length > MOST {
        Some(format!("what is built is too large to be taken over: {} MB", mega(length)))
    } else if free < length + LEFT {
        let (needed, free) = (mega(length + LEFT), mega(free));
        Some(format!("no room to take over what is built: {free} MB are free, {needed} needed"))
    } else {
        None
    }
}

/// What cargo can use in another target folder, fingerprints first.
fn pieces(usual: &Path) -> std::io::Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    for folder in [".fingerprint", "build", "deps"] {
        list(usual, &Path::new(PROFILE).join(folder), &mut pieces)?;
    }
    Ok(pieces)
}

fn list(usual: &Path, folder: &Path, pieces: &mut Vec<Piece>) -> std::io::Result<()> {
    let entries = match usual.join(folder).read_dir() {
        Ok(entries) => entries,
        // Another cargo is at work there.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            list(usual, &path, pieces)?;
        } else if metadata.is_file() && (!folder.ends_with("deps") || is_library(&path)) {
            pieces.push(Piece { path, length: metadata.len() });
        }
    }
    Ok(())
}

/// Whether a file is a library; beside those there are programs, and what linkers leave.
fn is_library(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("rlib" | "rmeta" | "so" | "d"))
}

/// Whether a file is replaced, and never written into: what rustc or a linker makes. cargo writes its
/// own small files where they are.
fn is_replaced(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("rlib" | "rmeta" | "so"))
        || name.starts_with("build-script-")
        || name.starts_with("build_script_")
}

/// Whether the file system gives a file a second name.
fn can_link(usual: &Path, half: &Path, pieces: &[Piece]) -> bool {
    let Some(first) = pieces.iter().find(|piece| is_replaced(&piece.path)) else { return true };
    let name = half.join("linked");
    let linked = fs::hard_link(usual.join(&first.path), &name).is_ok();
    // It may not have been made.
    let _ = fs::remove_file(&name);
    linked
}

fn take(from: &Path, to: &Path) -> std::io::Result<()> {
    let folder = to.parent().unwrap_or(to);
    fs::create_dir_all(folder)?;
    if is_replaced(to) && fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    let copied = fs::copy(from, to).and_then(|_| {
        let modified = from.metadata()?.modified()?;
        File::options().write(true).open(to)?.set_modified(modified)
    });
    match copied {
        // Gone since it was listed; what it belonged to is built anew.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        copied => copied,
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    /// A target folder with a file of each kind.
    fn usual() -> tempfile::TempDir {
        let usual = tempfile::tempdir().expect("a temporary folder");
        for path in FILES {
            let path = usual.path().join("debug").join(path);
            fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it can be made");
            fs::write(&path, path.as_os_str().as_encoded_bytes()).expect("it can be written");
            let long_ago = SystemTime::UNIX_EPOCH + Duration::from_nanos(1_600_000_000_123_456_789);
            let file = File::options().write(true).open(&path).expect("it is there");
            file.set_modified(long_ago).expect("it has a time");
        }
        usual
    }

    /// The first ones are taken.
    const FILES: [&str; 10] = [
        ".fingerprint/a-1/lib-a",
        "build/a-1/output",
        "build/a-1/build-script-build",
        "build/a-1/out/made.rs",
        "deps/liba-1.rlib",
        "deps/a-1.d",
        "deps/program-2",
        "incremental/a-1/query-cache.bin",
        "examples/shown",
        "xtask",
    ];
    const TAKEN: usize = 6;

    fn names(folder: &Path) -> Vec<String> {
        let entries = folder.read_dir().expect("it is a folder").flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_cargo_can_use_is_taken_with_its_times() {
        let usual = usual();
        let own = usual.path().join("watch");
        let progress = Progress::default();
        assert_eq!(take_over(usual.path(), &own, &progress), Taken::Over);
        for (number, path) in FILES.iter().enumerate() {
            let (from, to) = (usual.path().join("debug").join(path), own.join("debug").join(path));
            assert_eq!(to.exists(), number < TAKEN, "{path}");
            if to.exists() {
                assert_eq!(fs::read(&from).ok(), fs::read(&to).ok(), "{path}");
                let time = |path: &Path| path.metadata().and_then(|data| data.modified()).ok();
                assert_eq!(time(&from), time(&to), "{path}");
            }
        }
        // Nothing half-made, and what cargo writes into is no other name of the same file.
        assert_eq!(names(usual.path()), ["debug", "watch"]);
        fs::write(own.join("debug/deps/a-1.d"), "anew").expect("it can be written");
        let before = fs::read(usual.path().join("debug/deps/a-1.d")).expect("it is there");
        assert_ne!(before, b"anew");
        let (done, of) = (&progress.done, &progress.of);
        assert!(of.load(Ordering::Relaxed) > 0);
        assert_eq!(done.load(Ordering::Relaxed), of.load(Ordering::Relaxed));
    }

    #[test]
    fn what_a_killed_watch_has_left_goes() {
        let usual = usual();
        let (old, new) = (usual.path().join("watch.half-old"), usual.path().join("watch.half-new"));
        fs::create_dir(&old).and_then(|()| fs::create_dir(&new)).expect("they can be made");
        let long_ago = SystemTime::now() - 2 * HOUR;
        File::open(&old).and_then(|folder| folder.set_modified(long_ago)).expect("it has a time");
        assert_eq!(
            take_over(usual.path(), &usual.path().join("watch"), &Progress::default()),
            Taken::Over
        );
        assert_eq!(names(usual.path()), ["debug", "watch", "watch.half-new"]);
    }

    #[test]
    fn one_that_is_stopped_leaves_nothing() {
        let usual = usual();
        let own = usual.path().join("watch");
        let progress = Progress::default();
        progress.stop();
        assert_eq!(take_over(usual.path(), &own, &progress), Taken::Nothing(None));
        assert_eq!(names(usual.path()), ["debug"]);
    }

    #[test]
    fn a_folder_that_is_there_is_left_alone_and_so_is_one_without_fingerprints() {
        let usual = usual();
        let own = usual.path().join("watch");
        fs::create_dir(&own).expect("it can be made");
        assert_eq!(take_over(usual.path(), &own, &Progress::default()), Taken::Over);
        assert!(names(&own).is_empty());
        fs::remove_dir(&own).expect("it is empty");
        fs::remove_dir_all(usual.path().join("debug/.fingerprint")).expect("it is there");
        let taken = take_over(usual.path(), &own, &Progress::default());
        assert_eq!(taken, Taken::Nothing(None));
        assert_eq!(names(usual.path()), ["debug"]);
    }

    #[test]
    fn too_much_for_the_disk_or_for_anybody_is_not_copied() {
        assert_eq!(too_much(500_000_000, 2_000_000_000), None);
        let why = too_much(500_000_000, 1_500_000_000).expect("there is no room");
        assert_eq!(why, "no room to take over what is built: 1500 MB are free, 1574 needed");
        let why = too_much(3_000_000_000, u64::MAX).expect("that is too much");
        assert_eq!(why, "what is built is too large to be taken over: 3000 MB");
    }
}
