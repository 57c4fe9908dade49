//! The programs, by what goes wrong in them.

mod blocking;
mod pinned;
mod reuse;
mod timing;
mod uploads;

use streamlings::trace::{Frame, Trace};

use crate::Program;

/// The folder whose lines are the learner's.
pub const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real_programs/programs");

const SOURCES: &[(&str, &str)] = &[
    ("blocking.rs", include_str!("programs/blocking.rs")),
    ("pinned.rs", include_str!("programs/pinned.rs")),
    ("reuse.rs", include_str!("programs/reuse.rs")),
    ("timing.rs", include_str!("programs/timing.rs")),
    ("uploads.rs", include_str!("programs/uploads.rs")),
];

/// All of them.
pub fn all() -> Vec<Program> {
    [reuse::programs(), pinned::programs(), uploads::programs(), timing::programs()]
        .into_iter()
        .chain([blocking::programs()])
        .flatten()
        .collect()
}

/// The mark at the end of a program's line, in its brackets; the line itself where there is none.
pub fn mark(frame: Option<&Frame>) -> String {
    let Some(Frame { file: Some(file), line, .. }) = frame else { return "[nowhere]".into() };
    let source = SOURCES.iter().find(|(name, _)| file.ends_with(&format!("/{name}")));
    let text = source.and_then(|(_, text)| text.lines().nth((*line as usize).saturating_sub(1)));
    match text.and_then(|text| text.split_once("// [")) {
        Some((_, mark)) => format!("[{}", mark.trim_end()),
        None => format!("[{file}:{line}]"),
    }
}

/// For programs whose times say nothing.
fn no_times(_: &Trace, _: bool) -> Result<(), String> {
    Ok(())
}
