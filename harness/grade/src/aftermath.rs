//! What the learner's code left behind: the first of its calls that failed, and a device that the case
//! cannot use any more.
//!
//! A case needs the device to look at what came out. Where that fails after a run, `?` alone would say
//! that the grader has failed. An error from before the first run is still the grader's.

use cudarc::driver::DriverError;
use cudarc::driver::result::ctx;
use streamlings_trace::{Call, Op, Range, Trace};

use crate::diagnosis as d;
use crate::outcome::Outcome;
use crate::verdict::{At, Finding};

/// Errors that say that there is not enough of something, or that the machine has a fault: nobody's
/// pointer, handle or context is wrong.
const NOT_THE_CODES: &[&str] = &[
    "OUT_OF_MEMORY",
    "NO_DEVICE",
    "INVALID_DEVICE",
    "DEVICE_UNAVAILABLE",
    "DEVICES_UNAVAILABLE",
    "ECC_UNCORRECTABLE",
    "NVLINK_UNCORRECTABLE",
    "SYSTEM_",
    "NOT_SUPPORTED",
    "STUB_LIBRARY",
    "OPERATING_SYSTEM",
    "COMPAT_NOT_SUPPORTED",
];

/// What is current on this thread: a context, none, or it is not known. (After a fault even the call that
/// asks may return that fault's error.)
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context(Option<Option<usize>>);

impl Context {
    /// The context that is current now.
    pub fn current() -> Context {
        Context(ctx::get_current().ok().map(|context| context.map(|context| context as usize)))
    }

    /// Whether a context that was current before is not so now.
    fn is_lost(self, now: Context) -> bool {
        match (self.0, now.0) {
            (Some(Some(before)), Some(now)) => now != Some(before),
            _ => false,
        }
    }
}

/// What the runs of a case have left behind.
#[derive(Debug, Default)]
pub(crate) struct Aftermath {
    /// Whether there was a run.
    has_run: bool,
    /// Why the device cannot be used any more.
    left: Option<Finding>,
    /// Whether that is because another context was current after a run than before.
    lost_context: bool,
    /// The first call of the latest run that returned an error.
    failed: Option<At>,
    /// The last call of the latest run that gave memory back.
    freed: Option<At>,
}

impl Aftermath {
    /// Takes in a run: the context before it, and what a synchronize after it returned. `at` gives the
    /// learner's line of a call.
    pub fn take_in(
        &mut self,
        trace: &Trace,
        before: Context,
        synchronized: Result<(), DriverError>,
        at: impl Fn(&Call) -> Option<At>,
    ) {
        self.has_run = true;
        let own = || trace.calls().filter_map(|call| Some((call, at(call)?)));
        // What came too early is an answer as well, but a call that failed says more.
        let too_early =
            |call: &Call| matches!(call.op, Op::EventElapsed { .. }) && call.result != 0;
        let failed = own().find(|(call, _)| !call.succeeded());
        let failed = failed.or_else(|| own().find(|(call, _)| too_early(call)));
        self.failed = failed.map(|(_, at)| at);
        self.freed = own()
            .filter(|(call, _)| call.succeeded() && matches!(call.op, Op::Free { .. }))
            .last()
            .map(|(_, at)| at);
        if self.left.is_some() {
            // It is that which all later errors come from.
            return;
        }
        self.lost_context = before.is_lost(Context::current());
        self.left = if self.lost_context {
            let message = "the context that was current before the function is not so after it";
            Some(Finding::new(d::LEFT_AN_ERROR, message))
        } else if let Err(DriverError(error)) = synchronized {
            let message = format!("when the function had returned, a synchronize said {error:?}");
            let finding = Finding::new(d::LEFT_AN_ERROR, message);
            let stray = stray_launch(trace).and_then(&at);
            Some(match stray {
                Some(stray) => finding.at(stray, "this launch is given memory that is not there"),
                None => finding.at(self.failed.clone(), "the first call that returned an error"),
            })
        } else {
            None
        };
    }

    /// A case that found nothing may have used calls that make their context current again; whoever
    /// calls the function need not. A fault is not looked at here: to find one is 01's task.
    ///
    /// # Errors
    /// [`d::LEFT_AN_ERROR`].
    pub fn check_context(&self) -> Result<(), Finding> {
        self.left.clone().filter(|_| self.lost_context).map_or(Ok(()), Err)
    }

    /// What a case found, with what the runs tell of how it came.
    pub fn explain(&self, finding: Finding) -> Finding {
        if finding.diagnosis == d::RETURNED_ERROR && finding.spots.is_empty() {
            return finding.at(self.failed.clone(), "the first call that returned an error");
        }
        if finding.diagnosis.outcome != Outcome::GraderError {
            return finding;
        }
        if let Some(left) = &self.left {
            return left.clone().note(finding.message);
        }
        if self.has_run && finding.diagnosis == d::SETUP_FAILED && blames_code(&finding.message) {
            let message = "what the function left or returned cannot be used";
            return Finding::new(d::LEFT_AN_ERROR, message)
                .at(self.freed.clone(), "the last call that gave memory back")
                .note(finding.message);
        }
        finding
    }
}

/// Whether an error of the driver's is about a pointer, a handle or a context.
fn blames_code(message: &str) -> bool {
    let error = message.split_once("CUDA_ERROR_").map(|(_, rest)| rest);
    error.is_some_and(|error| !NOT_THE_CODES.iter().any(|start| error.starts_with(start)))
}

/// The first launch that is given memory which is not allocated when it is enqueued.
fn stray_launch(trace: &Trace) -> Option<&Call> {
    let mut live: Vec<Range> = Vec::new();
    for call in trace.calls().filter(|call| call.succeeded()) {
        match &call.op {
            Op::Alloc { range, .. } | Op::HostAlloc { range } | Op::HostRegister { range } => {
                live.push(*range);
            }
            Op::Free { range, .. } | Op::HostFree { range } | Op::HostUnregister { range } => {
                live.retain(|other| other != range);
            }
            Op::Launch { accesses, .. } => {
                let is_live = |range| live.iter().any(|memory| memory.contains(range));
                if accesses.iter().any(|access| !is_live(access.range)) {
                    return Some(call);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_up_is_not_the_codes_fault() {
        let said = |name: &str| format!("the grading case failed: DriverError({name}, \"\")");
        assert!(blames_code(&said("CUDA_ERROR_INVALID_VALUE")));
        assert!(blames_code(&said("CUDA_ERROR_CONTEXT_IS_DESTROYED")));
        assert!(!blames_code(&said("CUDA_ERROR_OUT_OF_MEMORY")));
        assert!(!blames_code("the grading case failed: no such file"));
    }

    #[test]
    fn only_what_is_known_to_be_another_context_is_lost() {
        let (one, two, none, unknown) =
            (Context(Some(Some(1))), Context(Some(Some(2))), Context(Some(None)), Context(None));
        assert!(one.is_lost(two) && one.is_lost(none));
        assert!(!one.is_lost(one) && !one.is_lost(unknown));
        assert!(!none.is_lost(one) && !unknown.is_lost(one));
    }

    #[test]
    fn before_the_first_run_an_error_is_the_graders() {
        let failed = Finding::new(d::SETUP_FAILED, "CUDA_ERROR_ILLEGAL_ADDRESS");
        assert_eq!(Aftermath::default().explain(failed.clone()), failed);
        let after = Aftermath { has_run: true, ..Aftermath::default() };
        assert_eq!(after.explain(failed).diagnosis, d::LEFT_AN_ERROR);
    }
}
