//! An unpacked bundle: found beside this program, and taken only if it is whole.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};
use serde::Deserialize;

use super::{Content, Delta, FORMAT, MANIFEST, Manifest, PROGRAM, archive, delta};

/// How many damaged files a message names.
const NAMED: usize = 3;

/// A bundle's folder, and what is in it.
#[derive(Clone, Debug)]
pub struct Unpacked {
    /// Where it was unpacked.
    pub folder: PathBuf,
    /// What is in it.
    pub manifest: Manifest,
}

/// The folder of this program, if it is a bundle's: its name says so.
pub fn here() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let named = program.file_name().is_some_and(|name| name == PROGRAM);
    named.then(|| program.parent().map(Path::to_owned)).flatten()
}

/// The part of a manifest that every version has.
#[derive(Deserialize)]
struct Version {
    format: u32,
    streamlings: String,
}

impl Unpacked {
    /// Opens a bundle in which no file is missing or of another length.
    ///
    /// # Errors
    /// What is wrong with it, and what to do.
    pub fn open(folder: &Path) -> anyhow::Result<Unpacked> {
        let file = folder.join(MANIFEST);
        let again = "unpack the archive again, all of it";
        let text = std::fs::read(&file)
            .with_context(|| format!("{} cannot be read: {again}", file.display()))?;
        let damaged = || format!("{} is damaged: {again}", file.display());
        let version: Version = serde_json::from_slice(&text).with_context(damaged)?;
        let made = &version.streamlings;
        ensure!(
            version.format == FORMAT,
            "this bundle has format {} and was made by version {made}; this program reads format {FORMAT}",
            version.format
        );
        let manifest = serde_json::from_slice(&text).with_context(damaged)?;
        let unpacked = Unpacked { folder: folder.to_owned(), manifest };
        unpacked.refuse(|path, size, _| {
            let found = unpacked.folder.join(path).metadata().ok();
            match found.map(|metadata| metadata.len()) {
                None => Some("is missing"),
                Some(found) if found != size => Some("has another length"),
                Some(_) => None,
            }
        })?;
        Ok(unpacked)
    }

    /// A name for what is graded, and for how.
    ///
    /// # Errors
    /// Where the manifest cannot be read.
    pub fn fingerprint(&self, conditions: &str) -> anyhow::Result<String> {
        let manifest = archive::digest_of(&self.folder.join(MANIFEST))?.sha256;
        let all = archive::digest(format!("{manifest} {conditions}").as_bytes())?.sha256;
        Ok(all.chars().take(32).collect())
    }

    /// The files that have to be whole for a program to be run.
    pub fn files_of<'a>(&'a self, program: &'a str) -> Vec<&'a str> {
        match self.delta(program) {
            Some(delta) => vec![&delta.base, &delta.file],
            None => vec![program],
        }
    }

    /// A program's file; if it is not in the bundle as it is, it is put together in `folder`.
    ///
    /// # Errors
    /// Where it cannot be.
    pub fn program(&self, program: &str, folder: &Path) -> anyhow::Result<PathBuf> {
        if self.delta(program).is_none() {
            return Ok(self.folder.join(program));
        }
        let name = Path::new(program).file_name().unwrap_or_default();
        let file = folder.join(name);
        // By a process of its own: whoever writes a program while a thread starts another one cannot run it,
        // since that one has the file open for a moment.
        let output = Command::new(std::env::current_exe()?)
            .arg("--put-together")
            .args([program.as_ref(), file.as_os_str()])
            .stdin(Stdio::null())
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{program} cannot be put together: {}", said.trim());
        Ok(file)
    }

    /// Writes a program that is not in the bundle as it is.
    ///
    /// # Errors
    /// Where it cannot be read or written, or is not what was packed.
    pub fn put_together(&self, program: &str, file: &Path) -> anyhow::Result<()> {
        let delta = self.delta(program).context("the bundle has no delta for it")?;
        let read = |path: &str| {
            std::fs::read(self.folder.join(path)).with_context(|| format!("{path} cannot be read"))
        };
        let bytes = delta::restored(&read(&delta.base)?, &read(&delta.file)?, delta.whole.size)?;
        ensure!(archive::digest(&bytes[..])? == delta.whole, "{program} is not what was packed");
        let written = || format!("{} cannot be written", file.display());
        let options = File::options().write(true).create_new(true).mode(0o755).open(file);
        options.and_then(|mut file| file.write_all(&bytes)).with_context(written)
    }

    fn delta(&self, program: &str) -> Option<&Delta> {
        match &self.manifest.content {
            Content::Class { deltas, .. } => deltas.get(program),
            Content::Own { .. } => None,
        }
    }

    /// Compares the digests of the files that are wanted.
    ///
    /// # Errors
    /// Which files are damaged.
    pub fn verify(&self, wanted: impl Fn(&str) -> bool) -> anyhow::Result<()> {
        self.refuse(|path, _, sha256| {
            if !wanted(path) {
                return None;
            }
            match archive::digest_of(&self.folder.join(path)) {
                Ok(found) if found.sha256 == sha256 => None,
                Ok(_) => Some("is damaged"),
                Err(_) => Some("cannot be read"),
            }
        })
    }

    /// Fails with the files of which `fault` finds something.
    fn refuse(
        &self,
        fault: impl Fn(&str, u64, &str) -> Option<&'static str>,
    ) -> anyhow::Result<()> {
        let faults = self.manifest.files.iter();
        let faults: Vec<String> = faults
            .filter_map(|(path, file)| {
                fault(path, file.size, &file.sha256).map(|fault| format!("{path} {fault}"))
            })
            .collect();
        if faults.is_empty() {
            return Ok(());
        }
        let more = match faults.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        let named = faults[..faults.len().min(NAMED)].join(", ");
        bail!("this bundle is not whole: {named}{more}; unpack the archive again, all of it")
    }
}
