//! The sources of one exercise in a submission, and why they may be refused.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::early::Search;
use crate::course::Exercise;

/// More than any solution needs, and little enough to be read.
const MAX_BYTES: u64 = 4 << 20;
const MAX_FILES: usize = 500;

/// The files of a `src/`, by their path within it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    files: BTreeMap<PathBuf, Vec<u8>>,
}

/// Why sources are not taken, in a sentence for the report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(String);

impl Refused {
    /// For this reason.
    pub fn new(why: &str) -> Refused {
        Refused(why.to_owned())
    }
}

impl Sources {
    /// Reads a `src/` folder of a submission.
    ///
    /// # Errors
    /// [`Refused`] for links that leave it, for what is no file, for too much, for what runs before the
    /// grader, and where it cannot be read.
    pub fn read(src: &Path) -> Result<Sources, Refused> {
        let own = src.canonicalize().map_err(|error| Refused(format!("src/: {error}")))?;
        let mut sources = Sources::default();
        let mut total = 0;
        sources.read_folder(&own, &own, Path::new(""), &mut total)?;
        let mut search = Search::default();
        let mut files = sources.files.iter();
        let found =
            files.find_map(|(path, bytes)| search.file(bytes, &format!("src/{}", path.display())));
        match found.or_else(|| search.finish()) {
            Some(found) => Err(Refused(found)),
            None => Ok(sources),
        }
    }

    fn read_folder(
        &mut self,
        own: &Path,
        folder: &Path,
        within: &Path,
        total: &mut u64,
    ) -> Result<(), Refused> {
        let shown = |path: &Path| format!("src/{}", path.display());
        let failed =
            |path: &Path, error: std::io::Error| Refused(format!("{}: {error}", shown(path)));
        let too_deep = within.components().count() > 8;
        if too_deep {
            return Err(Refused(format!("{} is too deep a folder", shown(within))));
        }
        for entry in folder.read_dir().map_err(|error| failed(within, error))? {
            let entry = entry.map_err(|error| failed(within, error))?;
            let within = within.join(entry.file_name());
            let mut path = entry.path();
            let mut kind = entry.file_type().map_err(|error| failed(&within, error))?;
            if kind.is_symlink() {
                let target = path.canonicalize().map_err(|error| failed(&within, error))?;
                if !target.starts_with(own) {
                    let text = format!("{} is a link that leaves src/", shown(&within));
                    return Err(Refused(text));
                }
                kind = target.metadata().map_err(|error| failed(&within, error))?.file_type();
                path = target;
            }
            if kind.is_dir() {
                self.read_folder(own, &path, &within, total)?;
            } else if kind.is_file() {
                *total += path.metadata().map_err(|error| failed(&within, error))?.len();
                if *total > MAX_BYTES {
                    return Err(Refused(format!("src/ has more than {} MiB", MAX_BYTES >> 20)));
                }
                let bytes = std::fs::read(&path).map_err(|error| failed(&within, error))?;
                self.files.insert(within, bytes);
                if self.files.len() > MAX_FILES {
                    return Err(Refused(format!("src/ has more than {MAX_FILES} files")));
                }
            } else {
                return Err(Refused(format!("{} is not a file", shown(&within))));
            }
        }
        Ok(())
    }

    /// Writes them into a folder, in place of what is there.
    ///
    /// # Errors
    /// The file system's.
    pub fn write(&self, folder: &Path) -> std::io::Result<()> {
        if folder.exists() {
            std::fs::remove_dir_all(folder)?;
        }
        std::fs::create_dir_all(folder)?;
        for (path, bytes) in &self.files {
            let path = folder.join(path);
            path.parent().map(std::fs::create_dir_all).transpose()?;
            std::fs::write(path, bytes)?;
        }
        Ok(())
    }

    /// A name for these sources as an answer to this exercise; that of others is another one.
    pub fn key(&self, exercise: &Exercise) -> String {
        let mut hash = Sha256::new();
        let mut add = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        add(exercise.folder.as_bytes());
        for (path, bytes) in &self.files {
            add(path.as_os_str().as_encoded_bytes());
            add(bytes);
        }
        hex(&hash.finalize())
    }
}

/// Bytes in hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn src(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (path, bytes) in files {
            let path = folder.path().join("src").join(path);
            std::fs::create_dir_all(path.parent().expect("it is in src")).expect("it can be made");
            std::fs::write(path, bytes).expect("it can be written");
        }
        folder
    }

    fn read(folder: &tempfile::TempDir) -> Result<Sources, String> {
        Sources::read(&folder.path().join("src")).map_err(|refused| refused.to_string())
    }

    #[test]
    fn files_are_taken_as_they_are() {
        let folder = src(&[("lib.rs", b"\xef\xbb\xbf//! A\r\n"), ("deep/er.rs", b"\xff")]);
        let sources = read(&folder).expect("nothing is wrong with it");
        let to = folder.path().join("copy");
        std::fs::create_dir(&to).expect("it can be made");
        std::fs::write(to.join("old.rs"), "").expect("it can be written");
        sources.write(&to).expect("it can be written");
        assert_eq!(
            std::fs::read(to.join("lib.rs")).expect("it is there"),
            b"\xef\xbb\xbf//! A\r\n"
        );
        assert_eq!(std::fs::read(to.join("deep/er.rs")).expect("it is there"), b"\xff");
        assert!(!to.join("old.rs").exists());
    }

    #[test]
    fn links_may_not_leave_it() {
        let folder = src(&[("lib.rs", b"mod twin;"), ("one.rs", b"1")]);
        symlink("one.rs", folder.path().join("src/twin.rs")).expect("it can be made");
        let sources = read(&folder).expect("a link within is fine");
        assert_eq!(sources.files[Path::new("twin.rs")], b"1");
        for target in ["/etc/passwd", "../outside.rs", ".."] {
            std::fs::write(folder.path().join("outside.rs"), "").expect("it can be written");
            let link = folder.path().join("src/out.rs");
            let _ = std::fs::remove_file(&link);
            symlink(target, &link).expect("it can be made");
            assert_eq!(read(&folder), Err("src/out.rs is a link that leaves src/".to_owned()));
        }
        let link = folder.path().join("src/out.rs");
        std::fs::remove_file(&link).expect("it is there");
        symlink(".", &link).expect("it can be made");
        let error = read(&folder).expect_err("it has no end");
        assert!(error.ends_with("is too deep a folder"), "{error}");
    }

    #[test]
    fn what_runs_before_the_grader_is_refused() {
        let folder = src(&[("lib.rs", b"mod other;"), ("other.rs", b"\n#[global_allocator]")]);
        let why = "src/other.rs has `global_allocator` in line 2, which runs before the grader";
        assert_eq!(read(&folder), Err(why.to_owned()));
    }

    #[test]
    fn keys_tell_sources_apart() {
        let exercise = |number, name: &str| Exercise {
            number,
            name: name.to_owned(),
            folder: format!("{number:02}_{name}"),
            title: String::new(),
            intended: Vec::new(),
            hints: Vec::new(),
        };
        let key = |files: &[(&str, &[u8])], exercise: &Exercise| {
            read(&src(files)).expect("nothing is wrong with it").key(exercise)
        };
        let (first, second) = (exercise(1, "a"), exercise(2, "b"));
        let same = key(&[("lib.rs", b"1")], &first);
        assert_eq!(same, key(&[("lib.rs", b"1")], &first));
        assert_ne!(same, key(&[("lib.rs", b"1")], &second));
        assert_ne!(same, key(&[("lib.rs", b"2")], &first));
        assert_ne!(
            key(&[("a.rs", b"b"), ("c.rs", b"")], &first),
            key(&[("a.rs", b""), ("c.rs", b"b")], &first)
        );
    }
}
