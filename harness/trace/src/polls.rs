//! Which threads asked the device again and again how far it is.
//!
//! A thread *polls* if it asks whether the same work is over, is told that it is not, and asks again,
//! having enqueued nothing in between; or if it is told so more often than now and then ([`OFTEN`]),
//! whatever it enqueues in between. The question may be put by cuEventQuery, cuStreamQuery, or a
//! cuEventElapsedTime that comes too early. What is asked about is the last work that the question
//! covers: a new event behind the same work asks the same.
//!
//! Not seen: a host that looks at memory which the device writes, or that sleeps.

use rustc_hash::FxHashMap;

use crate::model::{Call, EventId, Frame, Nanos, Op, Seq, StreamId, ThreadId, Trace};
use crate::names::Names;
use crate::timing::NOT_READY;

/// How often a thread may be told that the same work is not over, if it enqueues work in between.
pub const OFTEN: u32 = 16;

/// A thread that asked again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct Poll {
    /// The first of the calls that asked.
    pub seq: Seq,
    /// The thread.
    pub thread: ThreadId,
    /// The driver function of the first call.
    pub function: String,
    /// The learner's line of that.
    pub at: Option<Frame>,
    /// How many calls asked.
    pub count: u32,
    /// When the first was entered, on the host's clock.
    pub entered: Nanos,
    /// When the last one returned.
    pub left: Nanos,
}

/// What is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Subject {
    /// A piece of work, by its call.
    Work(Seq),
    /// An event that no work of the record stands before.
    Event(EventId),
    /// A stream without work in the record.
    Stream(StreamId),
}

/// A subject that a thread was told is not over.
struct Asked {
    poll: Poll,
    /// Whether the thread enqueued work since it asked last.
    went_on: bool,
    /// Whether it asked again without having done so.
    stood_still: bool,
}

/// The polling of a trace, in the order in which it began.
pub fn polls(trace: &Trace) -> Vec<Poll> {
    let names = Names::of(trace);
    let mut last_work = FxHashMap::<StreamId, Seq>::default();
    let mut recorded = FxHashMap::<EventId, Option<Seq>>::default();
    let mut asked = FxHashMap::<(ThreadId, Subject), Asked>::default();
    let mut found = Vec::new();
    for call in trace.calls() {
        if let Some((subject, done)) = question(call, &last_work, &recorded) {
            let key = (call.thread, subject);
            let this = asked.entry(key).or_insert_with(|| Asked {
                poll: Poll {
                    seq: call.seq,
                    thread: call.thread,
                    function: names.text(call.function).into(),
                    at: names.at(call.stack).cloned(),
                    count: 0,
                    entered: call.entered,
                    left: call.left,
                },
                went_on: true,
                stood_still: false,
            });
            this.poll.count += 1;
            this.poll.left = call.left;
            this.stood_still |= !this.went_on;
            this.went_on = false;
            if done && let Some(over) = asked.remove(&key) {
                found.extend(over.poll());
            }
            continue;
        }
        if !call.succeeded() {
            continue;
        }
        match (&call.op, call.op.stream()) {
            (Op::EventRecord { event, stream }, _) => {
                recorded.insert(*event, last_work.get(stream).copied());
            }
            (op, Some(stream)) if op.is_work() => {
                last_work.insert(stream, call.seq);
                let own = asked.iter_mut().filter(|((thread, _), _)| *thread == call.thread);
                own.for_each(|(_, asked)| asked.went_on = true);
            }
            _ => {}
        }
    }
    found.extend(asked.into_values().filter_map(Asked::poll));
    found.sort_unstable_by_key(|poll| poll.seq);
    found
}

impl Asked {
    fn poll(self) -> Option<Poll> {
        (self.stood_still || self.poll.count > OFTEN).then_some(self.poll)
    }
}

/// What a call asks about, and whether the answer is that it is over.
fn question(
    call: &Call,
    last_work: &FxHashMap<StreamId, Seq>,
    recorded: &FxHashMap<EventId, Option<Seq>>,
) -> Option<(Subject, bool)> {
    let behind = |event: EventId| match recorded.get(&event) {
        Some(Some(work)) => Subject::Work(*work),
        _ => Subject::Event(event),
    };
    match call.op {
        _ if !call.succeeded() => None,
        Op::EventQuery { event, done } => Some((behind(event), done)),
        Op::StreamQuery { stream, done } => Some((
            last_work.get(&stream).map_or(Subject::Stream(stream), |s| Subject::Work(*s)),
            done,
        )),
        Op::EventElapsed { end, .. } if call.result == NOT_READY => Some((behind(end), false)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::case;

    #[rstest]
    #[case::asked_once("query e pending", &[])]
    #[case::asked_when_over("query e done; query e done", &[])]
    #[case::until_it_is_over("query e pending; query e pending; query e done", &[3])]
    #[case::once_more("query e pending; query e done", &[2])]
    #[case::never_told("query e pending; query e pending", &[2])]
    #[case::now_and_then("query e pending; write y on s2; query e pending; write y on s2; query e done", &[])]
    #[case::a_stream("query s1 pending; query s1 done", &[2])]
    #[case::another_question("query e pending; query s1 pending; query s1 done", &[3])]
    #[case::a_new_event("query e pending; record f on s1; query f pending; query f done", &[3])]
    #[case::two_subjects("query e pending; query s2 pending", &[])]
    #[case::two_threads("query e pending; helper: query e pending", &[])]
    #[case::another_thread("helper: query e pending; helper: query e done", &[2])]
    #[case::others_go_on("helper: query e pending; write y on s2; helper: query e done", &[2])]
    fn polls_are(#[case] text: &str, #[case] counts: &[u32]) {
        let setup = "stream s1; stream s2; alloc x 64; alloc y 64; write y on s2; write x on s1; \
                     record e on s1";
        let program = format!("{setup}; {text}; expect races 0").replace("; ", "\n");
        let trace = case::trace(&program).expect("reads");
        let found: Vec<u32> = polls(&trace).iter().map(|poll| poll.count).collect();
        assert_eq!(found, counts);
    }

    /// Work in between, and the question all the same.
    #[rstest]
    #[case::now_and_then(OFTEN, 0)]
    #[case::again_and_again(OFTEN + 1, 1)]
    fn work_between_questions(#[case] times: u32, #[case] expected: usize) {
        let turn = "query e pending\nwrite y on s2\n".repeat(times as usize);
        let setup = "stream s1\nstream s2\nalloc x 64\nalloc y 64\nwrite x on s1\nrecord e on s1";
        let trace = case::trace(&format!("{setup}\n{turn}expect races 0")).expect("reads");
        assert_eq!(polls(&trace).len(), expected);
    }
}
