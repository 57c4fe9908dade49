//! The stretches of a run that a grading case watches: from a `Begin` mark to its `End`.

use crate::model::{Call, Item, MarkKind, Nanos, Seq, ThreadId, Trace};

/// One run through a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its name.
    pub name: String,
    /// The thread that began it. What others did meanwhile is in [`Region::calls`], and not in
    /// [`Region::holds`].
    pub thread: ThreadId,
    /// The mark that begins it.
    pub begin: Seq,
    /// The mark that ends it; `None` if the trace ends first.
    pub end: Option<Seq>,
    /// When it began, on the host's clock.
    pub entered: Nanos,
    /// When it ended; the trace's last time if it never did.
    pub left: Nanos,
}

impl Region {
    /// Whether something that a thread did at a place in the order of calls is in it.
    pub fn holds(&self, thread: ThreadId, seq: Seq) -> bool {
        self.thread == thread && self.begin < seq && self.end.is_none_or(|end| seq < end)
    }

    /// Whether it lasted for the whole of what was begun at a place in the order of calls, and was over
    /// at a time, by whatever thread.
    pub fn spans(&self, seq: Seq, left: Nanos) -> bool {
        self.begin < seq && left <= self.left
    }

    /// The calls that were made while it lasted, by whatever thread.
    pub fn calls<'a>(&self, trace: &'a Trace) -> impl Iterator<Item = &'a Call> + use<'a> {
        let (begin, end) = (self.begin, self.end);
        trace.calls().filter(move |call| begin < call.seq && end.is_none_or(|end| call.seq < end))
    }

    /// How long it took on the host.
    pub fn host(&self) -> Nanos {
        self.left.saturating_sub(self.entered)
    }
}

/// Every run through every region, in the order in which they began. An `End` closes the newest open
/// region of its name on its thread; one that closes nothing is passed over.
pub fn regions(trace: &Trace) -> Vec<Region> {
    let mut found: Vec<Region> = Vec::new();
    let mut last = 0;
    for item in &trace.items {
        let mark = match item {
            Item::Mark(mark) => mark,
            Item::Call(call) => {
                last = last.max(call.left);
                continue;
            }
            _ => continue,
        };
        last = last.max(mark.at);
        match &mark.kind {
            MarkKind::Begin { region } => found.push(Region {
                name: region.clone(),
                thread: mark.thread,
                begin: mark.seq,
                end: None,
                entered: mark.at,
                left: mark.at,
            }),
            MarkKind::End { region } => {
                let open = found.iter_mut().rev().find(|open| {
                    open.end.is_none() && open.thread == mark.thread && open.name == *region
                });
                if let Some(open) = open {
                    open.end = Some(mark.seq);
                    open.left = mark.at;
                }
            }
            _ => {}
        }
    }
    for open in found.iter_mut().filter(|open| open.end.is_none()) {
        open.left = open.left.max(last);
    }
    found
}

/// The runs through the region of one name.
pub fn regions_named(trace: &Trace, name: &str) -> Vec<Region> {
    regions(trace).into_iter().filter(|region| region.name == name).collect()
}
