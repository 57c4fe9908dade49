//! Writing an archive: the same files always make the same bytes.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

use super::{FOLDER, File};
use crate::sources;
use crate::submission::sources::hex;

/// Where the bytes of a file come from.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    Bytes(Vec<u8>),
    /// A program.
    Program(PathBuf),
    /// Any other file.
    File(PathBuf),
}

/// The files of a bundle, by their path in it with `/`.
#[derive(Clone, Debug, Default)]
pub struct Files(BTreeMap<String, Source>);

impl Files {
    /// Adds a text.
    pub fn text(&mut self, path: impl Into<String>, text: impl Into<Vec<u8>>) {
        self.0.insert(path.into(), Source::Bytes(text.into()));
    }

    /// Adds a program.
    pub fn program(&mut self, path: impl Into<String>, file: &Path) {
        self.0.insert(path.into(), Source::Program(file.to_owned()));
    }

    /// Adds a file that is no program, and has to stay where it is until the archive is written.
    pub fn file(&mut self, path: impl Into<String>, file: PathBuf) {
        self.0.insert(path.into(), Source::File(file));
    }

    /// Adds the sources in a folder, if there is one.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn folder(&mut self, path: &Path, folder: &Path) -> anyhow::Result<()> {
        if !folder.exists() {
            return Ok(());
        }
        for (inside, bytes) in sources::read(folder)? {
            self.text(path.join(inside).to_string_lossy(), bytes);
        }
        Ok(())
    }

    /// The programs.
    pub fn programs(&self) -> impl Iterator<Item = &Path> {
        self.0.values().filter_map(|source| match source {
            Source::Program(file) => Some(file.as_path()),
            Source::Bytes(_) | Source::File(_) => None,
        })
    }

    /// What the manifest says of them.
    ///
    /// # Errors
    /// Where one cannot be read.
    pub fn digests(&self) -> anyhow::Result<BTreeMap<String, File>> {
        let file = |(path, source): (&String, &Source)| {
            let file = match source {
                Source::Bytes(bytes) => digest(&bytes[..])?,
                Source::Program(file) | Source::File(file) => digest_of(file)?,
            };
            Ok((path.clone(), file))
        };
        self.0.iter().map(file).collect()
    }

    /// Writes the archive, whole or not at all; returns its size in bytes.
    ///
    /// # Errors
    /// The file system's.
    pub fn write(&self, to: &Path) -> anyhow::Result<u64> {
        let failed = || format!("{} cannot be written", to.display());
        let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        let mut file = tempfile::Builder::new()
            .permissions(permissions)
            .tempfile_in(folder)
            .with_context(failed)?;
        let gzip = GzBuilder::new().write(&mut file, Compression::default());
        let mut archive = Builder::new(gzip);
        for (path, source) in &self.0 {
            let path = Path::new(FOLDER).join(path);
            match source {
                Source::Bytes(bytes) => {
                    append(&mut archive, &path, bytes.len() as u64, 0o644, &bytes[..])?;
                }
                Source::Program(file) | Source::File(file) => {
                    let mode = if matches!(source, Source::Program(_)) { 0o755 } else { 0o644 };
                    let opened = open(file)?;
                    append(&mut archive, &path, opened.metadata()?.len(), mode, opened)?;
                }
            }
        }
        archive.into_inner()?.finish()?.flush()?;
        file.as_file().sync_all()?;
        let size = file.as_file().metadata()?.len();
        file.persist(to).with_context(failed)?;
        Ok(size)
    }
}

fn append(
    archive: &mut Builder<impl Write>,
    path: &Path,
    size: u64,
    mode: u32,
    bytes: impl Read,
) -> std::io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_size(size);
    header.set_mode(mode);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    archive.append_data(&mut header, path, bytes)
}

fn open(file: &Path) -> anyhow::Result<std::fs::File> {
    std::fs::File::open(file).with_context(|| format!("{} cannot be read", file.display()))
}

/// The digest of a file.
///
/// # Errors
/// Where it cannot be read.
pub fn digest_of(file: &Path) -> anyhow::Result<File> {
    Ok(digest(open(file)?)?)
}

/// The digest of what can be read.
///
/// # Errors
/// Where it cannot.
pub fn digest(mut from: impl Read) -> std::io::Result<File> {
    let mut hash = Sha256::new();
    let mut size = 0;
    let mut buffer = vec![0; 1 << 16];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(File { size, sha256: hex(&hash.finalize()) }),
            Ok(count) => {
                hash.update(&buffer[..count]);
                size += count as u64;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
