//! What the cases of several exercises do and check: parts of a run, runs with legal delays, and that
//! a part is unblocked, clean, and on the streams it belongs on.

use streamlings_driver::recording;
use streamlings_trace::blocks::{Block, Reason, blocks};
use streamlings_trace::names::Names;
use streamlings_trace::order::races;
use streamlings_trace::order::report::{Race, Reuse};
use streamlings_trace::order::waits::{Instead, instead_of_wait, is_ordered, ordering_wait};
use streamlings_trace::polls::polls;
use streamlings_trace::regions::{Region, regions};
use streamlings_trace::{Call, Frame, MarkKind, Op, Range, Seq, StreamId, Trace};

use crate::diagnosis as d;
use crate::grader::{Grader, Run};
use crate::outcome::Outcome;
use crate::verdict::{At, Finding, Witness};

mod busy;
mod flow;
mod said;

pub use self::busy::{held_run, unhurried};
pub use self::said::{deeds, doing, host_polls, missing_edge};

/// How many runs with legal delays there are beside the first one.
pub const PERTURBED: u32 = 2;

/// Marks a part of the run by name.
pub fn part<T>(region: &str, work: impl FnOnce() -> T) -> T {
    recording::mark(MarkKind::Begin { region: region.to_owned() });
    let result = work();
    recording::mark(MarkKind::End { region: region.to_owned() });
    result
}

/// The part of a run that [`part`] marked.
///
/// # Errors
/// [`d::SETUP_FAILED`] where there is none of that name.
pub fn region(trace: &Trace, name: &str) -> Result<Region, Finding> {
    let found = regions(trace).into_iter().find(|region| region.name == name);
    let message = || format!("the trace has no region `{name}`");
    found.ok_or_else(|| Finding::new(d::SETUP_FAILED, message()))
}

/// The stream of that name, as the harness gave it.
pub fn stream_named(trace: &Trace, wanted: &str) -> Option<StreamId> {
    trace.marks().find_map(|mark| match &mark.kind {
        MarkKind::NameStream { stream, name } if name == wanted => Some(*stream),
        _ => None,
    })
}

/// A first run, and some with legal delays: each is judged.
///
/// # Errors
/// Those of [`Grader::run`], and what `judge` finds.
pub fn runs<T>(
    grader: &mut Grader,
    mut run: impl FnMut() -> T,
    judge: impl FnMut(&mut Grader, Run<T>) -> Result<(), Finding>,
) -> Result<(), Finding> {
    prepared_runs(grader, || Ok(()), |()| run(), judge)
}

/// The same, with something to be prepared before each run, which is not in its record.
///
/// # Errors
/// Those of `prepare` and [`Grader::run`], and what `judge` finds.
pub fn prepared_runs<S, T>(
    grader: &mut Grader,
    mut prepare: impl FnMut() -> Result<S, Finding>,
    mut run: impl FnMut(S) -> T,
    mut judge: impl FnMut(&mut Grader, Run<T>) -> Result<(), Finding>,
) -> Result<(), Finding> {
    judged_runs(grader, |grader, seed| {
        let prepared = prepare()?;
        let run = match seed {
            None => grader.run(|| run(prepared))?,
            Some(seed) => grader.run_perturbed(seed, || run(prepared))?,
        };
        judge(grader, run)
    })
}

/// The same, where the case runs the learner's code itself: without delays, or with those of a seed.
///
/// # Errors
/// What `judged` finds.
pub fn judged_runs(
    grader: &mut Grader,
    mut judged: impl FnMut(&mut Grader, Option<u64>) -> Result<(), Finding>,
) -> Result<(), Finding> {
    let mut found = judged(grader, None);
    for _ in 0..PERTURBED {
        if found.is_ok() {
            let seed = grader.rng().u64(..);
            found = judged(grader, Some(seed));
        }
    }
    found.map_err(|finding| {
        with_witness(finding, || {
            let seed = grader.rng().u64(..);
            (seed, judged(grader, Some(seed)).err())
        })
    })
}

/// What was found in the record comes before what was found in the values, and a race takes those as
/// what came of it.
///
/// # Errors
/// Either's.
pub fn record_before_values(
    record: Result<(), Finding>,
    values: Result<(), Finding>,
) -> Result<(), Finding> {
    match (record, values) {
        (Err(race), Err(value))
            if race.diagnosis.outcome == Outcome::Raced && value.diagnosis == d::WRONG_VALUE =>
        {
            Err(race.seen(Some(value.message)))
        }
        (record, values) => record.and(values),
    }
}

/// How many further runs may show what a race does.
const WITNESSES: u32 = 6;

/// A race that no run has shown yet is run again with other delays, until one does.
fn with_witness(
    mut finding: Finding,
    mut again: impl FnMut() -> (u64, Option<Finding>),
) -> Finding {
    if finding.diagnosis.outcome != Outcome::Raced {
        return finding;
    }
    for _ in 0..WITNESSES {
        if finding.witness.is_some() {
            break;
        }
        let (seed, found) = again();
        let seen = found.filter(|found| found.diagnosis == finding.diagnosis);
        let seen = seen.and_then(|found| found.witness);
        finding.witness = seen.map(|Witness { seen, .. }| Witness { seen, delays: Some(seed) });
    }
    finding
}

/// One part of a run, to be checked.
#[derive(Debug)]
pub struct Part<'a> {
    grader: &'a Grader,
    trace: &'a Trace,
    names: Names,
    region: Region,
}

impl<'a> Part<'a> {
    /// The part of this name.
    ///
    /// # Errors
    /// Those of [`region`].
    pub fn new(grader: &'a Grader, trace: &'a Trace, name: &str) -> Result<Part<'a>, Finding> {
        let region = region(trace, name)?;
        Ok(Part { grader, trace, names: Names::of(trace), region })
    }

    /// The operations that were enqueued in it, in order.
    pub fn work(&self) -> Vec<&'a Call> {
        let calls = self.trace.calls().filter(|call| self.spans(call.seq));
        calls.filter(|call| call.succeeded() && call.op.is_work()).collect()
    }

    /// The operation that a case is about, if the part has it. `what` completes "no launch that ...".
    ///
    /// # Errors
    /// [`d::NOTHING_LAUNCHED`], or [`d::NOT_LAUNCHED_ON_IT`] where the part has other work.
    pub fn the(&self, call: Option<&&'a Call>, what: &str) -> Result<&'a Call, Finding> {
        call.copied().ok_or_else(|| match self.work().last() {
            None => {
                let message = format!("the driver saw no launch that {what}");
                Finding::new(d::NOTHING_LAUNCHED, message)
            }
            Some(other) => {
                let message = format!("of all launches, none {what}");
                let other_at = format!("the last: {}", self.names.operation(other));
                Finding::new(d::NOT_LAUNCHED_ON_IT, message).at(self.at(other), other_at)
            }
        })
    }

    /// Whether the part lasted at a place in the order of calls, whatever thread is asked about.
    fn spans(&self, seq: Seq) -> bool {
        self.region.begin < seq && self.region.end.is_none_or(|end| seq < end)
    }

    /// The learner's line of a call.
    pub fn at(&self, call: &Call) -> Option<At> {
        self.grader.at(self.trace, call)
    }

    fn frame_at(&self, frame: &Option<Frame>) -> Option<At> {
        self.grader.frame_at(frame.as_ref()?)
    }

    fn has_mark(&self, wanted: impl Fn(&MarkKind) -> bool) -> bool {
        let mut marks = self.trace.marks();
        marks.any(|mark| self.spans(mark.seq) && wanted(&mark.kind))
    }

    /// Nothing in the part holds the host, would have held it, or asks the device how far it is.
    ///
    /// # Errors
    /// [`d::DEVICE_WIDE_SYNC`], [`d::HOST_HELD`], [`d::HOST_POLLS`].
    pub fn unblocked(&self) -> Result<(), Finding> {
        let calls: Vec<&Call> = self.trace.calls().filter(|call| self.spans(call.seq)).collect();
        let all = blocks(self.trace);
        let mut held = all.iter().filter(|block| calls.iter().any(|call| call.seq == block.seq));
        if let Some(block) = held.next() {
            return Err(self.held(block));
        }
        if let Some(poll) =
            polls(self.trace).iter().find(|poll| calls.iter().any(|call| call.seq == poll.seq))
        {
            return Err(host_polls(self.grader, poll));
        }
        // Even a single answer may be all that orders the two by luck.
        let query =
            |call: &&&Call| matches!(call.op, Op::EventQuery { .. } | Op::StreamQuery { .. });
        let queries: Vec<&&Call> = calls.iter().filter(query).collect();
        let Some(first) = queries.first() else { return Ok(()) };
        let name = self.trace.name(first.function);
        let message = match queries.len() {
            1 => format!("`{name}` was called"),
            count => format!("`{name}` and its like were called {count} times"),
        };
        Err(Finding::new(d::HOST_POLLS, message).at(self.at(first), "asks here"))
    }

    fn held(&self, block: &Block) -> Finding {
        let diagnosis = match block.reason {
            Reason::ContextSync => d::DEVICE_WIDE_SYNC,
            _ => d::HOST_HELD,
        };
        let held = (block.left - block.entered) as f64 / 1e6;
        Finding::new(diagnosis, format!("`{}` waits", block.function))
            .at(self.frame_at(&block.at), format!("held the host for {held:.3} ms"))
            .note(block.reason.sentence())
    }

    /// No two accesses of the whole run are unordered. `seen` is what came of it in this run, if
    /// anything did: "the sum came out as 2; 1 is right".
    ///
    /// # Errors
    /// What is wrong with the wait, where one is missing; [`d::REUSE_BEFORE_RECORD`] where memory was
    /// handed out again too early; else [`d::UNORDERED_ACCESS`].
    pub fn unraced(&self, seen: Option<String>) -> Result<(), Finding> {
        let races = races(self.trace);
        // Of all that one missing wait leaves unordered, that a value is read too early says most, and
        // memory that is handed out again says least.
        let reads = |race: &Race| race.earlier.kind.writes() && race.later.kind.reads();
        let rank = |race: &&Race| (race.reuse.is_some(), !reads(race));
        let Some(race) = races.iter().min_by_key(rank) else { return Ok(()) };
        let finding = match &race.reuse {
            Some(reuse) if self.is_foreign(race, reuse) => self.reused(race, reuse),
            _ => self.unordered(race),
        };
        Err(finding.seen(seen))
    }

    /// Whether the part hands some of this memory back to the allocator.
    pub fn hands_back(&self, memory: Range) -> bool {
        self.has_mark(|kind| match kind {
            MarkKind::BlockBack { range } => range.overlaps(memory),
            _ => false,
        })
    }

    /// Where the part hands memory of the stream `own` back, the allocator knows of each other stream
    /// that the part uses it on, or what `own` does next waits for that use. Without either, it depends
    /// on luck whether the memory is handed out too early.
    ///
    /// # Errors
    /// [`d::REUSE_BEFORE_RECORD`].
    pub fn recorded(&self, memory: Range, own: StreamId) -> Result<(), Finding> {
        let after = |call: &&Call| self.region.end.is_some_and(|end| call.seq > end);
        let on_own = |call: &&Call| call.op.is_work() && call.op.stream() == Some(own);
        let next = self.trace.calls().filter(after).find(on_own);
        if !self.hands_back(memory) {
            return Ok(());
        }
        for call in self.work().into_iter().filter(|call| uses(call, memory)) {
            let Some(user) = call.op.stream().filter(|stream| *stream != own) else { continue };
            let is_known = self.has_mark(|kind| match kind {
                MarkKind::BlockUse { range, stream } => *stream == user && range.overlaps(memory),
                _ => false,
            });
            let is_over = next.is_some_and(|next| is_ordered(self.trace, call.seq, next.seq));
            if !is_known && !is_over {
                let user = self.names.stream(user);
                let message = format!("memory was handed back while {user} may still use it");
                return Err(Finding::new(d::REUSE_BEFORE_RECORD, message)
                    .at(self.at(call), format!("used on {user} here"))
                    .note(format!("its use on {user} was not recorded")));
            }
        }
        Ok(())
    }

    /// Whether the block's earlier user is another stream than the block's own.
    fn is_foreign(&self, race: &Race, reuse: &Reuse) -> bool {
        let own = self.trace.marks().find_map(|mark| match mark.kind {
            MarkKind::BlockOut { stream, .. } if mark.seq == reuse.again.seq => Some(stream),
            _ => None,
        });
        own.is_some() && race.earlier.stream().is_some() && race.earlier.stream() != own
    }

    fn reused(&self, race: &Race, reuse: &Reuse) -> Finding {
        let (user, buffer) = (&race.earlier.actor, named(&race.earlier.buffer));
        let again = match &reuse.now {
            Some(name) => format!("as `{name}`, "),
            None => String::new(),
        };
        let message = format!(
            "{buffer} was handed out again, {again}while {user} may still {}",
            if race.earlier.kind.writes() { "write it" } else { "read it" }
        );
        let mut finding = Finding::new(d::REUSE_BEFORE_RECORD, message)
            .at(self.frame_at(&race.earlier.at), format!("used on {user} here"));
        if let Some(back) = &reuse.back {
            finding = finding.at(self.frame_at(&back.at), "handed back to the allocator here");
        }
        let recorded: Vec<&str> = reuse.uses.iter().map(|(stream, _)| stream.as_str()).collect();
        let note = match recorded[..] {
            [] => "its use was recorded on no other stream than its own".to_owned(),
            _ => format!("its use was recorded on {}", recorded.join(", ")),
        };
        finding.note(note)
    }

    fn unordered(&self, race: &Race) -> Finding {
        let (earlier, later) = (&race.earlier, &race.later);
        let buffer = named(&later.buffer.clone().or_else(|| earlier.buffer.clone()));
        let message = format!(
            "{} {} {buffer}, and nothing makes it wait until {} is done with it",
            later.actor,
            deeds(later.kind),
            earlier.actor
        );
        let instead = instead_of_wait(self.trace, race, self.region.begin);
        let diagnosis = match &instead {
            _ if earlier.stream().is_none() || later.stream().is_none() => d::UNORDERED_ACCESS,
            Instead::NoWait | Instead::OnItself { .. } => d::MISSING_WAIT,
            Instead::RecordedTooEarly { .. } => d::RECORDED_TOO_EARLY,
            Instead::RecordedAgain { .. } => d::RECORDED_AGAIN,
            Instead::WaitedTooLate { .. } => d::WAITED_TOO_LATE,
            Instead::WrongWayRound { .. } => d::WAIT_WRONG_WAY_ROUND,
        };
        let finding = Finding::new(diagnosis, message)
            .at(self.frame_at(&later.at), doing(race, later))
            .at(self.frame_at(&earlier.at), doing(race, earlier));
        match &instead {
            Instead::NoWait => finding.note(missing_edge(race)),
            Instead::OnItself { wait } => {
                let waits = format!("here {} waits for itself", later.actor);
                finding.at(self.at(wait), waits).note(missing_edge(race))
            }
            Instead::RecordedTooEarly { record, .. } => {
                finding.at(self.at(record), "the event that was waited for stands here")
            }
            Instead::RecordedAgain { record, .. } => {
                finding.at(self.at(record), "the event was recorded again here")
            }
            Instead::WaitedTooLate { wait } => finding.at(self.at(wait), "the wait stands here"),
            Instead::WrongWayRound { wait } => {
                let waits = format!("here {} waits for {}", earlier.actor, later.actor);
                finding.at(self.at(wait), waits)
            }
        }
    }

    /// Each operation is on the stream that it belongs on.
    ///
    /// # Errors
    /// [`d::ALL_ON_ONE_STREAM`] where all of them are on one, else [`d::ON_ANOTHER_STREAM`].
    pub fn on_streams(&self, work: &[(&Call, StreamId)]) -> Result<(), Finding> {
        let off = work.iter().find(|(call, stream)| call.op.stream() != Some(*stream));
        let Some((call, wanted)) = off else { return Ok(()) };
        let mut on: Vec<StreamId> = work.iter().filter_map(|(call, _)| call.op.stream()).collect();
        on.sort();
        on.dedup();
        let operation = self.names.operation(call);
        let ran = call.op.stream().map_or_else(String::new, |stream| self.names.stream(stream));
        let wanted = self.names.stream(*wanted);
        let (diagnosis, message) = match on[..] {
            [_] => (d::ALL_ON_ONE_STREAM, format!("all of it runs on {ran}")),
            _ => (d::ON_ANOTHER_STREAM, format!("{operation} runs on {ran}, not on {wanted}")),
        };
        Err(Finding::new(diagnosis, message)
            .at(self.at(call), format!("{operation} is to run on {wanted}")))
    }

    /// The second of two operations does not wait for the first.
    ///
    /// # Errors
    /// [`d::ORDERED_WITHOUT_NEED`].
    pub fn side_by_side(&self, first: &Call, second: &Call) -> Result<(), Finding> {
        if !is_ordered(self.trace, first.seq, second.seq) {
            return Ok(());
        }
        let on = |call: &Call| {
            let stream =
                call.op.stream().map_or_else(String::new, |stream| self.names.stream(stream));
            format!("{} on {stream}", self.names.operation(call))
        };
        let message = format!("{} waits for {}", on(second), on(first));
        let wait = ordering_wait(self.trace, first.seq, second.seq);
        Err(Finding::new(d::ORDERED_WITHOUT_NEED, message)
            .at(self.at(first), "this is waited for")
            .at(self.at(second), "by this")
            .at(wait.and_then(|wait| self.at(&wait)), "because of this wait"))
    }
}

/// Whether an operation reads some of this memory and does not write it.
pub fn only_reads(call: &Call, memory: Range) -> bool {
    touches(call, memory, false) && !writes(call, memory)
}

/// Whether an operation writes some of this memory.
pub fn writes(call: &Call, memory: Range) -> bool {
    touches(call, memory, true)
}

fn uses(call: &Call, memory: Range) -> bool {
    touches(call, memory, false) || touches(call, memory, true)
}

fn touches(call: &Call, memory: Range, write: bool) -> bool {
    match &call.op {
        Op::Launch { accesses, .. } => accesses.iter().any(|access| {
            let kind = if write { access.kind.writes() } else { access.kind.reads() };
            kind && access.range.overlaps(memory)
        }),
        Op::Copy { src, dst, .. } => if write { dst } else { src }.range.overlaps(memory),
        Op::Memset { range, .. } => write && range.overlaps(memory),
        _ => false,
    }
}

fn named(buffer: &Option<String>) -> String {
    buffer.as_ref().map_or_else(|| "memory".to_owned(), |name| format!("`{name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raced(seen: Option<&str>) -> Finding {
        Finding::new(d::MISSING_WAIT, "a race").seen(seen.map(str::to_owned))
    }

    #[test]
    fn a_race_is_run_again_until_a_run_shows_it() {
        let mut seeds = 0;
        let found = with_witness(raced(None), || {
            seeds += 1;
            match seeds {
                1 => (seeds, None),
                2 => (seeds, Some(Finding::new(d::WRONG_VALUE, "").seen(Some("no race".into())))),
                3 => (seeds, Some(raced(None))),
                _ => (seeds, Some(raced(Some("it came out as 2")))),
            }
        });
        let shown = found.witness.map(|witness| witness.to_string());
        let wanted = "in a run with other delays (seed 4) it came out as 2";
        assert_eq!(shown.as_deref(), Some(wanted));
    }

    #[test]
    fn what_is_shown_or_no_race_is_not_run_again() {
        let never = || unreachable!("nothing is to be shown");
        let shown = with_witness(raced(Some("it came out as 2")), never);
        assert_eq!(shown, raced(Some("it came out as 2")));
        let held = Finding::new(d::HOST_HELD, "a wait");
        assert_eq!(with_witness(held.clone(), never), held);
        let mut runs = 0;
        let unshown = with_witness(raced(None), || {
            runs += 1;
            (0, None)
        });
        assert_eq!((unshown, runs), (raced(None), WITNESSES));
    }
}
