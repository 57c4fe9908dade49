//! `cargo xtask solution`: the reference solution beside the learner's code.

use std::path::Path;

use similar::TextDiff;

use crate::cli::SolutionArguments;
use crate::course::{Course, Exercise};
use crate::exit::{Exit, UsageError};
use crate::grading::Whose;
use crate::sources;
use crate::state::Store;
use crate::text;

/// Shows it as a unified diff, if the exercise has passed or the learner insists.
///
/// # Errors
/// Where the exercise is not known, has not passed, or the sources cannot be read.
pub fn run(root: &Path, arguments: &SolutionArguments) -> anyhow::Result<Exit> {
    let course = Course::read(root)?;
    let exercise = course.find(&arguments.exercise.name)?;
    let record = Store::of(root).read().aloud().of(&exercise.name);
    if record.passed.is_none() && !arguments.spoil {
        let (label, number) = (exercise.label(), exercise.number);
        anyhow::bail!(UsageError(format!(
            "{label} has not passed yet. `cargo xtask hint {number}` says a little; to see the \
             solution all the same, add --spoil"
        )));
    }
    text::print(&difference(root, exercise)?)?;
    Ok(Exit::Success)
}

fn difference(root: &Path, exercise: &Exercise) -> anyhow::Result<String> {
    let (yours, ours) = (exercise.source(), Whose::Solution.package(exercise).folder.join("src"));
    let (mine, theirs) = (sources::read(&root.join(&yours))?, sources::read(&root.join(&ours))?);
    let mut out = String::new();
    for path in mine.keys().chain(theirs.keys().filter(|path| !mine.contains_key(*path))) {
        let text = |sources: &sources::Sources| {
            String::from_utf8_lossy(sources.get(path).map_or(&[], Vec::as_slice))
                // Line ends alone are no difference.
                .replace("\r\n", "\n")
        };
        let (from, to) = (text(&mine), text(&theirs));
        let diff = TextDiff::from_lines(&from, &to);
        let shown = |folder: &Path| folder.join(path).display().to_string();
        out += &colour(&diff.unified_diff().header(&shown(&yours), &shown(&ours)).to_string());
    }
    if out.is_empty() {
        out = "Your code is the reference solution, line by line.\n".to_owned();
    }
    Ok(out)
}

/// Removed lines in red, added ones in green.
fn colour(diff: &str) -> String {
    use anstyle::{AnsiColor, Style};
    let mut out = String::new();
    for (index, line) in diff.split_inclusive('\n').enumerate() {
        let style = match line.as_bytes().first() {
            // The two lines that name the files.
            _ if index < 2 => Style::new().bold(),
            Some(b'-') => AnsiColor::Red.on_default(),
            Some(b'+') => AnsiColor::Green.on_default(),
            Some(b'@') => AnsiColor::Cyan.on_default(),
            _ => Style::new(),
        };
        let text = line.trim_end_matches('\n');
        out += &format!("{style}{text}{style:#}\n");
    }
    out
}
