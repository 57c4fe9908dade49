//! Building grade binaries with cargo: which were made, and what rustc said of the learner's code.

mod crates;
mod errors;
pub mod messages;
mod signatures;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use cargo_metadata::diagnostic::{Diagnostic, DiagnosticLevel};
use cargo_metadata::{Artifact, Message};
use streamlings_grade::Finding;

use self::crates::Crates;
pub use self::errors::not_built;
use crate::progress::Progress;

/// The driver's crate, as cargo names its folder.
const DRIVER: &str = "harness/driver";

/// A package to build.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its folder, within the workspace.
    pub folder: PathBuf,
}

impl Package {
    /// The starter that its exercise began with.
    fn starter(&self, root: &Path) -> PathBuf {
        root.join("solutions").join(self.folder.file_name().unwrap_or_default()).join("starter")
    }
}

/// What one build gave.
#[derive(Debug, Default)]
pub struct Built {
    /// The test binaries, by package and test target.
    programs: HashMap<(String, String), PathBuf>,
    /// rustc's errors, by package.
    errors: HashMap<String, Vec<Error>>,
    /// rustc's warnings about the packages' own libraries, as it renders them.
    warnings: HashMap<String, Vec<String>>,
    /// All that was built, or was there already.
    pub artifacts: Vec<Artifact>,
    /// Where build scripts have the linker look.
    pub linked_paths: Vec<String>,
    /// What went wrong outside of the packages asked for.
    trouble: Option<String>,
    /// What the driver's build script configured.
    driver_configuration: Option<Vec<String>>,
}

/// One of rustc's errors.
#[derive(Debug)]
pub struct Error {
    /// Whether it is in the package's own code, and not in its tests.
    pub in_library: bool,
    /// What rustc said.
    pub diagnostic: Diagnostic,
}

/// Why a package has no grade binary.
#[derive(Debug)]
pub enum NotBuilt {
    /// For a reason in the learner's code; rustc's own messages with it.
    Learner(Box<Finding>, String),
    /// The cases cannot use the learner's code. rustc's messages with it are about the cases, which are not the
    /// learner's to read.
    Unfit(Box<Finding>, String),
    /// For any other reason.
    Grader(String),
}

impl NotBuilt {
    /// rustc's own messages, or cargo's.
    pub fn said(self) -> String {
        match self {
            NotBuilt::Learner(_, said) | NotBuilt::Unfit(_, said) | NotBuilt::Grader(said) => said,
        }
    }
}

/// Builds these test targets of these packages. One package that does not compile does not keep the
/// others from being built.
///
/// # Errors
/// Where cargo cannot be run.
pub fn build(
    root: &Path,
    packages: &[Package],
    targets: &[&str],
    progress: &Progress,
) -> anyhow::Result<Built> {
    let tests = targets.iter().flat_map(|target| ["--test", target]);
    let names = packages.iter().flat_map(|package| ["--package", &package.name]);
    let arguments = ["--keep-going"].into_iter().chain(tests).chain(names);
    let mut built = Built::default();
    let mut crates = Crates::new(root, packages, targets, progress);
    let (status, said) = messages::build(root, arguments, progress, |message| {
        if let Message::CompilerArtifact(artifact) = &message {
            crates.done(&artifact.target.name);
        }
        built.take_in(root, packages, message);
    })?;
    if !status.success() && built.errors.is_empty() && built.trouble.is_none() {
        built.trouble = Some(said.trim().to_owned());
    }
    Ok(built)
}

impl Built {
    fn take_in(&mut self, root: &Path, packages: &[Package], message: Message) {
        let package_of = |source: &Path| {
            let package = packages.iter().find(|p| source.starts_with(root.join(&p.folder)));
            package.map(|package| package.name.clone())
        };
        match message {
            Message::CompilerArtifact(artifact) => {
                let package = package_of(artifact.target.src_path.as_std_path());
                if let (Some(program), Some(package)) = (artifact.executable.clone(), package) {
                    let target = artifact.target.name.clone();
                    self.programs.insert((package, target), program.into_std_path_buf());
                }
                self.artifacts.push(artifact);
            }
            Message::CompilerMessage(message) if is_error(&message.message) => {
                let in_library = message.target.is_lib();
                let diagnostic = message.message;
                match package_of(message.target.src_path.as_std_path()) {
                    Some(package) => {
                        self.errors
                            .entry(package)
                            .or_default()
                            .push(Error { in_library, diagnostic });
                    }
                    None => self.trouble = Some(rendered(&diagnostic)),
                }
            }
            Message::CompilerMessage(message) if message.target.is_lib() => {
                let package = package_of(message.target.src_path.as_std_path());
                if let Some(package) = package.filter(|_| is_warning(&message.message)) {
                    self.warnings.entry(package).or_default().push(rendered(&message.message));
                }
            }
            Message::BuildScriptExecuted(script) => {
                for path in script.linked_paths.into_iter().map(String::from) {
                    if !self.linked_paths.contains(&path) {
                        self.linked_paths.push(path);
                    }
                }
                if script.package_id.repr.contains(DRIVER) {
                    self.driver_configuration = Some(script.cfgs);
                }
            }
            _ => {}
        }
    }

    /// The `cfg`s of the driver crate, if it is among what was built.
    pub fn driver_configuration(&self) -> Option<&[String]> {
        self.driver_configuration.as_deref()
    }

    /// What rustc warns of in a package's own library, as it renders it, in colours.
    pub fn warnings(&self, package: &Package) -> &[String] {
        self.warnings.get(&package.name).map_or(&[], Vec::as_slice)
    }

    /// The binary of a test target, or why there is none.
    ///
    /// # Errors
    /// [`NotBuilt`].
    pub fn program(
        &self,
        root: &Path,
        package: &Package,
        target: &str,
    ) -> Result<PathBuf, NotBuilt> {
        if let Some(program) = self.programs.get(&(package.name.clone(), target.to_owned())) {
            return Ok(program.clone());
        }
        match self.errors.get(&package.name) {
            Some(errors) => Err(not_built(root, &package.folder, &package.starter(root), errors)),
            None => Err(NotBuilt::Grader(self.trouble.clone().unwrap_or_else(|| {
                format!("package `{}` has no test target `{target}`", package.name)
            }))),
        }
    }
}

/// Whether a message is an error, and not a count of them.
pub fn is_error(diagnostic: &Diagnostic) -> bool {
    // The lines without a place only count the errors ("aborting due to 2 previous errors").
    matches!(diagnostic.level, DiagnosticLevel::Error | DiagnosticLevel::Ice)
        && !diagnostic.message.starts_with("aborting due to")
}

/// Whether a message is a warning, and not a count of them, which has no place.
fn is_warning(diagnostic: &Diagnostic) -> bool {
    diagnostic.level == DiagnosticLevel::Warning && !diagnostic.spans.is_empty()
}

fn rendered(diagnostic: &Diagnostic) -> String {
    diagnostic.rendered.clone().unwrap_or_else(|| format!("{}\n", diagnostic.message))
}
