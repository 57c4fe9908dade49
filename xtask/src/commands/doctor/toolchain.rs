//! The toolchain, the flags that our crates are built with, and room on the disk.

use std::path::Path;
use std::process::Command;

use cargo_metadata::{Metadata, MetadataCommand};
use nix::sys::statvfs::statvfs;

use super::Item;

/// In bytes. Built for one exercise, a target folder measured 0.54 GB; `check` and `watch` have one each,
/// and both grow with every exercise.
const ROOM: u64 = 2 << 30;

/// Variables that take the place of the workspace's own flags.
const FLAG_VARIABLES: &[&str] = &["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS"];

/// Looks at them.
pub fn look(root: &Path) -> Vec<Item> {
    let metadata = MetadataCommand::new().current_dir(root).no_deps().exec();
    let mut items = Vec::new();
    let needed = metadata.as_ref().ok().and_then(needed_rust);
    items.push(rustc(first_line("rustc", "--version"), needed));
    let cargo = first_line("cargo", "--version");
    let has_cargo = cargo.is_some();
    items.push(match cargo {
        Some(version) => Item::good("cargo", version),
        None => Item::bad("cargo", "not found", "Install Rust: https://rustup.rs"),
    });
    items.push(match first_line("cc", "--version") {
        Some(version) => Item::good("linker", version),
        None => {
            let remedy = "Install a C compiler, which brings the linker: on Debian and Ubuntu, \
                `apt install build-essential`.";
            Item::bad("linker", "`cc` is not found", remedy)
        }
    });
    match &metadata {
        Ok(metadata) => items.extend(room(metadata.target_directory.as_std_path())),
        Err(_) if !has_cargo => {}
        Err(error) => {
            let found = format!("cargo does not know this workspace ({error})");
            items.push(Item::bad("workspace", found, "See whether Cargo.toml was changed."));
        }
    }
    items
}

fn first_line(program: &str, argument: &str) -> Option<String> {
    let output = Command::new(program).arg(argument).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| text.lines().next().unwrap_or_default().to_owned())
}

/// The oldest Rust that will do, as the workspace says.
fn needed_rust(metadata: &Metadata) -> Option<(u64, u64)> {
    let versions = metadata.packages.iter().filter_map(|package| package.rust_version.as_ref());
    versions.map(|version| (version.major, version.minor)).max()
}

fn rustc(found: Option<String>, needed: Option<(u64, u64)>) -> Item {
    let Some(found) = found else {
        return Item::bad("rustc", "not found", "Install Rust: https://rustup.rs");
    };
    let version = found.split_whitespace().nth(1).and_then(|version| {
        let mut parts = version.split('.').map(|part| part.parse().ok());
        Some((parts.next()??, parts.next()??))
    });
    match (version, needed) {
        (Some(version), Some(needed)) if version < needed => {
            let (major, minor) = needed;
            let found = format!("{found}, and {major}.{minor} is needed");
            Item::bad("rustc", found, "Run `rustup update`.")
        }
        _ => Item::good("rustc", found),
    }
}

/// The free room where cargo builds.
fn room(target: &Path) -> Option<Item> {
    // The folder itself may not be there yet.
    let there = target.ancestors().find(|folder| folder.exists())?;
    let volume = statvfs(there).ok()?;
    let free = volume.blocks_available() * volume.fragment_size();
    let shown = format!("{:.1} GiB free in {}", free as f64 / f64::from(1 << 30), target.display());
    Some(match free < ROOM {
        true => {
            let remedy = "Make room, or set CARGO_TARGET_DIR to a folder on another disk.";
            Item::bad("disk", format!("{shown}; the course may need {} GiB", ROOM >> 30), remedy)
        }
        false => Item::good("disk", shown),
    })
}

/// Whether calls have source lines, by what the driver's build script saw; that counts flags from
/// every source.
pub fn source_lines(driver_configuration: Option<&[String]>) -> Item {
    let set = FLAG_VARIABLES.iter().copied().filter(|name| std::env::var_os(name).is_some());
    judge_flags(driver_configuration, &set.collect::<Vec<_>>())
}

fn judge_flags(driver_configuration: Option<&[String]>, set: &[&str]) -> Item {
    let what = "source lines";
    match driver_configuration {
        // Not built by us.
        None => Item::good(what, "not checked"),
        Some(flags) if flags.iter().any(|flag| flag == "frame_pointers") => {
            Item::good(what, "reports name the line of every call")
        }
        Some(_) => {
            let found = "reports cannot name your lines: our compiler flags were replaced";
            let remedy = match set {
                [] => "Remove `rustflags` from ~/.cargo/config.toml, or add \
                    \"-Cforce-frame-pointers=yes\" to it."
                    .to_owned(),
                set => {
                    format!("Unset {}, or add -Cforce-frame-pointers=yes to it.", set.join(" and "))
                }
            };
            Item::bad(what, found, remedy)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_rustc_is_found_out() {
        let item = |found: &str| rustc(Some(found.to_owned()), Some((1, 88)));
        assert_eq!(item("rustc 1.88.0 (6b00bc388 2025-06-23)").remedy, None);
        assert_eq!(item("rustc 1.100.0-nightly").remedy, None);
        let old = item("rustc 1.87.3 (1 2025-05-09)");
        assert_eq!(old.remedy.as_deref(), Some("Run `rustup update`."));
        assert!(old.found.ends_with(", and 1.88 is needed"), "{}", old.found);
        assert!(rustc(None, None).remedy.is_some());
    }

    #[test]
    fn dropped_flags_are_found_out_whoever_dropped_them() {
        let kept = ["frame_pointers".to_owned()];
        assert_eq!(judge_flags(Some(&kept), &["RUSTFLAGS"]).remedy, None);
        let remedy = |set: &[&str]| judge_flags(Some(&[]), set).remedy.expect("it is a fault");
        assert!(remedy(&["RUSTFLAGS"]).starts_with("Unset RUSTFLAGS,"));
        assert!(remedy(&[]).contains("config.toml"));
        assert_eq!(judge_flags(None, &[]).found, "not checked");
    }

    #[test]
    fn room_is_looked_up_where_the_folder_will_be() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let item = room(&folder.path().join("not/there/yet")).expect("its volume is known");
        assert!(item.found.contains(" GiB free in "), "{item:?}");
    }
}
