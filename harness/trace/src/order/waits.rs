//! Questions about single edges: whether one operation waits for another, and what is wrong with the
//! waits where it should.

use rustc_hash::FxHashMap;

use super::clock::Epoch;
use super::edges::Edges;
use super::report::Race;
use crate::model::{Call, EventId, Item, Op, Seq, StreamId, Trace};

/// Whether the operation that the call `second` enqueued waits for the one that `first` enqueued,
/// whatever the timing; true too where the host waited in between. False where one of the two
/// enqueued nothing, or `second` came first.
pub fn is_ordered(trace: &Trace, first: Seq, second: Seq) -> bool {
    let ordered = from_call(trace, first, |edges, call, enqueued, first| {
        let knows = || enqueued.and_then(|_| edges.last()).is_some_and(|clock| clock.covers(first));
        (call.seq == second).then(knows)
    });
    ordered.unwrap_or(false) && first != second
}

/// The call with which a host thread learned that the operation which the call `work` enqueued is over:
/// the first that returned with that knowledge, whichever thread made it. `None` where none did, however
/// much time passed.
pub fn learned(trace: &Trace, work: Seq) -> Option<&Call> {
    from_call(trace, work, |edges, call, _, work| {
        edges.host(call.thread).covers(work).then_some(call)
    })
}

/// The first answer of `asked`, which is put to the edges after each call from `work` on, if that enqueued
/// something: with the call, the operation that it enqueued, and that of `work`.
fn from_call<'t, T>(
    trace: &'t Trace,
    work: Seq,
    asked: impl Fn(&mut Edges, &'t Call, Option<Epoch>, Epoch) -> Option<T>,
) -> Option<T> {
    let mut edges = Edges::new();
    let mut epoch = None;
    for item in &trace.items {
        let call = match item {
            Item::Call(call) => call,
            Item::Mark(mark) => {
                edges.mark(mark);
                continue;
            }
            _ => continue,
        };
        let enqueued = edges.call(call);
        if call.seq == work {
            epoch = enqueued;
        }
        let answer = epoch.and_then(|work| asked(&mut edges, call, enqueued, work));
        if answer.is_some() {
            return answer;
        }
    }
    None
}

/// The wait that makes the operation of the call `second` come after that of `first`: of several, the
/// first that is left when the others are taken out one by one, the latest first. `None` where they are
/// ordered without a wait enqueued or made between them, or not at all.
pub fn ordering_wait(trace: &Trace, first: Seq, second: Seq) -> Option<Call> {
    if !is_ordered(trace, first, second) {
        return None;
    }
    let is_wait = |call: &&Call| {
        let waits = match call.op {
            Op::StreamWait { .. } | Op::StreamSync { .. } | Op::EventSync { .. } => true,
            Op::EventQuery { done, .. } | Op::StreamQuery { done, .. } => done,
            Op::ContextSync => true,
            _ => false,
        };
        waits && first < call.seq && call.seq < second
    };
    let waits: Vec<Call> = trace.calls().filter(is_wait).cloned().collect();
    let mut without = trace.clone();
    for wait in waits.into_iter().rev() {
        without.items.retain(|item| !matches!(item, Item::Call(call) if call.seq == wait.seq));
        if !is_ordered(&without, first, second) {
            return Some(wait);
        }
    }
    None
}

/// What there is instead of the wait that would order the two accesses of a race.
#[derive(Clone, Debug, PartialEq)]
pub enum Instead {
    /// Nothing.
    NoWait,
    /// A wait for the earlier access's stream, on an event that was recorded before that access.
    RecordedTooEarly {
        /// The record.
        record: Call,
        /// The wait.
        wait: Call,
    },
    /// A wait on an event that was recorded behind the earlier access, and then again on another
    /// stream.
    RecordedAgain {
        /// The last record.
        record: Call,
        /// The wait.
        wait: Call,
    },
    /// A wait of the later access's stream for itself.
    OnItself {
        /// The wait.
        wait: Call,
    },
    /// The right wait, enqueued right behind the later access: with no work of another line between, by a
    /// line that enqueues no work itself. What one does (backward, say) waits for reasons of its own.
    WaitedTooLate {
        /// The wait.
        wait: Call,
    },
    /// The earlier access's stream waits for the later one's.
    WrongWayRound {
        /// The wait.
        wait: Call,
    },
}

/// What there is instead of the wait that would order a race's two accesses, among the calls from
/// `since` on. Looks at waits between the two streams, not at chains over a third one.
pub fn instead_of_wait(trace: &Trace, race: &Race, since: Seq) -> Instead {
    let (earlier, later) = (&race.earlier, &race.later);
    let (Some(from), Some(to)) = (earlier.stream(), later.stream()) else {
        return Instead::NoWait;
    };
    let mut records = FxHashMap::<EventId, Vec<(&Call, StreamId)>>::default();
    let mut found = Instead::NoWait;
    // Whether the later access's line is still the last to have put work on its stream.
    let mut is_last = true;
    for call in trace.calls().filter(|call| call.succeeded()) {
        match &call.op {
            Op::EventRecord { event, stream } => {
                records.entry(*event).or_default().push((call, *stream));
            }
            op if op.is_work() && op.stream() == Some(to) && call.seq > later.seq => {
                is_last &= later.at.is_some() && trace.at(call) == later.at.as_ref();
            }
            Op::StreamWait { event, stream } if call.seq >= since => {
                let records = records.get(event).map_or(&[][..], Vec::as_slice);
                let Some((last, last_on)) = records.last() else { continue };
                let behind =
                    |(record, on): &(&Call, StreamId)| *on == from && record.seq > earlier.seq;
                let record = (*last).clone();
                let wait = call.clone();
                let between = earlier.seq < call.seq && call.seq < later.seq;
                let this = if *stream == from && *last_on == to && between {
                    Instead::WrongWayRound { wait }
                } else if *stream != to {
                    continue;
                } else if call.seq > later.seq {
                    let is_meant = is_last && !enqueues(trace, call);
                    if !is_meant || !records.last().is_some_and(behind) {
                        continue;
                    }
                    Instead::WaitedTooLate { wait }
                } else if *last_on == from && record.seq < earlier.seq {
                    Instead::RecordedTooEarly { record, wait }
                } else if *last_on != from && records.iter().any(behind) {
                    Instead::RecordedAgain { record, wait }
                } else if *last_on == to {
                    Instead::OnItself { wait }
                } else {
                    continue;
                };
                // The first wait that was meant for it says most; one that waits for nothing, least.
                match (&found, &this) {
                    (Instead::NoWait, _) => found = this,
                    (Instead::OnItself { .. }, this)
                        if !matches!(this, Instead::OnItself { .. }) =>
                    {
                        found = this.clone();
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
    found
}

/// Whether the line that made a call puts work on a stream, too.
fn enqueues(trace: &Trace, call: &Call) -> bool {
    let Some(line) = trace.at(call) else { return false };
    trace.calls().any(|other| other.op.is_work() && trace.at(other) == Some(line))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::case;
    use crate::order::races;

    const SETUP: &str = "stream s1\nstream s2\nalloc x 64\nalloc y 64\n";

    fn program(text: &str) -> Trace {
        // What a case expects is not looked at here.
        let text = text.replace("; ", "\n");
        case::trace(&format!("{SETUP}{text}\nexpect races 0")).expect("reads")
    }

    /// The first and the last operation of the text.
    #[rstest]
    #[case::stream_order("write x on s1; read x on s1", true)]
    #[case::nothing("write x on s1; read x on s2", false)]
    #[case::event("write x on s1; record e on s1; wait e on s2; read x on s2", true)]
    #[case::wrong_way("write x on s1; record e on s2; wait e on s1; read x on s2", false)]
    #[case::host("write x on s1; sync s1; read x on s2", true)]
    #[case::too_early("record e on s1; write x on s1; wait e on s2; read x on s2", false)]
    fn operations_are_ordered(#[case] text: &str, #[case] expected: bool) {
        let trace = program(text);
        let work: Vec<Seq> =
            trace.calls().filter(|call| call.op.is_work()).map(|call| call.seq).collect();
        let (first, last) = (work[0], work[work.len() - 1]);
        assert_eq!(is_ordered(&trace, first, last), expected);
        assert!(!is_ordered(&trace, last, first), "nothing waits for what comes later");
    }

    /// By its place among the calls that wait or ask.
    #[rstest]
    #[case::stream("write x on s1; sync s1", Some(0))]
    #[case::event("write x on s1; record e on s1; wait e", Some(0))]
    #[case::context("write x on s1; sync all", Some(0))]
    #[case::before("sync s1; write x on s1; sync s1", Some(1))]
    #[case::another_stream("write x on s1; sync s2", None)]
    #[case::over_another_stream("write x on s1; record e on s1; wait e on s2; sync s2", Some(0))]
    #[case::too_early("record e on s1; write x on s1; wait e", None)]
    #[case::the_first("write x on s1; query s1 pending; query s1 done; sync s1", Some(1))]
    #[case::another_thread("write x on s1; helper: sync s1; sync s1", Some(0))]
    #[case::nobody("write x on s1; record e on s1", None)]
    fn what_tells_that_work_is_over(#[case] text: &str, #[case] expected: Option<usize>) {
        let trace = program(text);
        let work = trace.calls().find(|call| call.op.is_work()).map(|call| call.seq);
        let asks = |call: &&Call| {
            matches!(
                call.op,
                Op::StreamSync { .. }
                    | Op::EventSync { .. }
                    | Op::ContextSync
                    | Op::StreamQuery { .. }
            )
        };
        let asks: Vec<Seq> = trace.calls().filter(asks).map(|call| call.seq).collect();
        let told = work.and_then(|work| learned(&trace, work)).map(|call| call.seq);
        assert_eq!(told, expected.map(|index| asks[index]));
    }

    /// The wait is named by its place among the waits.
    #[rstest]
    #[case::one("write x on s1; record e on s1; wait e on s2; read x on s2", Some(0))]
    #[case::host("write x on s1; sync s1; read x on s2", Some(0))]
    #[case::stream_order("write x on s1; read x on s1", None)]
    #[case::unordered("write x on s1; read x on s2", None)]
    #[case::another(
        "record f on s2; wait f on s1; write x on s1; record e on s1; wait e on s2; read x on s2",
        Some(1)
    )]
    #[case::needless(
        "write x on s1; record e on s1; wait e on s2; wait e on s2; read x on s2",
        Some(0)
    )]
    fn the_wait_that_orders_is_named(#[case] text: &str, #[case] expected: Option<usize>) {
        let trace = program(text);
        let is_wait =
            |call: &&Call| matches!(call.op, Op::StreamWait { .. } | Op::StreamSync { .. });
        let waits: Vec<Seq> = trace.calls().filter(is_wait).map(|call| call.seq).collect();
        let work = trace.calls().filter(|call| call.op.is_work());
        let work: Vec<Seq> = work.map(|call| call.seq).collect();
        let wait = ordering_wait(&trace, work[0], work[work.len() - 1]);
        assert_eq!(wait.map(|wait| wait.seq), expected.map(|index| waits[index]));
    }

    #[rstest]
    #[case("write x on s1; read x on s2", "NoWait")]
    #[case("record e on s1; write x on s1; wait e on s2; read x on s2", "RecordedTooEarly")]
    #[case("record e on s1; wait e on s2; write x on s1; read x on s2", "RecordedTooEarly")]
    #[case(
        "write x on s1; record e on s1; record e on s2; wait e on s2; read x on s2",
        "RecordedAgain"
    )]
    #[case("write x on s1; read x on s2; record e on s1; wait e on s2", "WaitedTooLate")]
    #[case("write x on s1; read x on s2; write y on s2; record e on s1; wait e on s2", "NoWait")]
    #[case("write x on s1; record e on s2; wait e on s1; read x on s2", "WrongWayRound")]
    #[case("record e on s2; wait e on s1; write x on s1; read x on s2", "NoWait")]
    #[case("write x on s1; record e on s2; wait e on s2; read x on s2", "OnItself")]
    #[case(
        "record e on s2; wait e on s2; write x on s1; read x on s2; record f on s1; wait f on s2",
        "WaitedTooLate"
    )]
    fn what_is_wrong_with_the_wait(#[case] text: &str, #[case] expected: &str) {
        let trace = program(text);
        let races = races(&trace);
        let [race] = &races[..] else { panic!("{races:?}") };
        let name = |instead: Instead| {
            let text = format!("{instead:?}");
            text.split(' ').next().map(str::to_owned)
        };
        assert_eq!(name(instead_of_wait(&trace, race, Seq(0))).as_deref(), Some(expected));
        let end = trace.calls().map(|call| call.seq.0).max().unwrap_or(0) + 1;
        assert_eq!(instead_of_wait(&trace, race, Seq(end)), Instead::NoWait, "all before `since`");
    }
}
