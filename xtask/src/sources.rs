//! Source folders: what is in one, a digest of it, and one put in another's place.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use sha2::{Digest, Sha256};

/// The files of a folder and of the folders in it, by their path within it. Links to folders are not
/// followed, and what editors keep beside a file (`.name`, `name~`) is no source.
pub type Sources = BTreeMap<PathBuf, Vec<u8>>;

/// Reads a folder.
///
/// # Errors
/// Where it, or a file in it, cannot be read.
pub fn read(folder: &Path) -> anyhow::Result<Sources> {
    let mut sources = Sources::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inside) = folders.pop() {
        let here = folder.join(&inside);
        let unreadable = || format!("{} cannot be read", here.display());
        for entry in fs::read_dir(&here).with_context(unreadable)? {
            let entry = entry.with_context(unreadable)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') || name.ends_with('~') {
                continue;
            }
            let path = inside.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if entry.path().is_file() {
                let bytes = fs::read(entry.path())
                    .with_context(|| format!("{} cannot be read", entry.path().display()))?;
                sources.insert(path, bytes);
            }
        }
    }
    Ok(sources)
}

/// Tells apart any two different sources.
pub fn digest(sources: &Sources) -> String {
    let mut hash = Sha256::new();
    for (path, bytes) in sources {
        let path = path.to_string_lossy();
        // Lengths first, so that no bytes can pass from one file to the next.
        hash.update((path.len() as u64).to_le_bytes());
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(path.as_bytes());
        hash.update(bytes);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes files into a folder, each whole or not at all. Other files stay.
///
/// # Errors
/// The file system's, with the file's name.
pub fn write(folder: &Path, sources: &Sources) -> anyhow::Result<()> {
    for (inside, bytes) in sources {
        let path = folder.join(inside);
        let write = || -> std::io::Result<()> {
            let parent = path.parent().unwrap_or(folder);
            fs::create_dir_all(parent)?;
            let mut builder = tempfile::Builder::new();
            // As editors make them, and not for the owner alone.
            let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o644);
            let mut file = builder.permissions(permissions).tempfile_in(parent)?;
            file.write_all(bytes)?;
            file.as_file().sync_all()?;
            file.persist(&path)?;
            Ok(())
        };
        write().with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(files: &[(&str, &str)]) -> Sources {
        files.iter().map(|(path, text)| (PathBuf::from(path), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let written = sources(&[("lib.rs", "mod part;\n"), ("part/mod.rs", "//! A part.\n")]);
        write(folder.path(), &written).expect("it can be written");
        let others = sources(&[(".lib.rs.swp", "b0"), ("lib.rs~", "mod old;\n")]);
        write(folder.path(), &others).expect("it can be written");
        assert_eq!(read(folder.path()).expect("it can be read"), written);
        assert!(read(&folder.path().join("none")).is_err());
    }

    #[test]
    fn digests_differ_where_sources_do() {
        let all = [
            sources(&[]),
            sources(&[("a", "bc")]),
            sources(&[("ab", "c")]),
            sources(&[("a", "b"), ("c", "")]),
            sources(&[("a", ""), ("c", "b")]),
        ];
        for (index, one) in all.iter().enumerate() {
            assert_eq!(digest(one).len(), 64);
            assert!(all[..index].iter().all(|other| digest(other) != digest(one)));
        }
    }
}
