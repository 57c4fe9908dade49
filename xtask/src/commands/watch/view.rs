//! What a watch shows above and below a report.

use std::time::Instant;

use anstyle::{AnsiColor, Style};

use crate::course::Exercise;

/// How the last check stands.
pub enum Status {
    /// None has begun.
    Waiting,
    /// It is running since then.
    Checking(Instant),
    /// The exercise passed; the label of what is next.
    Passed { seconds: f64, next: Option<String> },
    /// It did not.
    NotPassed { seconds: f64 },
}

/// What is shown in the report's place.
pub enum Overlay {
    /// Something to read; any key closes it.
    Text(String),
    /// Whether to reset; `y` does.
    Reset(String),
}

/// The lines above; `built` says whether a check of this watch has come to its end.
pub fn header(exercise: &Exercise, checks: u32, built: bool, status: &Status) -> String {
    let bold = Style::new().bold();
    let (colour, text) = match status {
        Status::Waiting => (Style::new(), String::new()),
        Status::Checking(since) => {
            let seconds = since.elapsed().as_secs();
            let first = if built { "" } else { "; its own first build takes a minute or two" };
            (AnsiColor::Yellow.on_default(), format!("building and grading, {seconds} s{first}"))
        }
        Status::Passed { seconds, next } => {
            let next = match next {
                Some(next) => format!("Press n to go on with {next}."),
                None => "All exercises have passed.".to_owned(),
            };
            (AnsiColor::Green.on_default(), format!("passed ({seconds:.1} s). {next}"))
        }
        Status::NotPassed { seconds } => {
            (AnsiColor::Red.on_default(), format!("not passed ({seconds:.1} s)"))
        }
    };
    let (label, folder) = (exercise.label(), exercise.source());
    let folder = folder.display();
    format!("{bold}{label}{bold:#}  {folder}/lib.rs\n{colour}check {checks}: {text}{colour:#}\n \n")
}

/// The line below.
pub fn footer(overlay: Option<&Overlay>) -> &'static str {
    match overlay {
        Some(Overlay::Reset(_)) => "y yes   any other key: no",
        Some(Overlay::Text(_)) => "any key: back to the report",
        None => "n next   h hint   l list   r run again   x reset   q quit   up/down scroll",
    }
}
