//! What the end of a case's process means.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use nix::sys::signal::Signal;

use super::{Captured, Supervisor};
use crate::diagnosis;
use crate::verdict::{Finding, NoVerdict, Verdict};

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    Exited(ExitStatus),
    TimedOut,
    /// Why, as the end of a sentence that begins with "it".
    OverLimit(String),
    /// Its guard was killed, by it or by somebody else.
    Unguarded,
}

pub(super) fn conclude(
    end: End,
    case: &str,
    verdict: Result<Verdict, NoVerdict>,
    output: &Captured,
    supervisor: &Supervisor,
) -> Verdict {
    let finding = match (end, verdict) {
        (End::TimedOut, _) => Finding::new(
            diagnosis::HUNG,
            format!("it was still running after {} s", supervisor.time_limit.as_secs_f64()),
        ),
        (End::OverLimit(what), _) => Finding::new(diagnosis::OVER_LIMIT, format!("it {what}")),
        (End::Unguarded, _) => Finding::new(
            diagnosis::NO_VERDICT,
            "the process that watched over the case was killed before the case had ended",
        ),
        (End::Exited(status), verdict) => match (status.signal(), verdict) {
            (None, Ok(verdict)) if status.success() || verdict.diagnosis.is_some() => {
                return verdict;
            }
            // It had failed already when it died: the finding says more than the signal.
            (Some(_), Ok(verdict)) if verdict.diagnosis.is_some() => return verdict,
            (Some(signal), _) => died(signal, output, supervisor),
            (None, Ok(_)) => Finding::new(
                diagnosis::CRASHED,
                format!("the process ended with {status} after the case was judged"),
            ),
            (None, Err(NoVerdict::Missing)) => Finding::new(
                diagnosis::NO_VERDICT,
                format!("the process ended itself ({status}) before the case was judged"),
            ),
            (None, Err(NoVerdict::Unreadable(why))) => Finding::new(
                diagnosis::NO_VERDICT,
                format!("the verdict file cannot be read ({why})"),
            ),
            (None, Err(NoVerdict::OfAnotherRun)) => Finding::new(
                diagnosis::NO_VERDICT,
                "the verdict file is not the grader's own of this run",
            ),
        },
    };
    Verdict::failed(case, finding)
}

/// What to say of a process that a signal ended.
fn died(number: i32, output: &Captured, supervisor: &Supervisor) -> Finding {
    if number == Signal::SIGXFSZ as i32 {
        let limit = supervisor.limits.file >> 20;
        let what = format!("it wrote a file of more than {limit} MiB (SIGXFSZ)");
        return Finding::new(diagnosis::OVER_LIMIT, what);
    }
    let name = Signal::try_from(number).map_or_else(|_| number.to_string(), |s| s.to_string());
    let text = output.text();
    let what = if text.contains("has overflowed its stack") {
        format!("it overflowed its stack ({name})")
    } else if text.contains("panic in a destructor during cleanup") {
        format!("it panicked while it dropped a value after another panic ({name})")
    } else {
        format!("the process died of {name}")
    };
    Finding::new(diagnosis::CRASHED, what)
}
