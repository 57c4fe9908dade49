//! What a watch shows above and below a report.

use std::sync::Arc;
use std::time::Instant;

use anstyle::{AnsiColor, Style};

use super::takeover::Progress;
use crate::course::Exercise;
use crate::text::ordinal;

/// Seconds after which somebody may wonder.
const LONG: u64 = 5;

/// How the last check stands.
pub enum Status {
    /// None has begun: what is built is taken over first.
    TakingOver(Arc<Progress>),
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

/// The lines above, in the check of that number; `slow` says why, if it takes long.
pub fn header(exercise: &Exercise, checks: u32, slow: Option<&str>, status: &Status) -> String {
    let bold = Style::new().bold();
    let run = ordinal(checks);
    let (colour, text) = match status {
        Status::TakingOver(progress) => {
            let text = format!("taking over what is built: {}", progress.words());
            (AnsiColor::Yellow.on_default(), text)
        }
        Status::Checking(since) => {
            let seconds = since.elapsed().as_secs();
            let slow = slow.filter(|_| seconds >= LONG);
            let slow = slow.map_or(String::new(), |why| format!("; {why}"));
            let text = format!("{run} run: building and grading, {seconds} s{slow}");
            (AnsiColor::Yellow.on_default(), text)
        }
        Status::Passed { seconds, next } => {
            let next = match next {
                Some(next) => format!("Press n to go on with {next}."),
                None => "All exercises have passed.".to_owned(),
            };
            let text = format!("{run} run: passed ({seconds:.1} s). {next}");
            (AnsiColor::Green.on_default(), text)
        }
        Status::NotPassed { seconds } => {
            (AnsiColor::Red.on_default(), format!("{run} run: not passed ({seconds:.1} s)"))
        }
    };
    let (label, folder) = (exercise.label(), exercise.source());
    let folder = folder.display();
    format!("{bold}{label}{bold:#}  {folder}/lib.rs\n{colour}{text}{colour:#}\n \n")
}

/// The line below, as far as it fits; what matters most stays.
pub fn footer(overlay: Option<&Overlay>, columns: usize) -> String {
    // As they stand there, each with its place among those that have to be known.
    let keys: &[(usize, &str)] = match overlay {
        Some(Overlay::Reset(_)) => &[(0, "y yes"), (1, "any other key: no")],
        Some(Overlay::Text(_)) => &[(0, "any key: back to the report")],
        None => &[
            (1, "n next"),
            (2, "h hint"),
            (3, "l list"),
            (4, "r run again"),
            (5, "x reset"),
            (0, "q quit"),
            (6, "up/down scroll"),
        ],
    };
    let line = |most: usize| {
        let shown = keys.iter().filter(|(place, _)| *place < most).map(|(_, key)| *key);
        shown.collect::<Vec<_>>().join("   ")
    };
    let fitting = (1..=keys.len()).rev().map(line).find(|line| line.len() <= columns);
    fitting.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_do_not_fit_are_left_out() {
        let all = "n next   h hint   l list   r run again   x reset   q quit   up/down scroll";
        assert_eq!(footer(None, 80), all);
        assert_eq!(footer(None, 40), "n next   h hint   l list   q quit");
        assert_eq!(footer(None, 20), "n next   q quit");
        assert_eq!(footer(None, 4), "");
        assert_eq!(footer(Some(&Overlay::Reset(String::new())), 10), "y yes");
    }
}
