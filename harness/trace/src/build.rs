//! Writes a trace down by hand: for tests, and for the `.case` files.

use rustc_hash::FxHashMap;

use crate::model::{
    Call, Device, DeviceKind, Frame, Header, Item, Mark, MarkKind, NameId, Nanos, Op, Seq, Stack,
    StackId, ThreadId, Trace,
};

/// Builds a trace item by item.
///
/// Each call takes one microsecond and the next is entered a microsecond later, so calls overlap
/// only where [`Builder::last`] is used to say so.
#[derive(Debug)]
pub struct Builder {
    trace: Trace,
    seq: u64,
    now: Nanos,
    thread: ThreadId,
    names: FxHashMap<String, NameId>,
    stacks: FxHashMap<u32, StackId>,
    stack: Option<StackId>,
    file: String,
}

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}

impl Builder {
    /// An empty trace of the emulated device, on thread 1.
    pub fn new() -> Builder {
        let device = Device { kind: DeviceKind::Emulated, name: "written by hand".into() };
        Builder {
            trace: Trace::new(Header { device, seed: None }),
            seq: 0,
            now: 0,
            thread: ThreadId(1),
            names: FxHashMap::default(),
            stacks: FxHashMap::default(),
            stack: None,
            file: "src/lib.rs".into(),
        }
    }

    /// The file that the lines of [`Builder::line`] are in; `src/lib.rs` until said otherwise.
    pub fn file(&mut self, file: &str) -> &mut Builder {
        self.file = file.into();
        self.stacks.clear();
        self
    }

    /// What follows is done by this thread.
    pub fn thread(&mut self, thread: u32) -> &mut Builder {
        self.thread = ThreadId(thread);
        self
    }

    /// What follows is done at this line of the learner's.
    pub fn line(&mut self, line: u32) -> &mut Builder {
        let next = StackId(u32::try_from(self.trace.items.len()).unwrap_or(u32::MAX));
        let id = *self.stacks.entry(line).or_insert(next);
        if id == next {
            let frame = Frame { function: "exercise".into(), file: Some(self.file.clone()), line };
            let stack = Stack { frames: vec![frame], learner: Some(0) };
            self.trace.items.push(Item::Stack { id, stack });
        }
        self.stack = Some(id);
        self
    }

    /// What follows has no known line.
    pub fn no_line(&mut self) -> &mut Builder {
        self.stack = None;
        self
    }

    /// Interns a name.
    pub fn name(&mut self, text: &str) -> NameId {
        if let Some(id) = self.names.get(text) {
            return *id;
        }
        let id = NameId(u32::try_from(self.names.len()).unwrap_or(u32::MAX));
        self.names.insert(text.into(), id);
        self.trace.items.push(Item::Name { id, text: text.into() });
        id
    }

    /// Lets time pass on the host.
    pub fn pause(&mut self, time: Nanos) -> &mut Builder {
        self.now += time;
        self
    }

    /// A call that succeeded.
    pub fn call(&mut self, function: &str, op: Op) -> &mut Builder {
        let function = self.name(function);
        self.seq += 1;
        let (entered, left) = (self.now, self.now + 1000);
        self.now += 2000;
        self.trace.items.push(Item::Call(Call {
            seq: Seq(self.seq),
            thread: self.thread,
            function,
            entered,
            left,
            result: 0,
            op,
            stack: self.stack,
            waited: None,
            ran: None,
        }));
        self
    }

    /// Changes the last call: its result, its times.
    pub fn last(&mut self, change: impl FnOnce(&mut Call)) -> &mut Builder {
        let call = self.trace.items.iter_mut().rev().find_map(|item| match item {
            Item::Call(call) => Some(call),
            _ => None,
        });
        if let Some(call) = call {
            change(call);
            self.now = self.now.max(call.left);
        }
        self
    }

    /// A mark.
    pub fn mark(&mut self, kind: MarkKind) -> &mut Builder {
        self.seq += 1;
        let mark =
            Mark { seq: Seq(self.seq), thread: self.thread, at: self.now, kind, stack: self.stack };
        self.now += 1000;
        self.trace.items.push(Item::Mark(mark));
        self
    }

    /// The place of the last call or mark.
    pub fn seq(&self) -> Seq {
        Seq(self.seq)
    }

    /// The trace so far.
    pub fn trace(&self) -> Trace {
        self.trace.clone()
    }
}
