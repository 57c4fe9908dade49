//! How much a submission may write to the disk in all, while one of its processes runs.
//!
//! The kernel limits each file by itself, and all of them together only for those who may set quotas. So
//! the submission's folder is looked at while the process runs, and the process is ended when there is
//! too much in it. Files count that have no name any more and are still open: their room is taken, too.
//!
//! ```text
//! this process ──> guard, whose task names the folder ──> the process ──> whatever it starts
//! ```
//!
//! What is missed: a file that is mapped into memory and has neither a name nor an open descriptor.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Bytes that all files may take together.
pub const LIMIT: u64 = 2 << 30;
/// How often the folder is looked at.
const LOOK: Duration = Duration::from_millis(25);
/// What a file or folder takes at least: endless empty ones fill a disk, too.
const LEAST: u64 = 4096;

/// Runs something that a guard watches over and that may write into this folder alone; says with it what
/// it did, as the end of a sentence, if it was ended for writing too much. What it may keep there for the
/// next one counts, too.
pub fn limited<T>(folder: &Path, limit: u64, run: impl FnOnce() -> T) -> (T, Option<String>) {
    let (done, told) = channel::<()>();
    std::thread::scope(|scope| {
        let watch = scope.spawn(move || {
            let mut over = false;
            while told.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                let processes = processes(folder);
                if used(folder, &processes) > limit {
                    over = true;
                    end(&processes);
                }
            }
            // What stays for the next one counts to the last.
            over || used(folder, &Processes::default()) > limit
        });
        let value = run();
        drop(done);
        let over = watch.join().unwrap_or_default();
        (value, over.then(|| format!("wrote more than {} MiB of files", limit >> 20)))
    })
}

/// The bytes that the files in a folder take.
pub fn in_folder(folder: &Path) -> u64 {
    named(folder, &mut BTreeSet::new())
}

/// Empties the folders in this one, so that the next case may write again.
pub fn clear(folder: &Path) {
    let inner = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in inner(folder).flat_map(|entry| inner(&entry.path())) {
        // What cannot be removed goes on counting.
        let _ = remove(&entry);
    }
}

/// Removes a file, or a folder with all that is in it.
///
/// # Errors
/// The file system's.
pub fn remove(entry: &fs::DirEntry) -> std::io::Result<()> {
    if entry.file_type()?.is_dir() {
        fs::remove_dir_all(entry.path())
    } else {
        fs::remove_file(entry.path())
    }
}

/// The guards of this process that watch over something with this folder, and what descends from them.
#[derive(Debug, Default)]
struct Processes {
    /// What the guards themselves have started.
    guarded: Vec<Pid>,
    /// Those, and all that they have started.
    all: Vec<Pid>,
}

fn processes(folder: &Path) -> Processes {
    let mut found = Processes::default();
    // As it stands in the guard's task, which is JSON; and no folder whose name begins like this one's.
    let Ok(name) = serde_json::to_string(&folder.join("")) else { return found };
    let name = name.trim_matches('"').as_bytes();
    for guard in children(nix::unistd::getpid()) {
        let task = fs::read(format!("/proc/{guard}/cmdline")).unwrap_or_default();
        if task.windows(name.len()).any(|part| part == name) {
            found.guarded.extend(children(guard));
        }
    }
    let mut parents = found.guarded.clone();
    while let Some(parent) = parents.pop() {
        found.all.push(parent);
        parents.extend(children(parent));
    }
    found
}

fn children(of: Pid) -> Vec<Pid> {
    // A thread's children are listed with the thread.
    let threads = fs::read_dir(format!("/proc/{of}/task")).into_iter().flatten().flatten();
    let lists = threads.map(|thread| fs::read_to_string(thread.path().join("children")));
    let lists: Vec<String> = lists.map(Result::unwrap_or_default).collect();
    let pids = lists.iter().flat_map(|list| list.split_whitespace());
    pids.filter_map(|pid| pid.parse().ok()).map(Pid::from_raw).collect()
}

/// The guard ends what else there is, when the process that it guards has ended.
fn end(processes: &Processes) {
    for pid in &processes.guarded {
        // It may just have ended by itself.
        let _ = kill(*pid, Signal::SIGKILL);
    }
}

/// The bytes that files in the folder and files without a name take.
fn used(folder: &Path, processes: &Processes) -> u64 {
    let mut seen = BTreeSet::new();
    let in_folder = named(folder, &mut seen);
    in_folder + processes.all.iter().map(|pid| nameless(*pid, &mut seen)).sum::<u64>()
}

/// Of a folder and all that is in it; each file once, however many names it has.
fn named(folder: &Path, seen: &mut BTreeSet<(u64, u64)>) -> u64 {
    let mut bytes = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            // Of a link, not of what it leads to.
            let Ok(metadata) = entry.metadata() else { continue };
            if seen.insert((metadata.dev(), metadata.ino())) {
                bytes += taken(&metadata);
            }
            if metadata.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    bytes
}

/// Of the files that a process has open and that are in no folder any more, or never were.
fn nameless(pid: Pid, seen: &mut BTreeSet<(u64, u64)>) -> u64 {
    let mut bytes = 0;
    for entry in fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
        // Follows the link, to whatever is open.
        let Ok(metadata) = fs::metadata(entry.path()) else { continue };
        let nameless = metadata.is_file() && metadata.nlink() == 0;
        if nameless && seen.insert((metadata.dev(), metadata.ino())) {
            bytes += taken(&metadata);
        }
    }
    bytes
}

/// Holes take nothing.
fn taken(metadata: &fs::Metadata) -> u64 {
    (metadata.blocks() * 512).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_counts_once_and_a_hole_not_at_all() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = |name: &str| folder.path().join(name);
        let used = || named(folder.path(), &mut BTreeSet::new());
        assert_eq!(used(), 0);
        fs::create_dir(path("deeper")).expect("it can be made");
        fs::write(path("deeper/file"), vec![7; 1 << 20]).expect("it can be written");
        let one = used();
        assert!((1 << 20..2 << 20).contains(&one), "{one}");
        fs::hard_link(path("deeper/file"), path("again")).expect("a second name");
        std::os::unix::fs::symlink("/usr", path("link")).expect("a link");
        let hole = fs::File::create(path("hole")).expect("it can be made");
        hole.set_len(1 << 40).expect("it can be that long");
        assert!(used() <= one + 2 * LEAST, "{}", used());
    }

    #[test]
    fn what_is_open_without_a_name_counts() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut file = tempfile::tempfile_in(folder.path()).expect("a file without a name");
        std::io::Write::write_all(&mut file, &vec![7; 1 << 20]).expect("it can be written");
        assert_eq!(named(folder.path(), &mut BTreeSet::new()), 0);
        let processes = Processes { guarded: Vec::new(), all: vec![nix::unistd::getpid()] };
        assert!(used(folder.path(), &processes) >= 1 << 20);
    }

    #[test]
    fn only_what_goes_over_the_limit_is_told_of() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cache = folder.path().join("cache");
        fs::create_dir(&cache).expect("it can be made");
        let write = |name: &str| {
            fs::write(cache.join(name), vec![7; 1 << 20]).expect("it can be written");
            42
        };
        assert_eq!(limited(folder.path(), 3 << 19, || write("first")), (42, None));
        let told = Some("wrote more than 1 MiB of files".to_owned());
        assert_eq!(limited(folder.path(), 3 << 19, || write("second")), (42, told));
        clear(folder.path());
        assert!(cache.exists());
        assert_eq!(limited(folder.path(), 3 << 19, || write("third")), (42, None));
    }
}
