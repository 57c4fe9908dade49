//! What rustc has taken in as source, as it says itself: with `include!` or `#[path]`, that may be any file
//! that it can read, and nobody has looked at it.

use std::path::{Path, PathBuf};

/// The first file of rustc's list (`--emit=dep-info`) that is not in `src`; its paths start from
/// `workspace`.
pub fn from_outside(list: &str, workspace: &Path, src: &Path) -> Option<PathBuf> {
    // First the list itself, after `library.rlib:`; then each file once more, with nothing behind its colon.
    let files = list.lines().filter_map(|line| line.strip_suffix(':'));
    let mut files = files.map(|file| PathBuf::from(file.replace("\\ ", " ")));
    let src = src.canonicalize().unwrap_or_else(|_| src.to_owned());
    let is_inside = |file: &PathBuf| {
        workspace.join(file).canonicalize().is_ok_and(|file| file.starts_with(&src))
    };
    files.find(|file| !is_inside(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_in_src_is_inside() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let src = folder.path().join("one/src");
        std::fs::create_dir_all(&src).expect("it can be made");
        for path in ["one/src/lib.rs", "one/src/a b.rs", "one/other.rs"] {
            std::fs::write(folder.path().join(path), "").expect("it can be written");
        }
        let from_outside = |files: &[&str]| {
            let all = files.join(" ");
            let each: String = files.iter().map(|file| format!("\n{file}:\n")).collect();
            let list = format!("/built/libone.rlib: {all}\n\n/built/one.d: {all}\n{each}");
            from_outside(&list, folder.path(), &src)
        };
        assert_eq!(from_outside(&["one/src/lib.rs", "one/src/a\\ b.rs"]), None);
        for file in ["/usr/bin/env", "one/src/../other.rs", "one/other.rs", "one/nowhere.rs"] {
            assert_eq!(from_outside(&["one/src/lib.rs", file]), Some(file.into()));
        }
    }
}
