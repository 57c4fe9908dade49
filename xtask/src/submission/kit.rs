//! The kit: what every submission is built with, made once from the grader's own checkout.
//!
//! cargo builds the checkout's exercises as they stand and says with which libraries and settings. A
//! submission is then built by rustc itself, with the same: its library and its grade binary, two calls
//! and no cargo, so no build script of a submission and none of its manifests can have a say. The
//! libraries lie in a folder of their own, since rustc on a submission's sources may read nothing else
//! of what was built here.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use cargo_metadata::diagnostic::Diagnostic;
use cargo_metadata::{Artifact, MetadataCommand, TargetKind};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use sha2::{Digest, Sha256};
use streamlings_grade::supervise::{Captured, Supervisor};
use streamlings_grade::{Finding, diagnosis};
use streamlings_trace::Device;

use super::room::Room;
use super::sources::hex;
use super::{disk, taken_in};
use crate::build::{self, NotBuilt, Package};
use crate::course::{Course, Exercise};
use crate::grading::{Whose, describe};
use crate::progress::Progress;
use crate::sources;
use crate::text::warn;

/// What rustc says of a fault of its own.
const RUSTC_PANICKED: &str = "internal compiler error";
/// How long rustc may take for one of its two calls.
const RUSTC_LIMIT: Duration = Duration::from_secs(120);

/// What submissions are built with.
#[derive(Debug)]
pub struct Kit {
    folder: PathBuf,
    libraries: PathBuf,
    rustc: PathBuf,
    /// Where rustc may read besides the submission.
    read: Vec<PathBuf>,
    /// What every call of rustc gets.
    flags: Vec<OsString>,
    /// What was put into `libraries`, and how large each is.
    put: Vec<(PathBuf, u64)>,
    /// For as long as this kit is used, nobody else makes one here.
    _lock: Flock<File>,
    exercises: BTreeMap<String, Part>,
}

/// The kit's part for one exercise.
#[derive(Debug)]
struct Part {
    /// The checkout's own grade binary, which says what the cases are.
    program: PathBuf,
    /// What the exercise began with.
    starter: PathBuf,
    cases: Vec<String>,
    edition: String,
    /// The settings of its profile.
    profile: Vec<OsString>,
    /// The libraries that it names.
    externs: Vec<OsString>,
}

impl Kit {
    /// Builds the checkout, and takes what submissions need.
    ///
    /// # Errors
    /// Where cargo cannot be run, or the checkout does not compile.
    pub fn prepare(
        course: &Course,
        exercises: &[&Exercise],
        supervisor: &Supervisor,
        progress: &Progress,
    ) -> anyhow::Result<Kit> {
        let root = &course.root;
        let packages: Vec<Package> = exercises.iter().map(|e| Whose::Learner.package(e)).collect();
        let metadata = MetadataCommand::new().current_dir(root).no_deps().exec()?;
        let folder = metadata.target_directory.as_std_path().join("submissions");
        let lock = lock(&folder, || progress.waits_for("the other run"))?;
        progress.waits_no_more();
        let built = build::build(root, &packages, &["grade"], progress)?;
        let libraries = folder.join("libraries");
        if libraries.exists() {
            std::fs::remove_dir_all(&libraries)?;
        }
        std::fs::create_dir_all(&libraries)?;

        let own: BTreeSet<PathBuf> =
            packages.iter().map(|package| root.join(&package.folder).join("Cargo.toml")).collect();
        let mut by_name = BTreeMap::new();
        let mut put = Vec::new();
        for artifact in &built.artifacts {
            if own.contains(artifact.manifest_path.as_std_path()) || !is_library(artifact) {
                continue;
            }
            for file in artifact.filenames.iter().map(|file| file.as_std_path()) {
                let to = libraries.join(file.file_name().unwrap_or_default());
                let _ = std::fs::remove_file(&to);
                // Another name for the same file; a copy where they are on two file systems.
                if std::fs::hard_link(file, &to).is_err() {
                    std::fs::copy(file, &to)?;
                }
                put.push((to.clone(), to.metadata()?.len()));
                if file.extension().is_some_and(|extension| extension == "rlib") {
                    by_name.insert(artifact.target.name.replace('-', "_"), to);
                }
            }
        }

        let sysroot = sysroot(root)?;
        let mut flags: Vec<OsString> = vec!["-L".into(), joined("dependency=", &libraries)];
        let mut read = vec![sysroot.clone(), libraries.clone()];
        for path in &built.linked_paths {
            flags.extend(["-L".into(), path.into()]);
            read.push(path.strip_prefix("native=").unwrap_or(path).into());
        }
        flags.extend(own_flags(root)?.into_iter().map(OsString::from));
        let mut kit = Kit {
            folder,
            libraries,
            rustc: sysroot.join("bin/rustc"),
            read,
            flags,
            put,
            _lock: lock,
            exercises: BTreeMap::new(),
        };
        for (exercise, package) in exercises.iter().zip(&packages) {
            let program = match built.program(root, package, "grade") {
                Ok(program) => program,
                Err(why) => {
                    let (label, why) = (exercise.label(), why.said());
                    bail!("the grader's own {label} does not compile:\n{why}")
                }
            };
            let manifest = root.join(&package.folder).join("Cargo.toml");
            let library = built
                .artifacts
                .iter()
                .find(|a| a.manifest_path.as_std_path() == manifest && is_library(a))
                .with_context(|| format!("{} has no library", exercise.label()))?;
            let needed =
                metadata.packages.iter().find(|p| p.manifest_path.as_std_path() == manifest);
            let needed = needed.into_iter().flat_map(|package| &package.dependencies);
            let externs = needed.filter_map(|needed| {
                let name = needed.name.replace('-', "_");
                let library = by_name.get(&name)?;
                let name = needed.rename.as_ref().map_or(name, |name| name.replace('-', "_"));
                Some(["--extern".into(), joined(&format!("{name}="), library)])
            });
            let profile = &library.profile;
            let on = |on: bool| if on { "on" } else { "off" };
            let part = Part {
                cases: describe(&program, supervisor)?.cases.into_iter().map(|c| c.name).collect(),
                program,
                starter: root.join(exercise.starter()),
                edition: library.target.edition.to_string(),
                profile: [
                    format!("-Copt-level={}", profile.opt_level),
                    format!("-Cdebuginfo={}", profile.debuginfo),
                    format!("-Cdebug-assertions={}", on(profile.debug_assertions)),
                    format!("-Coverflow-checks={}", on(profile.overflow_checks)),
                ]
                .map(OsString::from)
                .to_vec(),
                externs: externs.flatten().collect(),
            };
            kit.exercises.insert(exercise.name.clone(), part);
        }
        Ok(kit)
    }

    /// Where everything of the submissions is kept.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// One of the checkout's own grade binaries.
    pub fn any_program(&self) -> Option<&Path> {
        self.exercises.values().next().map(|part| part.program.as_path())
    }

    /// The cases of an exercise.
    pub fn cases(&self, exercise: &Exercise) -> &[String] {
        self.exercises.get(&exercise.name).map_or(&[], |part| &part.cases)
    }

    /// A name for this grader: its libraries, its cases, this program, and how it runs them.
    ///
    /// # Errors
    /// Where a file of the checkout cannot be read.
    pub fn fingerprint(
        &self,
        course: &Course,
        supervisor: &Supervisor,
        device: &Option<Device>,
    ) -> anyhow::Result<String> {
        let mut hash = Sha256::new();
        // Files that were built are large, and made anew when they change: their times tell.
        // By this name it is found even after cargo has built it anew.
        let mut built: Vec<PathBuf> = vec![PathBuf::from("/proc/self/exe")];
        for entry in self.libraries.read_dir()? {
            built.push(entry?.path());
        }
        built.sort();
        for file in built {
            let metadata = file.metadata()?;
            hash.update(file.file_name().unwrap_or_default().as_encoded_bytes());
            hash.update(format!(" {} {:?}\n", metadata.len(), metadata.modified()?));
        }
        for exercise in &course.exercises {
            let folder = course.root.join("exercises").join(&exercise.folder);
            hash.update(std::fs::read(folder.join("exercise.toml"))?);
            hash.update(sources::digest(&sources::read(&folder.join("tests"))?));
            // What signatures are held against.
            let starter = sources::read(&course.root.join(exercise.starter()));
            hash.update(sources::digest(&starter.unwrap_or_default()));
        }
        hash.update(conditions(supervisor, device.as_ref()));
        Ok(hex(&hash.finalize()[..16]))
    }

    /// Builds the grade binary of a submission's exercise, from what is in its room.
    ///
    /// # Errors
    /// Where rustc cannot be run at all.
    pub fn build(
        &self,
        exercise: &Exercise,
        room: &Room,
        supervisor: &Supervisor,
    ) -> std::io::Result<Result<PathBuf, NotBuilt>> {
        let Some(part) = self.exercises.get(&exercise.name) else {
            return Ok(Err(NotBuilt::Grader(format!("the kit has no {}", exercise.label()))));
        };
        let folder = format!("exercises/{}", exercise.folder);
        let built = room.built();
        let library = built.join(format!("lib{}.rlib", exercise.name));
        let list = built.join(format!("{}.d", exercise.name));
        let program = built.join(format!("grade-{}", exercise.name));
        for old in [&library, &list, &program] {
            if old.exists() {
                std::fs::remove_file(old)?;
            }
        }
        let common = |name: &str, source: &str, kind: &str| {
            let mut arguments: Vec<OsString> =
                ["--error-format=json", "--json=diagnostic-rendered-ansi"]
                    .map(OsString::from)
                    .to_vec();
            arguments.extend([
                "--crate-name".into(),
                name.into(),
                "--crate-type".into(),
                kind.into(),
            ]);
            arguments.extend(["--edition".into(), part.edition.clone().into()]);
            arguments.push(format!("{folder}/{source}").into());
            arguments.extend(part.profile.iter().chain(&self.flags).chain(&part.externs).cloned());
            arguments
        };
        let rustc = self.rustc(exercise, room, supervisor);
        let not_built = |ran: Rustc, in_library: bool| {
            let errors = ran.errors.into_iter();
            let errors: Vec<_> =
                errors.map(|diagnostic| build::Error { in_library, diagnostic }).collect();
            let rejected = |why: String, said| {
                let finding = Finding::new(diagnosis::DOES_NOT_COMPILE, why);
                NotBuilt::Learner(Box::new(finding), said)
            };
            match (ran.ended, errors.is_empty()) {
                _ if !self.is_whole() => {
                    let why = format!("{} was changed meanwhile", self.libraries.display());
                    NotBuilt::Grader(format!("{why}; grade once more\n{}", ran.said))
                }
                (Some(ended), _) => rejected(format!("rustc {ended}"), ran.said),
                (None, false) => {
                    let (root, folder) = (room.workspace(), Path::new(&folder));
                    build::not_built(&root, folder, &part.starter, &errors)
                }
                // An error longer than what is kept of rustc's output, or one of rustc's own.
                (None, true) if ran.is_cut => {
                    rejected("rustc says more than is kept of it".to_owned(), ran.said)
                }
                (None, true) if ran.said.contains(RUSTC_PANICKED) => {
                    rejected("rustc itself panicked".to_owned(), ran.said)
                }
                (None, true) => NotBuilt::Grader(ran.said),
            }
        };

        let mut arguments = common(&exercise.name, "src/lib.rs", "lib");
        arguments.extend(["--emit=dep-info,link".into(), "--out-dir".into(), built.into()]);
        let ran = self.run(&rustc, room, &arguments)?;
        if !ran.success {
            return Ok(Err(not_built(ran, true)));
        }
        let list = String::from_utf8_lossy(&std::fs::read(list)?).into_owned();
        let src = room.workspace().join(&folder).join("src");
        if let Some(file) = taken_in::from_outside(&list, &room.workspace(), &src) {
            let why = format!("src/ takes in {}, which is not in it", file.display());
            let finding = Finding::new(diagnosis::REFUSED, why);
            return Ok(Err(NotBuilt::Learner(Box::new(finding), ran.said)));
        }
        let mut arguments = common("grade", "tests/grade.rs", "bin");
        arguments.extend(["-o".into(), program.clone().into()]);
        arguments.extend(["--cfg".into(), "test".into(), "--extern".into()]);
        arguments.push(joined(&format!("{}=", exercise.name), &library));
        let ran = self.run(&rustc, room, &arguments)?;
        Ok(if ran.success { Ok(program) } else { Err(not_built(ran, false)) })
    }

    /// Whether the libraries are still as they were put there: what does not compile without them says
    /// nothing about a submission.
    fn is_whole(&self) -> bool {
        let is_as_put =
            |(file, size): &(PathBuf, u64)| file.metadata().is_ok_and(|found| found.len() == *size);
        self.rustc.exists() && self.put.iter().all(is_as_put)
    }

    /// A supervisor for rustc on this exercise.
    fn rustc(&self, exercise: &Exercise, room: &Room, supervisor: &Supervisor) -> Supervisor {
        let mut rustc = room.confine_rustc(supervisor, &self.read);
        rustc.time_limit = RUSTC_LIMIT;
        rustc.kept = 1 << 20;
        let folder = room.workspace().join("exercises").join(&exercise.folder);
        if let Some(environment) = &mut rustc.environment {
            environment.push(("CARGO_MANIFEST_DIR".into(), folder.into()));
            environment.push(("CARGO_PKG_NAME".into(), exercise.name.clone().into()));
        }
        rustc
    }

    fn run(
        &self,
        supervisor: &Supervisor,
        room: &Room,
        arguments: &[OsString],
    ) -> std::io::Result<Rustc> {
        let run = || supervisor.run_program(&self.rustc, arguments);
        let (ran, over) = disk::limited(room.folder(), disk::LIMIT, run);
        let ran = ran?;
        let (errors, said) = read_messages(&ran.output);
        let success = ran.success && over.is_none();
        let is_cut = ran.output.is_cut();
        Ok(Rustc { success, ended: over.or(ran.ended), errors, said, is_cut })
    }
}

/// Waits until nobody else grades submissions in this folder: two would spoil each other's results.
fn lock(folder: &Path, blocked: impl FnOnce()) -> anyhow::Result<Flock<File>> {
    std::fs::create_dir_all(folder)?;
    let file = folder.join("lock");
    let shown = || format!("{} cannot be locked", file.display());
    let open = || File::create(&file).with_context(shown);
    match Flock::lock(open()?, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => return Ok(lock),
        Err((_, Errno::EWOULDBLOCK)) => {
            warn(&format!(
                "another run grades submissions in {}; waiting for it",
                folder.display()
            ));
            blocked();
        }
        Err((_, error)) => return Err(error).with_context(shown),
    }
    Flock::lock(open()?, FlockArg::LockExclusive).map_err(|(_, error)| error).with_context(shown)
}

/// What a result depends on besides sources, cases and libraries.
pub fn conditions(supervisor: &Supervisor, device: Option<&Device>) -> String {
    let Supervisor { time_limit, output_limit, limits, seed, .. } = supervisor;
    let limits = format!("{output_limit} {limits:?} {}", disk::LIMIT);
    format!("{time_limit:?} {limits} {seed:?} {device:?}")
}

/// One call of rustc.
struct Rustc {
    success: bool,
    ended: Option<String>,
    errors: Vec<Diagnostic>,
    /// What it wrote that is no message.
    said: String,
    /// Whether it wrote more than was kept.
    is_cut: bool,
}

/// rustc's errors, and whatever else was written.
fn read_messages(output: &Captured) -> (Vec<Diagnostic>, String) {
    let mut errors = Vec::new();
    let mut said = String::new();
    for line in output.text().lines() {
        match serde_json::from_str::<Diagnostic>(line) {
            Ok(message) if build::is_error(&message) => errors.push(message),
            Ok(_) => {}
            Err(_) => said += &format!("{line}\n"),
        }
    }
    (errors, said)
}

fn is_library(artifact: &Artifact) -> bool {
    let kinds = [TargetKind::Lib, TargetKind::RLib, TargetKind::ProcMacro];
    artifact.target.kind.iter().any(|kind| kinds.contains(kind))
}

fn joined(prefix: &str, path: &Path) -> OsString {
    let mut text = OsString::from(prefix);
    text.push(path);
    text
}

/// The folder of the toolchain that builds the checkout.
fn sysroot(root: &Path) -> anyhow::Result<PathBuf> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .current_dir(root)
        .args(["--print", "sysroot"])
        .output()
        .context("rustc could not be run")?;
    Ok(String::from_utf8(output.stdout)?.trim_end().into())
}

/// The flags that the checkout's configuration gives to every call of rustc.
fn own_flags(root: &Path) -> anyhow::Result<Vec<String>> {
    if let Ok(flags) = std::env::var("RUSTFLAGS") {
        return Ok(flags.split_whitespace().map(str::to_owned).collect());
    }
    let file = root.join(".cargo/config.toml");
    if !file.exists() {
        return Ok(Vec::new());
    }
    let config: toml::Table = toml::from_str(&std::fs::read_to_string(file)?)?;
    let flags = config.get("build").and_then(|build| build.get("rustflags"));
    Ok(match flags {
        Some(toml::Value::Array(flags)) => {
            flags.iter().filter_map(|flag| flag.as_str().map(str::to_owned)).collect()
        }
        Some(toml::Value::String(flags)) => flags.split_whitespace().map(str::to_owned).collect(),
        _ => Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kit_that_was_changed_says_nothing_of_a_submission() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let library = folder.path().join("liba.rlib");
        std::fs::write(&library, "a library").expect("it can be written");
        let kit = Kit {
            folder: folder.path().to_owned(),
            libraries: folder.path().to_owned(),
            rustc: library.clone(),
            read: Vec::new(),
            flags: Vec::new(),
            put: vec![(library.clone(), 9)],
            _lock: lock(folder.path(), || {}).expect("nobody else has it"),
            exercises: BTreeMap::new(),
        };
        assert!(kit.is_whole());
        std::fs::write(&library, "another library").expect("it can be written");
        assert!(!kit.is_whole());
        std::fs::remove_file(&library).expect("it is there");
        assert!(!kit.is_whole());
    }
}
