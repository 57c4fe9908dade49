//! `cargo xtask new`: an exercise that `verify` accepts, with the gaps marked.
//!
//! What it makes is a whole small exercise about one launch and one wait. Where its author has something
//! to say it has a `GAP:`; the tidy test lets none of these into the course.

use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};
use cargo_metadata::MetadataCommand;

use crate::cli::NewArguments;
use crate::course::Course;
use crate::exit::{Exit, UsageError};
use crate::text;

/// What stands where the author has something to write.
const GAP: &str = "GAP:";

macro_rules! templates {
    ($($path:literal)*) => {
        &[$(($path, include_str!(concat!("../../templates/", $path)))),*]
    };
}

/// The files: where they lie in the folder of exercise or solution, and what is in them.
const TEMPLATES: &[(&str, &str)] = templates! {
    "exercise/Cargo.toml"
    "exercise/README.md"
    "exercise/exercise.toml"
    "exercise/src/lib.rs"
    "exercise/tests/cases.rs"
    "exercise/tests/grade.rs"
    "solution/Cargo.toml"
    "solution/src/lib.rs"
    "solution/tests/grade.rs"
    "solution/tests/mutants.rs"
    "solution/mutants/waits_twice.rs"
};

/// The words of Rust, reserved ones too.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Crates that every program knows under these names.
const STANDARD: &[&str] = &["alloc", "core", "proc_macro", "std", "test"];

/// Makes the exercise, and lists its gaps.
///
/// # Errors
/// Where the name or number cannot be had, or a file cannot be written.
pub fn run(root: &Path, arguments: &NewArguments) -> anyhow::Result<Exit> {
    let course = Course::begun(root)?;
    let name = &arguments.name;
    check_name(name).map_err(UsageError)?;
    check_packages(root, name)?;
    let last = course.exercises.last().map_or(0, |exercise| exercise.number);
    let number = arguments.number.unwrap_or(last + 1);
    if let Some(taken) = course.exercises.iter().find(|exercise| exercise.number == number) {
        let message = format!("number {number} is taken by {}; leave --number out", taken.label());
        return Err(UsageError(message).into());
    }
    let folder = format!("{number:02}_{name}");
    let files = files(number, name, &folder);
    let folders = ["exercises", "solutions"].map(|of| format!("{of}/{folder}"));
    if let Some(there) = folders.iter().find(|folder| root.join(folder).exists()) {
        return Err(UsageError(format!("{there} is there already; nothing was changed")).into());
    }
    for (path, text) in &files {
        create(&root.join(path), text).with_context(|| format!("{path} cannot be written"))?;
    }
    text::print(&said(number, &files))?;
    Ok(Exit::Success)
}

/// Whether a package can have this name; what is wrong with it otherwise.
fn check_name(name: &str) -> Result<(), String> {
    let is_lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    if !begins || !name.chars().all(is_lower) {
        return Err(format!("`{name}` cannot be a crate's name; give one like async_launch"));
    }
    if KEYWORDS.contains(&name) {
        return Err(format!("`{name}` is a word of Rust; give another name"));
    }
    if STANDARD.contains(&name) {
        return Err(format!("`{name}` is a crate that comes with Rust; give another name"));
    }
    Ok(())
}

/// Whether no package of the workspace, and nothing that they depend on, has the name.
fn check_packages(root: &Path, name: &str) -> anyhow::Result<()> {
    let metadata = MetadataCommand::new().current_dir(root).no_deps().exec()?;
    let ours = [name.to_owned(), format!("{name}_solution")];
    let named = metadata.packages.iter().flat_map(|package| {
        let needed = package.dependencies.iter().map(|needed| needed.name.clone());
        needed.chain([package.name.to_string()])
    });
    let taken = named.map(|taken| taken.replace('-', "_")).find(|taken| ours.contains(taken));
    match taken {
        Some(taken) => Err(UsageError(format!("there is a package `{taken}` already")).into()),
        None => Ok(()),
    }
}

/// The files of an exercise, within the workspace.
fn files(number: u32, name: &str, folder: &str) -> Vec<(String, String)> {
    let filled = |text: &str| {
        text.replace("__NN__", &format!("{number:02}"))
            .replace("__FOLDER__", folder)
            .replace("__NAME__", name)
    };
    let mut files = Vec::new();
    for (path, text) in TEMPLATES {
        let (of, inside) = path.split_once('/').unwrap_or(("exercise", path));
        files.push((format!("{of}s/{folder}/{inside}"), filled(text)));
        if let Some(source) = path.strip_prefix("exercise/src/") {
            files.push((format!("solutions/{folder}/starter/{source}"), filled(text)));
        }
    }
    files
}

/// Writes a file that is not there yet.
fn create(path: &Path, text: &str) -> anyhow::Result<()> {
    ensure!(!path.exists(), "it is there already");
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    Ok(fs::write(path, text)?)
}

/// What there is to do now.
fn said(number: u32, files: &[(String, String)]) -> String {
    let mut said = String::new();
    let mut gaps = 0;
    for (path, text) in files {
        for (line, text) in text.lines().enumerate() {
            if let Some((_, gap)) = text.split_once(GAP) {
                gaps += 1;
                let place = format!("{path}:{}: {}", line + 1, gap.trim());
                said += &format!("{}\n", text::wrapped(&place, "    "));
            }
        }
    }
    let next = format!(
        "{} to fill. `cargo xtask check {number}` grades the starter, and `cargo xtask verify {number}` \
         holds starter, solution and mutants to what they must get. CONTRIBUTING.md says more.",
        text::counted(gaps, "gap")
    );
    said + &text::wrapped(&next, "") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_crates() {
        for name in ["a", "async_launch", "h2d_copies", "graph_2"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in ["", "2d", "_a", "Async", "a-b", "a b", "a/b", "..", "ä", "self", "gen", "std"]
        {
            assert!(check_name(name).is_err(), "{name}");
        }
        assert!(KEYWORDS.is_sorted());
    }

    #[test]
    fn templates_are_filled_in() {
        let files = files(8, "two_waits", "08_two_waits");
        let is = |wanted: &str| files.iter().find(|(path, _)| path == wanted).expect("it is made");
        let starter = &is("solutions/08_two_waits/starter/lib.rs").1;
        assert_eq!(*starter, is("exercises/08_two_waits/src/lib.rs").1);
        for (path, text) in &files {
            assert!(!text.contains("__"), "{path}:\n{text}");
        }
    }
}
