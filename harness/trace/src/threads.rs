//! What one host thread may know of another, where nobody recorded how threads talk.
//!
//! A driver sees no join, no channel, no lock. So a recorded trace cannot show that one thread had to come
//! after another; it can show that it did. An analysis that claims that nothing orders two accesses has to
//! allow for whatever the threads may have told each other until then.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::model::{Item, Mark, MarkKind, Nanos, Seq, ThreadId, Trace};

/// Adds a [`MarkKind::CameBefore`] wherever all that a thread had done was over before another one's next
/// call or mark began. Of two calls that overlapped, neither came before the other, but all that was over
/// when the first of them began came before the second.
pub fn order_by_time(trace: &mut Trace) {
    let acts: Vec<Option<Act>> = trace.items.iter().map(Act::of).collect();
    let threads: FxHashSet<ThreadId> = acts.iter().flatten().map(|act| act.thread).collect();
    if threads.len() < 2 {
        return;
    }
    let mut threads: Vec<ThreadId> = threads.into_iter().collect();
    threads.sort();
    let mut told = Told::default();
    let mut items = Vec::with_capacity(trace.items.len());
    for (index, item) in std::mem::take(&mut trace.items).into_iter().enumerate() {
        if let Some(act) = acts[index] {
            let overlaps = acts[index + 1..]
                .iter()
                .flatten()
                .take_while(|later| later.entered < act.left)
                .any(|later| later.thread != act.thread);
            for other in threads.iter().filter(|other| **other != act.thread) {
                items.extend(told.of(*other, act.thread, act));
                if overlaps {
                    items.extend(told.of(act.thread, *other, act));
                }
            }
            told.news(act, &threads);
        }
        items.push(item);
    }
    trace.items = items;
}

/// A call or a mark.
#[derive(Clone, Copy)]
struct Act {
    seq: Seq,
    thread: ThreadId,
    entered: Nanos,
    left: Nanos,
}

impl Act {
    fn of(item: &Item) -> Option<Act> {
        match item {
            Item::Call(call) => Some(Act {
                seq: call.seq,
                thread: call.thread,
                entered: call.entered,
                left: call.left,
            }),
            Item::Mark(mark) => {
                Some(Act { seq: mark.seq, thread: mark.thread, entered: mark.at, left: mark.at })
            }
            _ => None,
        }
    }
}

/// Who has heard what from whom.
#[derive(Default)]
struct Told {
    /// When the last act of a thread was over.
    left: FxHashMap<ThreadId, Nanos>,
    /// Pairs whose first did something that the second has not heard of.
    news: FxHashSet<(ThreadId, ThreadId)>,
}

impl Told {
    fn news(&mut self, act: Act, threads: &[ThreadId]) {
        let left = self.left.entry(act.thread).or_default();
        *left = act.left.max(*left);
        let others = threads.iter().filter(|other| **other != act.thread);
        self.news.extend(others.map(|other| (act.thread, *other)));
    }

    /// What `other` hears of `thread` before an act begins.
    fn of(&mut self, thread: ThreadId, other: ThreadId, act: Act) -> Option<Item> {
        let over = self.left.get(&thread).is_some_and(|left| *left <= act.entered);
        if !over || !self.news.remove(&(thread, other)) {
            return None;
        }
        let kind = MarkKind::CameBefore { other };
        Some(Item::Mark(Mark { seq: act.seq, thread, at: act.entered, kind, stack: None }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case;
    use crate::order::races;

    /// What threads there are is told by nobody, as in a recorded trace; calls take a microsecond or so, one
    /// after the other.
    fn recorded(program: &str) -> Trace {
        let mut trace = case::trace(program).expect("it is a program");
        let is_told = |item: &Item| {
            matches!(item, Item::Mark(mark)
                if matches!(mark.kind, MarkKind::ThreadBegin { .. } | MarkKind::ThreadJoin { .. }))
        };
        trace.items.retain(|item| !is_told(item));
        trace
    }

    fn races_of(program: &str) -> [usize; 2] {
        let mut trace = recorded(program);
        let before = races(&trace).len();
        order_by_time(&mut trace);
        [before, races(&trace).len()]
    }

    const COPY: &str = "stream s\nhost h 4096 pinned\nalloc x 4096\n";

    #[test]
    fn a_thread_may_have_heard_of_another_ones_wait() {
        assert_eq!(
            races_of(&format!(
                "{COPY}upload h to x on s\nt2: sync s\nhost write h\nexpect races 0"
            )),
            [1, 0]
        );
        assert_eq!(
            races_of(&format!("{COPY}t2: host write h\nupload h to x on s\nexpect races 0")),
            [1, 0]
        );
    }

    #[test]
    fn what_nobody_waited_for_is_known_to_nobody() {
        assert_eq!(
            races_of(&format!("{COPY}upload h to x on s\nt2: host write h\nexpect races 1")),
            [1, 1]
        );
    }

    /// The wait of the second thread lasts until after the first one's write.
    #[test]
    fn of_calls_that_overlap_neither_came_first() {
        let program = format!(
            "{COPY}upload h to x on s\nt2: sync s\nhost write h\nt2: host write h\nexpect races 1"
        );
        let mut trace = recorded(&program);
        let sync = trace.items.iter().position(|item| {
            matches!(item, Item::Call(call) if matches!(call.op, crate::model::Op::StreamSync { .. }))
        });
        let sync = sync.expect("there is one");
        let write = Act::of(&trace.items[sync + 1]).expect("a mark").entered;
        let last = Act::of(&trace.items[sync + 2]).expect("a mark").entered;
        if let Item::Call(call) = &mut trace.items[sync] {
            call.left = (write + last) / 2;
        }
        order_by_time(&mut trace);
        let found = races(&trace);
        // The first thread's write raced the copy; the second one's came after both.
        assert_eq!(found.len(), 1, "{found:#?}");
    }

    #[test]
    fn one_thread_stays_as_it_is() {
        let mut trace = recorded(&format!("{COPY}upload h to x on s\nexpect races 0"));
        let before = trace.clone();
        order_by_time(&mut trace);
        assert_eq!(trace, before);
    }
}
