//! The workspace keeps its own rules: headers, paths in prose, dependency edges, no stray files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{DependencyKind, MetadataCommand};

fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().expect("xtask is in the workspace")
}

/// The files of the workspace, without what is built or hidden.
fn files(under: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(under)];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().expect("a folder can be read") {
            let entry = entry.expect("an entry can be read");
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type().expect("an entry has a type");
            let skipped = name.starts_with('.') || name.starts_with("target");
            if kind.is_dir() && !skipped {
                folders.push(entry.path());
            } else if kind.is_file() && !name.starts_with('.') {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

fn with_extension(files: Vec<PathBuf>, extension: &str) -> impl Iterator<Item = PathBuf> {
    let extension = extension.to_owned();
    files.into_iter().filter(move |file| file.extension().is_some_and(|e| *e == *extension))
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn shown(file: &Path) -> String {
    file.strip_prefix(root()).unwrap_or(file).display().to_string()
}

#[test]
fn every_rust_file_says_what_it_is() {
    let without: Vec<String> = with_extension(files(""), "rs")
        .filter(|file| !read(file).trim_start_matches('\u{feff}').starts_with("//!"))
        .map(|file| shown(&file))
        .collect();
    assert_eq!(without, Vec::<String>::new(), "these do not start with //!");
}

#[test]
fn every_path_in_prose_is_there() {
    let mut missing = Vec::new();
    for file in with_extension(files(""), "md") {
        let text = read(&file);
        for path in paths_in(&text) {
            // Paths are meant from the workspace, or from the file itself.
            let here = file.parent().expect("a file is in a folder");
            if !root().join(&path).exists() && !here.join(&path).exists() {
                missing.push(format!("{}: {path}", shown(&file)));
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new(), "these paths are not there");
}

/// What looks like a path of ours in Markdown: a link's relative target, or code in backticks that
/// begins with one of the workspace's folders.
fn paths_in(text: &str) -> Vec<String> {
    let folders =
        ["exercises/", "solutions/", "harness/", "kernels/", "xtask/", ".cargo/", ".ci/", "docs/"];
    let quoted = text.split("```").step_by(2).flat_map(|prose| prose.split('`').skip(1).step_by(2));
    let quoted = quoted
        .filter(|code| folders.iter().any(|folder| code.starts_with(folder)))
        .filter(|code| !code.contains(['*', '<', ' ', '{', '$']) && !code.contains("NN"))
        .map(|code| code.split(':').next().unwrap_or(code).to_owned());
    let links = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let links = links
        .map(|(target, _)| target.split('#').next().unwrap_or(target).to_owned())
        .filter(|target| !target.is_empty() && !target.contains(':'));
    quoted.chain(links).collect()
}

/// A diagnosis sends whoever has lost a signature to the lesson.
#[test]
fn every_lesson_shows_the_signatures_of_its_starter() {
    let mut missing = Vec::new();
    for folder in root().join("exercises").read_dir().expect("there are exercises").flatten() {
        let name = folder.file_name();
        let starter = read(&root().join("solutions").join(&name).join("starter/lib.rs"));
        let signatures = signatures(&starter);
        assert!(!signatures.is_empty(), "{name:?}");
        let lesson = in_one_line(&read(&folder.path().join("README.md")));
        let shown = |signature: &String| lesson.contains(signature);
        missing.extend(signatures.into_iter().filter(|signature| !shown(signature)));
    }
    assert_eq!(missing, Vec::<String>::new(), "no lesson shows these");
}

/// The public functions, each in one line; a parameter that a starter does not use yet has no underscore.
fn signatures(source: &str) -> Vec<String> {
    let signatures = source.split("pub fn ").skip(1).filter_map(|rest| rest.split_once(" {\n"));
    let signatures = signatures.map(|(signature, _)| in_one_line(&format!("pub fn {signature}")));
    signatures.map(|signature| signature.replace("(_", "(").replace(" _", " ")).collect()
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn signatures_are_found_in_sources() {
    let source = "/// A sum.\npub fn sum(\n    _a: u32,\n    b: u32,\n) -> u32 {\n    b\n}\n\
        impl A {\n    pub fn wait(&self) {\n    }\n    fn private() {\n    }\n}\n";
    assert_eq!(signatures(source), ["pub fn sum( a: u32, b: u32, ) -> u32", "pub fn wait(&self)"]);
}

#[test]
fn paths_are_found_in_prose() {
    let text = "See `harness/driver`, [the lesson](README.md#task), [CUDA](https://docs.nvidia.com),\n\
        `exercises/NN_name`, `cargo xtask` and `kernels/src/lib.rs:3`.\n```\n`xtask/none`\n```\n";
    assert_eq!(paths_in(text), ["harness/driver", "kernels/src/lib.rs", "README.md"]);
}

#[test]
fn nothing_speaks_of_somebodys_machine() {
    let folder = |path: &str| format!("{path}/");
    // Written so that this file does not find itself.
    let homes = ["/home", "/root", "/Users", "C:\\Users", "/workspace"].map(folder);
    // Examples that mean nobody's.
    let examples = [["/home", "me/"].join("/"), ["/home", "you/"].join("/")];
    let texts = ["rs", "md", "toml", "py", "cu", "yml", "snap", "case"];
    let mut found = Vec::new();
    let here = texts.iter().flat_map(|extension| with_extension(files(""), extension));
    for file in here.chain(files(".ci")).chain(files(".github")).chain(files(".cargo")) {
        let text = examples.iter().fold(read(&file), |text, example| text.replace(example, ""));
        let named = homes.iter().filter(|home| text.contains(home.as_str()));
        found.extend(named.map(|home| format!("{}: {home}", shown(&file))));
    }
    assert_eq!(found, Vec::<String>::new(), "these name a folder of one machine");
}

#[test]
fn dependencies_point_one_way() {
    let metadata = MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .exec()
        .expect("cargo knows the workspace");
    let names: BTreeSet<&str> = metadata.packages.iter().map(|p| p.name.as_str()).collect();
    let ours: BTreeMap<&str, BTreeSet<&str>> = metadata
        .packages
        .iter()
        .map(|package| {
            let needed = package
                .dependencies
                .iter()
                .filter(|needed| needed.kind != DependencyKind::Development)
                .map(|needed| needed.name.as_str())
                .filter(|name| names.contains(name));
            (package.name.as_str(), needed.collect())
        })
        .collect();
    let allowed = |package: &str| -> &[&str] {
        match package {
            "streamlings-trace" | "streamlings-kernels" => &[],
            "streamlings-driver" => &["streamlings-trace", "streamlings-kernels"],
            "streamlings-grade" => &["streamlings-trace", "streamlings-driver"],
            "streamlings-tensor" => {
                &["streamlings-trace", "streamlings-driver", "streamlings-kernels"]
            }
            "streamlings-quiz" => {
                &["streamlings-trace", "streamlings-driver", "streamlings-tensor"]
            }
            "streamlings" => &[
                "streamlings-trace",
                "streamlings-driver",
                "streamlings-kernels",
                "streamlings-grade",
                "streamlings-tensor",
            ],
            "xtask" => &["streamlings-trace", "streamlings-grade"],
            // Exercises and solutions see the facade, and nothing below it.
            _ => &["streamlings"],
        }
    };
    assert!(ours.len() >= 6, "the workspace has lost its packages: {ours:?}");
    for (package, needed) in &ours {
        for needed in needed {
            assert!(allowed(package).contains(needed), "{package} must not depend on {needed}");
        }
    }
}

#[test]
fn the_command_line_does_not_link_the_driver() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(root())
        .args(["tree", "--package", "xtask", "--edges", "normal", "--prefix", "none"])
        .output()
        .expect("cargo runs");
    let tree = String::from_utf8_lossy(&output.stdout);
    assert!(tree.contains("streamlings-grade"), "{output:?}");
    assert!(!tree.contains("streamlings-driver"), "xtask links the driver:\n{tree}");
}

#[test]
fn exercises_and_solutions_hold_nothing_stray() {
    let exercise = ["Cargo.toml", "README.md", "exercise.toml", "src/lib.rs", "tests/cases.rs"];
    let mut stray = Vec::new();
    for (folder, expected) in [
        ("exercises", &[&exercise[..], &["tests/grade.rs"]].concat()[..]),
        ("solutions", &["Cargo.toml", "src/lib.rs", "tests/grade.rs", "tests/mutants.rs"]),
    ] {
        if !root().join(folder).exists() {
            continue;
        }
        for file in files(folder) {
            let inside: PathBuf = file
                .strip_prefix(root().join(folder))
                .expect("it is in the folder")
                .components()
                .skip(1)
                .collect();
            let inside = inside.to_string_lossy().into_owned();
            let variant = ["mutants/", "starter/"].iter().any(|start| inside.starts_with(start));
            let variant = folder == "solutions" && variant;
            let test_part = folder == "exercises" && inside.starts_with("tests/");
            let module = inside.strip_prefix("src/").is_some_and(|name| is_module(&file, name));
            if !expected.contains(&inside.as_str()) && !variant && !test_part && !module {
                stray.push(shown(&file));
            }
        }
    }
    assert_eq!(stray, Vec::<String>::new(), "these files have no business there");
}

/// `cargo xtask reset` takes the starter from there, with or without git.
#[test]
fn every_starter_is_kept() {
    let mut differing = Vec::new();
    for folder in root().join("exercises").read_dir().into_iter().flatten().flatten() {
        let name = folder.file_name().to_string_lossy().into_owned();
        let (source, kept) = (format!("exercises/{name}/src"), format!("solutions/{name}/starter"));
        let texts = |under: &str| -> BTreeMap<PathBuf, String> {
            let folder = root().join(under);
            let files = if folder.exists() { files(under) } else { Vec::new() };
            let inside = |file: &Path| file.strip_prefix(&folder).expect("it is there").to_owned();
            files.iter().map(|file| (inside(file), read(file))).collect()
        };
        if texts(&source) != texts(&kept) {
            differing.push(format!("mkdir -p {kept} && cp -r {source}/. {kept}/"));
        }
    }
    assert_eq!(differing, Vec::<String>::new(), "these starters are not kept; the commands do it");
}

/// `cargo xtask new` marks what its author has to write.
#[test]
fn no_gap_is_left() {
    let mut left = Vec::new();
    for file in files("exercises").into_iter().chain(files("solutions")) {
        let text = read(&file);
        // In Rust it stands in comments; a constant may have the name.
        let is_rust = file.extension().is_some_and(|extension| extension == "rs");
        let prose = |line: &str| match is_rust {
            true => line.find("//").map_or(String::new(), |at| line[at..].to_owned()),
            false => line.to_owned(),
        };
        let lines = text.lines().enumerate().filter(|(_, line)| prose(line).contains("GAP:"));
        left.extend(lines.map(|(index, _)| format!("{}:{}", shown(&file), index + 1)));
    }
    assert_eq!(left, Vec::<String>::new(), "these gaps are not filled");
}

/// Whether the `lib.rs` beside a file declares it as a module.
fn is_module(file: &Path, name: &str) -> bool {
    let lib = read(&file.with_file_name("lib.rs"));
    name.strip_suffix(".rs").is_some_and(|name| lib.contains(&format!("\npub mod {name};\n")))
}

#[test]
fn every_exercise_has_its_solution() {
    let folders = |of: &str| -> BTreeSet<String> {
        let Ok(entries) = root().join(of).read_dir() else { return BTreeSet::new() };
        let entries = entries.map(|entry| entry.expect("an entry can be read"));
        let folders = entries.filter(|entry| entry.path().is_dir());
        folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    assert_eq!(folders("exercises"), folders("solutions"));
}
