//! Backtraces in what a case wrote: of some thirty frames, those in the learner's own sources.

use std::path::Path;

use crate::text::counted;

/// What std writes before the frames.
const HEADING: &str = "stack backtrace:";

/// A case's output in two parts: what it wrote before the first panic with a backtrace, and the rest of it. In the
/// second a backtrace has the frames of this folder's `src/` alone; one without any stays as it is.
pub fn told_apart(text: &str, folder: &Path) -> (String, String) {
    let Some(heading) = text.find(&format!("\n{HEADING}\n")) else {
        return (text.to_owned(), String::new());
    };
    let thread = text[..heading].rfind("\nthread '").map_or(0, |at| at + 1);
    let own = format!("{}/src/", folder.display());
    (text[..thread].to_owned(), shortened(&text[thread..], &own))
}

fn shortened(text: &str, own: &str) -> String {
    let mut out = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        out.push(line.to_owned());
        if line != HEADING {
            continue;
        }
        // A frame is a line with its function, and as a rule one with its place.
        let mut frames: Vec<Vec<&str>> = Vec::new();
        while let Some(line) = lines.next_if(|line| line.starts_with(' ')) {
            match frames.last_mut() {
                Some(frame) if line.trim_start().starts_with("at ") => frame.push(line),
                _ => frames.push(vec![line]),
            }
        }
        let is_own = |frame: &&Vec<&str>| frame.iter().skip(1).any(|line| line.contains(own));
        let kept: Vec<&Vec<&str>> = frames.iter().filter(is_own).collect();
        let others = match kept.len() {
            0 => 0,
            kept => frames.len() - kept,
        };
        let shown = if kept.is_empty() { frames.iter().collect() } else { kept };
        out.extend(shown.into_iter().flatten().map(|line| (*line).to_owned()));
        if others > 0 {
            out.push(format!(
                "      ... {} outside of src/ left out ...",
                counted(others, "frame")
            ));
        }
    }
    out.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOLDER: &str = "exercises/01_async_launch";

    #[test]
    fn the_learners_frames_stay() {
        let text = "\nn is 1\n\nthread 'main' (7) panicked at exercises/01_async_launch/src/lib.rs:33:36:\nnone\n\
            stack backtrace:\n   0: __rustc::rust_begin_unwind\n             at /rustc/59/library/std/src/panicking.rs:689:5\n   \
            1: helper\n             at ./exercises/01_async_launch/src/lib.rs:33:36\n      inlined\n             \
            at /home/me/exercises/01_async_launch/src/part.rs:5:5\n   2: grade::main\n             \
            at ./exercises/01_async_launch/tests/grade.rs:8:5\n   3: _start\nnote: Some details are omitted\n";
        let (before, panic) = told_apart(text, Path::new(FOLDER));
        assert_eq!(before, "\nn is 1\n\n");
        assert_eq!(
            panic.lines().collect::<Vec<_>>(),
            [
                "thread 'main' (7) panicked at exercises/01_async_launch/src/lib.rs:33:36:",
                "none",
                "stack backtrace:",
                "   1: helper",
                "             at ./exercises/01_async_launch/src/lib.rs:33:36",
                "      inlined",
                "             at /home/me/exercises/01_async_launch/src/part.rs:5:5",
                "      ... 3 frames outside of src/ left out ...",
                "note: Some details are omitted",
            ]
        );
    }

    #[test]
    fn others_are_not_shortened() {
        let text = "thread 'main' (7) panicked at harness/src/lib.rs:1:1:\nno\nstack backtrace:\n   0: f\n   1: main\n\
            note: Some";
        assert_eq!(told_apart(text, Path::new(FOLDER)), (String::new(), text.to_owned()));
        let plain = "n is 1\nn is 2\n";
        assert_eq!(told_apart(plain, Path::new(FOLDER)), (plain.to_owned(), String::new()));
    }
}
