//! Submissions that must not pass, and must not hurt: each is graded as any other, and every case must
//! get the outcome that its `expected.toml` names.
//!
//! They lie in `xtask/tests/hostile/`, a folder each, and share compilations: a submission holds as many
//! mischiefs as it has functions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use serde::Deserialize;
use streamlings_grade::Outcome;
use streamlings_grade::supervise::{Limits, Supervisor};

use super::{Counts, Off};
use crate::course::{Course, Exercise};
use crate::progress::Progress;
use crate::report::{CaseReport, Report};
use crate::submission::Grading;

/// Where they are, within the workspace.
const FOLDER: &str = "xtask/tests/hostile";
/// Stands for the grader's checkout in their sources.
const CHECKOUT: &str = "{CHECKOUT}";

/// What a submission must get.
#[derive(Debug, Deserialize)]
struct Expected {
    /// In seconds, for what hangs.
    time_limit: Option<f64>,
    /// What the report must name as not used.
    #[serde(default)]
    ignored: Vec<PathBuf>,
    /// Files that cannot be kept as they are.
    #[serde(default)]
    make: Vec<Make>,
    /// By exercise and case.
    #[serde(flatten)]
    cases: BTreeMap<String, BTreeMap<String, Wanted>>,
}

/// What a case must get.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    gets: Outcome,
    /// What its message or what it wrote must hold.
    #[serde(default)]
    says: String,
    /// Whether it takes a kernel that can confine processes.
    #[serde(default)]
    isolated: bool,
}

/// A file to make.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Make {
    path: PathBuf,
    /// With these bytes;
    bytes: Option<Vec<u8>>,
    /// or as a link;
    link: Option<PathBuf>,
    /// or a file of the checkout, as some editors for Windows would save it.
    windows: Option<PathBuf>,
}

/// Whether there are any.
pub fn are_here(course: &Course) -> bool {
    course.root.join(FOLDER).exists()
}

/// Grades them all.
///
/// # Errors
/// Where a folder is not as it has to be, or nothing can be built at all.
pub fn run(course: &Course, supervisor: &Supervisor) -> anyhow::Result<Counts> {
    let mut counts = Counts::default();
    let mut folders: Vec<PathBuf> = Vec::new();
    for entry in course.root.join(FOLDER).read_dir()? {
        folders.push(entry?.path());
    }
    folders.sort();
    // Those that they are written for; a course may have more.
    let named = ["async_launch", "event_timing", "pinned_copies"].map(str::to_owned);
    let exercises: Vec<&Exercise> = course.select(&named)?;
    // What takes too much is to take little of the machine that this runs on.
    let limits = Limits { memory: 1 << 30, ..supervisor.limits };
    let supervisor = Supervisor { limits, output_limit: 1 << 20, ..supervisor.clone() };
    let mut grading = Grading::prepare(course, exercises, supervisor.clone(), true)?;
    grading.disk = 64 << 20;
    let progress = Progress::start("grading hostile submissions");
    for folder in folders {
        let expected = folder.join("expected.toml");
        let text = std::fs::read_to_string(&expected)
            .with_context(|| format!("{} cannot be read", expected.display()))?;
        let expected: Expected = toml::from_str(&text)
            .with_context(|| format!("{} is not as it has to be", expected.display()))?;
        let scratch = tempfile::tempdir()?;
        let name = folder.file_name().unwrap_or_default();
        let submission = scratch.path().join(name);
        copy(&folder, &submission, &course.root)?;
        for make in &expected.make {
            make.make(&submission, &course.root)?;
        }
        let limit = expected.time_limit.map(Duration::from_secs_f64);
        grading.supervisor.time_limit = limit.unwrap_or(supervisor.time_limit);
        let report = grading.grade(&submission, &progress)?;
        judge(&mut counts, &name.to_string_lossy(), &expected, &report);
    }
    judge_leftovers(&mut counts)?;
    Ok(counts)
}

fn judge(counts: &mut Counts, name: &str, expected: &Expected, report: &Report) {
    for (exercise, wanted) in &expected.cases {
        let graded = report.exercises.iter().find(|graded| graded.name == *exercise);
        for (case, wanted) in wanted {
            let what = format!("hostile {name} {exercise} {case}");
            let found = graded.and_then(|g| g.cases.iter().find(|c| c.verdict.case == *case));
            let Some(found) = found else {
                let off = Off::new(what, wanted.gets.word(), "there is no such case");
                counts.fail(off, "");
                continue;
            };
            let isolation = report.submission.as_ref().map(|submission| submission.isolation);
            let isolated = isolation.is_some_and(|i| i.files && i.processes && i.network);
            if wanted.isolated && !isolated {
                counts.skipped += 1;
                println!("skipped: this kernel cannot confine a process ({what})");
                continue;
            }
            judge_case(counts, what, wanted, found, graded.and_then(|g| g.rustc.as_deref()));
        }
    }
    let ignored = report.submission.as_ref().map_or(&[][..], |submission| &submission.ignored);
    for file in &expected.ignored {
        if ignored.contains(file) {
            counts.passed += 1;
        } else {
            let what = format!("hostile {name} {}", file.display());
            let detail = format!("named as not used: {ignored:?}");
            counts.fail(Off::new(what, "named as not used", "not named"), &detail);
        }
    }
}

fn judge_case(
    counts: &mut Counts,
    what: String,
    wanted: &Wanted,
    found: &CaseReport,
    rustc: Option<&str>,
) {
    let verdict = &found.verdict;
    let output = found.output.text();
    let rustc = anstream::adapter::strip_str(rustc.unwrap_or_default()).to_string();
    let said = [&verdict.message, &output, &rustc].iter().any(|text| text.contains(&wanted.says));
    if verdict.outcome == wanted.gets && said {
        counts.passed += 1;
        return;
    }
    let seed = found.ran.map_or(String::new(), |(_, seed)| format!("--seed {seed}\n"));
    let detail = format!("it must say `{}`\n{seed}{verdict}\n{rustc}{output}", wanted.says);
    counts.fail(Off::new(what, wanted.gets.word(), verdict.outcome.word()), &detail);
}

/// The processes that the submissions leave behind carry this number; none may be left.
const MARK: &str = "1000.825";

fn judge_leftovers(counts: &mut Counts) -> std::io::Result<()> {
    let left = std::fs::read_dir("/proc")?.flatten().filter(|entry| {
        let line = std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        line.split('\0').any(|argument| argument == MARK)
    });
    match left.count() {
        0 => counts.passed += 1,
        count => {
            let off = Off::new("hostile: what is left", "nothing", format!("{count} processes"));
            counts.fail(off, "processes that submissions started are still running");
        }
    }
    Ok(())
}

impl Make {
    fn make(&self, submission: &Path, root: &Path) -> anyhow::Result<()> {
        let to = submission.join(&self.path);
        to.parent().map(std::fs::create_dir_all).transpose()?;
        if let Some(bytes) = &self.bytes {
            std::fs::write(&to, bytes)?;
        }
        if let Some(link) = &self.link {
            std::os::unix::fs::symlink(link, &to)?;
        }
        if let Some(file) = &self.windows {
            let text = std::fs::read_to_string(root.join(file))?;
            std::fs::write(&to, format!("\u{feff}{}", text.replace('\n', "\r\n")))?;
        }
        Ok(())
    }
}

/// Copies a submission, and names the checkout in its sources.
fn copy(from: &Path, to: &Path, root: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in from.read_dir()? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to, root)?;
        } else if entry.file_name() != "expected.toml" {
            let text = std::fs::read_to_string(entry.path())?;
            std::fs::write(to, text.replace(CHECKOUT, &root.display().to_string()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use streamlings_grade::{Finding, Verdict, diagnosis};

    use super::*;

    fn judged(verdict: Verdict, gets: Outcome, says: &str) -> Counts {
        let mut counts = Counts::default();
        let case = CaseReport::not_run(verdict);
        let wanted = Wanted { gets, says: says.to_owned(), isolated: false };
        judge_case(&mut counts, "it".to_owned(), &wanted, &case, None);
        counts
    }

    #[test]
    fn one_that_passes_or_says_something_else_is_a_failure() {
        let hung = || Verdict::failed("a", Finding::new(diagnosis::HUNG, "for ever"));
        assert_eq!(judged(hung(), Outcome::Hung, "ever").passed, 1);
        assert_eq!(judged(hung(), Outcome::Hung, "at last").failed, 1);
        assert_eq!(judged(Verdict::passed("a"), Outcome::Hung, "").failed, 1);
        assert_eq!(judged(hung(), Outcome::Crashed, "").failed, 1);
    }
}
