//! A race as it is handed out, and as the learner reads it.

use std::fmt;

use super::clock::Lane;
use crate::model::{AccessKind, Frame, Range, Seq, StreamId, ThreadId};

/// What touched memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// A kernel, by name.
    Kernel(String),
    /// A copy from host to device memory.
    Upload,
    /// A copy from device to host memory.
    Download,
    /// A copy within one kind of memory.
    Copy,
    /// A memset.
    Memset,
    /// Memory came into being on a stream.
    Alloc,
    /// Memory was given back.
    Free,
    /// The host's own code.
    Host,
}

/// One of the two accesses of a race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The call or mark.
    pub seq: Seq,
    /// Whose it is.
    pub lane: Lane,
    /// What it did to the bytes.
    pub kind: AccessKind,
    /// What did it.
    pub what: What,
    /// Whether the kernel is unknown, so that what it touches was assumed.
    pub assumed: bool,
    /// The learner's line.
    pub at: Option<Frame>,
    /// The buffer's name when it was touched.
    pub buffer: Option<String>,
    /// Its stream, or the host thread, as it stands in a sentence.
    pub actor: String,
}

impl Access {
    /// Its stream; `None` for the host.
    pub fn stream(&self) -> Option<StreamId> {
        self.lane.stream()
    }

    /// The thread that acted, or that enqueued it.
    pub fn thread(&self) -> ThreadId {
        self.lane.thread()
    }

    /// What did it: ``kernel `fill` ``, `upload`.
    pub fn doer(&self) -> String {
        match (&self.what, self.stream()) {
            (What::Kernel(name), _) => format!("kernel `{name}`"),
            (What::Upload, _) => "upload".into(),
            (What::Download, _) => "download".into(),
            (What::Copy, _) => "copy".into(),
            (What::Memset, _) => "memset".into(),
            (What::Alloc, _) => "stream-ordered alloc".into(),
            (What::Free, Some(_)) => "stream-ordered free".into(),
            (What::Free | What::Host, None) => self.actor.clone(),
            (What::Host, Some(_)) => "host function".into(),
        }
    }

    fn deed(&self) -> String {
        let what = self.doer();
        let did = match (&self.what, self.kind) {
            (What::Alloc, _) => "took it",
            (What::Free, _) => "gave it back",
            (_, AccessKind::Read) => "read",
            (_, AccessKind::Write) => "wrote",
            (_, AccessKind::Update) => "read and wrote",
        };
        match (&self.what, self.stream()) {
            (_, Some(_)) if self.actor.starts_with('`') => {
                format!("{what} {did} on stream {}", self.actor)
            }
            (_, Some(_)) => format!("{what} {did} on {}", self.actor),
            (_, None) => format!("{what} {did}"),
        }
    }
}

/// A place in the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The call or mark.
    pub seq: Seq,
    /// The learner's line.
    pub at: Option<Frame>,
}

/// The story of memory that was handed out again before its last user was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reuse {
    /// Whether a caching allocator handed it out; otherwise the driver did.
    pub block: bool,
    /// Whether the earlier access was on the stream that the block was handed out for. What that stream
    /// does next comes after it anyway, so that the block could be handed out again.
    pub own: bool,
    /// Its name in its former life.
    pub former: Option<String>,
    /// When it was handed out the first time, where known.
    pub out: Point,
    /// On which streams its use was recorded (record_stream), as they stand in a sentence.
    pub uses: Vec<(String, Point)>,
    /// When it was handed back.
    pub back: Option<Point>,
    /// When it was handed out again.
    pub again: Point,
    /// Its name in its new life.
    pub now: Option<String>,
}

/// Which edge is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Missing {
    /// The later access's stream never waited for the earlier one's.
    StreamWait,
    /// It did, but only for what came before the earlier access.
    LaterStreamWait,
    /// The host never waited for the earlier access's stream.
    HostWait,
    /// It did, but only for what came before the earlier access.
    LaterHostWait,
    /// Another host thread waited for the earlier access, which orders only what that thread does.
    OtherThreadWaited(ThreadId),
    /// The two belong to host threads that nothing orders.
    Threads,
    /// Two threads' calls on one stream overlapped in time: which came first is not known.
    OverlappingCalls,
}

/// Two accesses to the same bytes, at least one of them a write, that nothing orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// The buffer's name, as the later access knows it, else as the earlier one does.
    pub buffer: Option<String>,
    /// The bytes that both touched, as addresses; of the first occurrence.
    pub range: Range,
    /// The same, counted from the buffer's start.
    pub bytes: Range,
    /// The access whose call came first.
    pub earlier: Access,
    /// The other.
    pub later: Access,
    /// How often a later access of this kind ran into an earlier one.
    pub count: u64,
    /// Which edge is not there.
    pub missing: Missing,
    /// If the bytes were handed out again in between: how that came.
    pub reuse: Option<Reuse>,
}

impl Race {
    /// The missing edge, as the end of the sentence "nothing makes (2) wait for (1): ...".
    pub fn missing_edge(&self) -> String {
        self.missing_edge_after("(1)")
    }

    /// The missing edge, for a sentence of its own. `first` stands for the earlier access where no line
    /// of the learner's does.
    pub fn missing_edge_after(&self, first: &str) -> String {
        let after = match self.earlier.at.as_ref().filter(|at| at.line > 0) {
            Some(at) => format!("line {}", at.line),
            None => first.to_owned(),
        };
        let (first, second) = (&self.earlier, &self.later);
        let (from, to) = (&first.actor, &second.actor);
        let null = [first, second].iter().any(|access| access.stream() == Some(StreamId::LEGACY));
        let rule = if null && second.stream().is_some() {
            " (a non-blocking stream and the legacy default stream do not wait for each other)"
        } else {
            ""
        };
        match self.missing {
            Missing::StreamWait => format!("{to} never waited for {from} after {after}{rule}"),
            Missing::LaterStreamWait | Missing::LaterHostWait => {
                format!("{to} is ordered after {from} only up to a point before {after}")
            }
            Missing::HostWait => format!("{to} never waited for {from} after {after}"),
            Missing::OtherThreadWaited(thread) => format!(
                "host thread {} waited for {from}, which orders what that thread does, and nothing \
                 orders host thread {} after it",
                thread.0,
                second.thread().0
            ),
            Missing::Threads => format!(
                "nothing orders host thread {} after host thread {}",
                second.thread().0,
                first.thread().0
            ),
            Missing::OverlappingCalls => format!(
                "two host threads' calls on {from} overlapped in time, so which of the two came \
                 first is not known"
            ),
        }
    }

    fn story(&self, reuse: &Reuse) -> Vec<(String, Option<Frame>)> {
        if reuse.own {
            let now = name_or(&reuse.now, "this");
            let text = format!("(1) came before the memory was handed out again, as {now}");
            return vec![(text, reuse.again.at.clone())];
        }
        let former = name_or(&reuse.former, "the memory");
        let user = &self.earlier.actor;
        let mut lines = vec![(format!("{former} was handed out"), reuse.out.at.clone())];
        for (stream, point) in &reuse.uses {
            lines.push((format!("its use on {stream} was recorded"), point.at.clone()));
        }
        if let Some(back) = &reuse.back {
            let recorded = reuse.uses.iter().any(|(stream, _)| stream == user);
            let rest = match self.earlier.stream() {
                Some(_) if reuse.block && !recorded => {
                    format!(", its use on {user} not recorded (record_stream)")
                }
                _ => String::new(),
            };
            lines.push((format!("handed back{rest}"), back.at.clone()));
        }
        let again = match &reuse.now {
            Some(now) => format!("handed out again as `{now}`, before {user} was done with it"),
            None => format!("handed out again, before {user} was done with it"),
        };
        lines.push((again, reuse.again.at.clone()));
        lines
    }
}

fn name_or(name: &Option<String>, otherwise: &str) -> String {
    name.as_ref().map_or_else(|| otherwise.into(), |name| format!("`{name}`"))
}

fn place(at: &Option<Frame>) -> String {
    match at {
        Some(Frame { file: Some(file), line, .. }) if *line > 0 => format!("{file}:{line}"),
        Some(Frame { function, .. }) => function.clone(),
        None => String::new(),
    }
}

impl fmt::Display for Race {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let buffer = match &self.buffer {
            Some(name) => format!("`{name}`"),
            None => format!("memory at {:#x}", self.range.start.wrapping_sub(self.bytes.start)),
        };
        write!(f, "race on {buffer}, bytes {}..{}", self.bytes.start, self.bytes.end)?;
        if self.count > 1 {
            write!(f, ", {} times", self.count)?;
        }
        writeln!(f)?;
        let mut lines = vec![
            (format!("(1) {}", self.earlier.deed()), self.earlier.at.clone()),
            (format!("(2) {}", self.later.deed()), self.later.at.clone()),
        ];
        if let Some(reuse) = &self.reuse {
            lines.extend(
                self.story(reuse).into_iter().map(|(text, at)| (format!("    {text}"), at)),
            );
        }
        let width = lines.iter().map(|(text, _)| text.chars().count()).max().unwrap_or(0);
        for (text, at) in &lines {
            let row = format!("  {text:width$}     {}", place(at));
            writeln!(f, "{}", row.trim_end())?;
        }
        write!(f, "  nothing makes (2) wait for (1): {}", self.missing_edge())?;
        for access in [&self.earlier, &self.later] {
            if let (true, What::Kernel(name)) = (access.assumed, &access.what) {
                write!(
                    f,
                    "\n  assumed: `{name}` is not in the kernels table, so its pointers count as read \
                     and written"
                )?;
                break;
            }
        }
        Ok(())
    }
}
