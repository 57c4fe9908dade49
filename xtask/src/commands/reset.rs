//! `cargo xtask reset`: the starter back in its place, and the learner's code kept beside.

use std::fs;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use crate::cli::ResetArguments;
use crate::course::{Course, Exercise};
use crate::exit::{Exit, UsageError};
use crate::sources;
use crate::state::{FOLDER, State, Store};
use crate::text::{self, warn, wrapped};

/// Resets an exercise, if the learner means it.
///
/// # Errors
/// Where the exercise is not known, nobody can be asked, or a file cannot be read or written.
pub fn run(root: &Path, arguments: &ResetArguments) -> anyhow::Result<Exit> {
    let course = Course::read(root)?;
    let exercise = course.find(&arguments.exercise.name)?;
    if !arguments.yes && !ask(exercise)? {
        text::print("Nothing was changed.\n")?;
        return Ok(Exit::Unsolved);
    }
    let (said, remark) = reset(root, exercise)?;
    if let Some(remark) = remark {
        warn(&remark);
    }
    text::print(&format!("{said}\n"))?;
    Ok(Exit::Success)
}

/// The question; an answer follows it on the same line.
pub fn question(exercise: &Exercise) -> String {
    let label = exercise.label();
    format!("Put the starter of {label} back? Your code is kept beside. [y/N] ")
}

fn ask(exercise: &Exercise) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        let number = exercise.number;
        anyhow::bail!(UsageError(format!(
            "there is no terminal to ask on; `cargo xtask reset {number} --yes` does not ask"
        )));
    }
    anstream::eprint!("{}", question(exercise));
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Puts the starter back, and says what was done; the second is what has to be said besides.
///
/// # Errors
/// Where a file cannot be read or written. The learner's code is kept before anything is touched.
pub fn reset(root: &Path, exercise: &Exercise) -> anyhow::Result<(String, Option<String>)> {
    let folder = root.join(exercise.source());
    let starter = sources::read(&root.join(exercise.starter()))?;
    ensure!(!starter.is_empty(), "{} is empty", exercise.starter().display());
    let mine = match folder.exists() {
        true => sources::read(&folder)?,
        false => sources::Sources::new(),
    };
    if mine == starter {
        let said = format!("{} is the starter already; nothing was changed.", exercise.label());
        return Ok((said, None));
    }
    let kept = keep(root, exercise, &mine)?;
    sources::write(&folder, &starter)?;
    for path in mine.keys().filter(|path| !starter.contains_key(*path)) {
        fs::remove_file(folder.join(path))?;
    }
    let forget = |state: &mut State| {
        let record = state.of_mut(&exercise.name);
        (record.outcome, record.source) = (None, None);
    };
    let remark = match Store::of(root).update(forget) {
        Ok(told) => told.remark,
        Err(error) => Some(format!("the exercise's last outcome is still remembered: {error:#}")),
    };
    let said = wrapped(
        &format!(
            "{} is the starter again. Your code is in {}; copy it back to have it back.",
            exercise.label(),
            kept.display()
        ),
        "",
    );
    Ok((said, remark))
}

/// Copies the learner's code to a folder of its own, and returns that, from the workspace.
fn keep(root: &Path, exercise: &Exercise, mine: &sources::Sources) -> anyhow::Result<PathBuf> {
    let all = Path::new(FOLDER).join("kept");
    fs::create_dir_all(root.join(&all))
        .with_context(|| format!("{} cannot be made", root.join(&all).display()))?;
    let now = jiff::ZonedDateTime::now().strftime("%Y-%m-%dT%H-%M-%S").to_string();
    for number in 1.. {
        let again = if number == 1 { String::new() } else { format!("-{number}") };
        let kept = all.join(format!("{}-{now}{again}", exercise.folder));
        match fs::create_dir(root.join(&kept)) {
            Ok(()) => {
                sources::write(&root.join(&kept), mine)?;
                return Ok(kept);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("{} cannot be made", root.join(&kept).display()));
            }
        }
    }
    unreachable!("the numbers never end")
}
