//! How far a build has come: how many of its crates are done, and of how many.
//!
//! cargo says how many only to whoever sees its own bar. But which packages a build takes, with the features
//! that are on, is what `cargo tree` prints, and what there is to build of each is in `cargo metadata`. That
//! takes a moment, so it is asked for beside a build that turns out to be a long one, and only if somebody is
//! watching.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cargo_metadata::{MetadataCommand, TargetKind};

use super::Package;
use super::messages::cargo;
use crate::progress::Progress;
use crate::text::counted;

/// A build that takes longer than this gets a total.
const LONG: Duration = Duration::from_secs(2);

/// The crates of one build.
pub struct Crates<'a> {
    progress: &'a Progress,
    root: &'a Path,
    packages: &'a [Package],
    tests: &'a [&'a str],
    began: Instant,
    done: usize,
    total: Total,
}

enum Total {
    NotAsked,
    Asked(JoinHandle<Option<usize>>),
    Shown,
    /// Nobody watches, or cargo did not say it.
    Unknown,
}

impl<'a> Crates<'a> {
    /// Of the build of these test targets of these packages, which begins now.
    pub fn new(
        root: &'a Path,
        packages: &'a [Package],
        tests: &'a [&'a str],
        progress: &'a Progress,
    ) -> Crates<'a> {
        let total = if progress.is_seen() { Total::NotAsked } else { Total::Unknown };
        Crates { progress, root, packages, tests, began: Instant::now(), done: 0, total }
    }

    /// Another crate is done.
    pub fn done(&mut self, name: &str) {
        self.done += 1;
        self.total = match std::mem::replace(&mut self.total, Total::Unknown) {
            Total::NotAsked if self.began.elapsed() > LONG => Total::Asked(self.ask()),
            Total::Asked(answer) if answer.is_finished() => match answer.join().ok().flatten() {
                Some(total) => {
                    self.progress.steps(total);
                    Total::Shown
                }
                None => Total::Unknown,
            },
            same => same,
        };
        self.progress.is_at(self.done);
        let crates = match self.total {
            Total::Shown => String::new(),
            _ => format!("{}, ", counted(self.done, "crate")),
        };
        self.progress.say(format!("building: {crates}{name}"));
    }

    fn ask(&self) -> JoinHandle<Option<usize>> {
        let root = self.root.to_owned();
        let packages = self.packages.to_vec();
        let tests: Vec<String> = self.tests.iter().map(|test| (*test).to_owned()).collect();
        std::thread::spawn(move || total(&root, &packages, &tests))
    }
}

/// How many crates there are to build: libraries, procedural macros and build scripts of all packages that it
/// takes, and the tests that are asked for.
fn total(root: &Path, packages: &[Package], tests: &[String]) -> Option<usize> {
    let tree = Command::new(cargo())
        .current_dir(root)
        .args(["tree", "--quiet", "--frozen", "--edges=normal,build,dev", "--prefix=none"])
        .args(packages.iter().flat_map(|package| ["--package", &package.name]))
        .stdin(Stdio::null())
        .output()
        .ok()?;
    // `serde v1.0.228`, and whatever else is to be said of it.
    let tree = String::from_utf8(tree.stdout).ok().filter(|_| tree.status.success())?;
    let taken: BTreeSet<(&str, &str)> = tree
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            Some((words.next()?, words.next()?.strip_prefix('v')?))
        })
        .collect();
    let metadata = MetadataCommand::new()
        .current_dir(root)
        .cargo_path(PathBuf::from(cargo()))
        .other_options(["--frozen".to_owned()])
        .exec()
        .ok()?;
    let crates = metadata.packages.iter().map(|package| {
        if !taken.contains(&(package.name.as_str(), package.version.to_string().as_str())) {
            return 0;
        }
        let is_asked_for = packages.iter().any(|asked| *asked.name == **package.name);
        let is_built = |target: &&cargo_metadata::Target| match target.kind[..] {
            [TargetKind::Test] => is_asked_for && tests.contains(&target.name),
            [TargetKind::Bin | TargetKind::Example | TargetKind::Bench] => false,
            _ => true,
        };
        package.targets.iter().filter(is_built).count()
    });
    Some(crates.sum())
}

#[cfg(test)]
mod tests {
    use super::super::build;
    use super::*;

    #[test]
    fn the_total_is_what_cargo_comes_to() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
            std::fs::write(path, text).expect("it can be written");
        };
        let package = |name: &str, rest: &str| {
            let head = "version = \"0.1.0\"\nedition = \"2024\"";
            write(
                &format!("{name}/Cargo.toml"),
                &format!("[package]\nname = \"{name}\"\n{head}\n{rest}"),
            );
            write(&format!("{name}/src/lib.rs"), "//! A library.\n");
        };
        write(
            "Cargo.toml",
            "[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\nexclude = [\"target\"]\n",
        );
        let test = "[[test]]\nname = \"grade\"\nharness = false\n[[test]]\nname = \"other\"\n";
        package(
            "asked",
            &format!(
                "{test}[dependencies]\nused = {{ path = \"../used\" }}\n[dev-dependencies]\ndev = {{ path = \"../dev\" }}\n"
            ),
        );
        for test in ["grade", "other"] {
            write(&format!("asked/tests/{test}.rs"), "//! A test.\nfn main() {}\n");
        }
        // Its optional dependency is not asked for; its program and its tests are not built.
        package(
            "used",
            "[dependencies]\noff = { path = \"../off\", optional = true }\n[dev-dependencies]\nother = { path = \"../other\" }\n[build-dependencies]\nscript = { path = \"../script\" }\n",
        );
        write("used/build.rs", "//! A build script.\nfn main() {}\n");
        write("used/src/main.rs", "//! A program.\nfn main() {}\n");
        write("used/tests/grade.rs", "//! A test.\n");
        for name in ["dev", "off", "other", "script"] {
            package(name, "");
        }
        let packages = [Package { name: "asked".to_owned(), folder: "asked".into() }];
        let progress = Progress::start("building");
        let built = build(root.path(), &packages, &["grade"], &progress).expect("cargo runs");
        // Two libraries, the build script and its library, the development dependency, the test.
        assert_eq!(built.artifacts.len(), 6, "{:?}", built.artifacts);
        assert_eq!(total(root.path(), &packages, &["grade".to_owned()]), Some(6));
        let nobody = [Package { name: "nobody".to_owned(), folder: "nobody".into() }];
        assert_eq!(total(root.path(), &nobody, &[]), None);
    }
}
