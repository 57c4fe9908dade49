//! Packing the programs of a class: the first of each exercise whole, the others as what differs from it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::archive::{Files, digest};
use super::delta::Base;
use super::glibc::{self, Version};
use super::{Delta, PROGRAMS};
use crate::course::Exercise;

/// What was packed of a class.
#[derive(Debug, Default)]
pub struct Packed {
    /// The first program of each exercise, by the exercise's name: its path in the bundle, and its bytes.
    bases: BTreeMap<String, (String, Base)>,
    /// The others, by their path.
    pub deltas: BTreeMap<String, Delta>,
    /// The newest glibc that one of the others needs.
    pub glibc: Option<Version>,
}

impl Packed {
    /// Packs a program that was built for this exercise. Its file may be gone after that: deltas are kept in
    /// `folder` until the archive is written.
    ///
    /// # Errors
    /// Where it cannot be read, or its delta not be written.
    pub fn pack(
        &mut self,
        exercise: &Exercise,
        name: &str,
        program: &Path,
        folder: &Path,
        files: &mut Files,
    ) -> anyhow::Result<PathBuf> {
        let path = format!("{PROGRAMS}{name}");
        let shown = || format!("{} cannot be packed", program.display());
        let bytes = std::fs::read(program).with_context(shown)?;
        let Some((base, with)) = self.bases.get(&exercise.name) else {
            files.program(&path, program);
            self.bases.insert(exercise.name.clone(), (path.clone(), Base::new(bytes)));
            return Ok(path.into());
        };
        self.glibc = self.glibc.take().max(glibc::needed(program)?);
        let kept = folder.join(name);
        std::fs::write(&kept, with.delta(&bytes)?).with_context(shown)?;
        let file = format!("{path}.delta");
        files.file(&file, kept);
        let delta = Delta { base: base.clone(), file, whole: digest(&bytes[..])? };
        self.deltas.insert(path.clone(), delta);
        // What is built for a class would fill a disk.
        std::fs::remove_file(program).with_context(shown)?;
        Ok(path.into())
    }
}
