//! What things are called: interned names and stacks, and the names that marks gave.

use rustc_hash::FxHashMap;

use crate::model::{
    Call, EventId, Frame, Item, MarkKind, NameId, Op, Stack, StackId, StreamId, Trace,
};

/// Names and stacks, gathered while a trace is read.
#[derive(Debug, Default)]
pub struct Names {
    names: FxHashMap<NameId, String>,
    stacks: FxHashMap<StackId, Stack>,
    streams: FxHashMap<StreamId, String>,
    events: FxHashMap<EventId, String>,
}

impl Names {
    /// Nothing is named yet.
    pub fn new() -> Names {
        Names::default()
    }

    /// All that a trace names; of a stream or event named twice, the last name.
    pub fn of(trace: &Trace) -> Names {
        let mut names = Names::new();
        for item in &trace.items {
            names.item(item);
        }
        names
    }

    /// Takes in what an item names.
    pub fn item(&mut self, item: &Item) {
        match item {
            Item::Name { id, text } => {
                self.names.insert(*id, text.clone());
            }
            Item::Stack { id, stack } => {
                self.stacks.insert(*id, stack.clone());
            }
            Item::Mark(mark) => match &mark.kind {
                MarkKind::NameStream { stream, name } => {
                    self.streams.insert(*stream, name.clone());
                }
                MarkKind::NameEvent { event, name } => {
                    self.events.insert(*event, name.clone());
                }
                _ => {}
            },
            Item::Call(_) | Item::Truncated { .. } => {}
        }
    }

    /// The text of a name; empty if it was never introduced.
    pub fn text(&self, id: NameId) -> &str {
        self.names.get(&id).map_or("", String::as_str)
    }

    /// A call stack.
    pub fn stack(&self, id: Option<StackId>) -> Option<&Stack> {
        self.stacks.get(&id?)
    }

    /// The learner's line of a call stack.
    pub fn at(&self, id: Option<StackId>) -> Option<&Frame> {
        self.stack(id)?.at()
    }

    /// A stream's name as it stands in a sentence, with its quotes: `` `side` ``, or what it is if
    /// nobody named it.
    pub fn stream(&self, stream: StreamId) -> String {
        match self.streams.get(&stream) {
            Some(name) => format!("`{name}`"),
            None if stream == StreamId::LEGACY => "the legacy default stream".into(),
            None => format!("stream {}", stream.0),
        }
    }

    /// The name that a mark gave the stream.
    pub fn stream_name(&self, stream: StreamId) -> Option<&str> {
        self.streams.get(&stream).map(String::as_str)
    }

    /// An event's name as it stands in a sentence, like [`Names::stream`].
    pub fn event(&self, event: EventId) -> String {
        match self.events.get(&event) {
            Some(name) => format!("`{name}`"),
            None => format!("event {}", event.0),
        }
    }

    /// What a call put on a stream, as it stands in a sentence: ``kernel `fill` ``, `upload`.
    pub fn operation(&self, call: &Call) -> String {
        use crate::model::MemoryKind::Device;
        match &call.op {
            Op::Launch { kernel, .. } => format!("kernel `{}`", self.text(*kernel)),
            Op::Copy { src, dst, .. } => match (src.memory, dst.memory) {
                (Device, Device) => "copy".into(),
                (Device, _) => "download".into(),
                (_, Device) => "upload".into(),
                _ => "host copy".into(),
            },
            Op::Memset { .. } => "memset".into(),
            Op::HostFunc { .. } => "host function".into(),
            Op::Alloc { .. } | Op::HostAlloc { .. } => "alloc".into(),
            Op::Free { .. } | Op::HostFree { .. } => "free".into(),
            _ => self.text(call.function).into(),
        }
    }
}
