//! `cargo xtask explain`: what a diagnosis means, and what to do about it; which an outcome has.

use std::fmt::Write;
use std::path::Path;

use streamlings_grade::{Diagnosis, Outcome, diagnosis};

use crate::cli::ExplainArguments;
use crate::course::{Course, Exercise};
use crate::exit::{Exit, UsageError};
use crate::sources;
use crate::text::{self, labelled, wrapped};

/// Explains one, or lists all, or those of an outcome.
///
/// # Errors
/// Where there is no such code, or the course cannot be read.
pub fn run(root: &Path, arguments: &ExplainArguments) -> anyhow::Result<Exit> {
    // Some outcomes are of two words.
    let asked = arguments.code.join(" ");
    let outcome = Outcome::ALL.into_iter().find(|outcome| outcome.word() == asked);
    let text = match (outcome, &*asked) {
        (None, "") => list(diagnosis::ALL),
        (None, code) => explain(&Course::read(root)?, find(code)?),
        (Some(outcome), _) => {
            let of = |diagnosis: &&Diagnosis| diagnosis.outcome == outcome;
            let those: Vec<&Diagnosis> = diagnosis::ALL.iter().copied().filter(of).collect();
            // The code that is the same word, or the only one.
            let one = diagnosis::find(outcome.word()).or(match those[..] {
                [one] => Some(one),
                _ => None,
            });
            let course = Course::read(root)?;
            let one = one.map(|one| explain(&course, one));
            match (one, those.len()) {
                (Some(one), 1) => one,
                (one, _) => one.map_or(String::new(), |one| one + "\n") + &list(&those),
            }
        }
    };
    text::print(&text)?;
    Ok(Exit::Success)
}

fn find(code: &str) -> Result<&'static Diagnosis, UsageError> {
    // As it stands in a report, with the outcome and the brackets.
    let code = code.rsplit('[').next().unwrap_or(code).trim_end_matches(']');
    let near = |diagnosis: &&&Diagnosis| strsim::jaro_winkler(code, diagnosis.code);
    diagnosis::find(code).ok_or_else(|| {
        let nearest = diagnosis::ALL.iter().max_by(|a, b| near(a).total_cmp(&near(b)));
        UsageError(match nearest.filter(|diagnosis| near(diagnosis) > 0.7) {
            Some(nearest) => format!("there is no diagnosis `{code}`; did you mean `{nearest}`?"),
            None => format!("there is no diagnosis `{code}`; `cargo xtask explain` lists them"),
        })
    })
}

/// These, a line or two each.
fn list(diagnoses: &[&Diagnosis]) -> String {
    if diagnoses.is_empty() {
        // A pass has none.
        return "No diagnosis has this outcome: there is nothing to mend.\n".to_owned();
    }
    let width = diagnoses.iter().map(|diagnosis| diagnosis.code.len()).max().unwrap_or(0);
    let mut out = String::new();
    for diagnosis in diagnoses {
        let label = format!("{:width$}  ", diagnosis.code);
        let text = format!("{}: {}", diagnosis.outcome, diagnosis.title);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}", labelled(&label, &text));
    }
    out += "\n`cargo xtask explain CODE` says what to do about one.\n";
    out
}

fn explain(course: &Course, diagnosis: &Diagnosis) -> String {
    let Diagnosis { code, outcome, title, rule, next, docs } = diagnosis;
    let using: Vec<String> = course
        .exercises
        .iter()
        .filter(|exercise| uses(course, exercise, diagnosis))
        .map(Exercise::label)
        .collect();
    let using = match using[..] {
        // The ones that the supervisor gives, or the harness.
        [] => "any exercise can get it".to_owned(),
        _ if names(&course.root.join("harness/grade/src"), diagnosis)
            || names(&course.root.join("harness/src"), diagnosis) =>
        {
            // What exercises share gives it without being asked for it by name.
            format!("{}; others can give it, too", using.join(", "))
        }
        _ => using.join(", "),
    };
    let mut lines = vec![
        wrapped(&format!("{outcome}[{code}]: {title}"), "  "),
        labelled("  rule: ", rule),
        labelled("  next: ", next),
        labelled("  in:   ", &using),
    ];
    lines.extend(docs.map(|docs| labelled("  see:  ", docs)));
    lines.push(String::new());
    lines.join("\n")
}

/// Whether an exercise names a diagnosis. The constants are called as the codes are.
fn uses(course: &Course, exercise: &Exercise, diagnosis: &Diagnosis) -> bool {
    let folder = course.root.join("exercises").join(&exercise.folder).join("tests");
    exercise.intended.iter().any(|i| i.diagnosis.as_deref() == Some(diagnosis.code))
        || names(&folder, diagnosis)
}

/// Whether sources in a folder name it, but for the table itself.
fn names(folder: &Path, diagnosis: &Diagnosis) -> bool {
    let constant = diagnosis.code.to_uppercase().replace('-', "_");
    let named = |text: &str| {
        let word = |c: char| !c.is_alphanumeric() && c != '_';
        text.split(word).any(|word| word == constant)
    };
    let sources = sources::read(folder).unwrap_or_default();
    let sources = sources.iter().filter(|(path, _)| !path.ends_with("diagnosis/table.rs"));
    sources.into_iter().any(|(_, bytes)| named(&String::from_utf8_lossy(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_found_as_reports_show_them() {
        let code = |code: &str| find(code).map(|d| d.code).map_err(|error| error.to_string());
        assert_eq!(code("pageable-copy"), Ok("pageable-copy"));
        assert_eq!(code("[pageable-copy]"), Ok("pageable-copy"));
        assert_eq!(code("blocked[pageable-copy]"), Ok("pageable-copy"));
        let meant = "there is no diagnosis `pagable-copy`; did you mean `pageable-copy`?";
        assert_eq!(code("pagable-copy"), Err(meant.to_owned()));
        let unknown = "there is no diagnosis `zzz`; `cargo xtask explain` lists them";
        assert_eq!(code("zzz"), Err(unknown.to_owned()));
    }

    #[test]
    fn the_list_has_what_it_is_given() {
        let text = list(&[diagnosis::HUNG]);
        assert!(text.starts_with("hung  hung: ") && text.contains("explain CODE"), "{text}");
        assert!(list(&[]).starts_with("No diagnosis "));
    }

    #[test]
    fn an_explanation_has_all_that_the_table_has() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let course = Course::read(&root).expect("the course can be read");
        let text = explain(&course, diagnosis::SAME_EVENT_TWICE);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "mis-timed[same-event-twice]: start and end are the same event");
        assert_eq!(lines[1], "  rule: Recording an event again replaces its earlier record.");
        assert_eq!(lines[2], "  next: Count the events that a time between two points needs.");
        assert!(lines[3].starts_with("  in:   ") && lines[3].contains("02 event_timing"), "{text}");
        assert!(lines[4].starts_with("  see:  https://docs.nvidia.com/"), "{text}");
        assert!(explain(&course, diagnosis::HUNG).contains("in:   any exercise can get it\n"));
    }
}
