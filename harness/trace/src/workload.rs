//! Made-up programs of any length, for measuring the analyses.

use crate::model::{
    Access, AccessKind, Call, Device, DeviceKind, EventId, Header, Item, NameId, Op, Range, Seq,
    StreamId, ThreadId,
};

/// Who uses whose buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Each stream has buffers of its own, and now and then waits for another. No races.
    Own,
    /// All streams use all buffers, each launch after the one before it. No races.
    Chained,
    /// All streams use all buffers, and none waits: nothing but races.
    Racing,
}

/// What a program looks like.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// How many non-blocking streams.
    pub streams: u32,
    /// How many buffers.
    pub buffers: u32,
    /// How many accesses, two a launch.
    pub accesses: u64,
    /// Who uses whose buffers.
    pub sharing: Sharing,
    /// After how many launches the host waits for everything; 0 for never.
    pub sync_every: u64,
}

impl Default for Shape {
    /// The shape that the speed target speaks of.
    fn default() -> Shape {
        Shape {
            streams: 8,
            buffers: 64,
            accesses: 1_000_000,
            sharing: Sharing::Own,
            sync_every: 1024,
        }
    }
}

/// What is known about such a trace.
pub fn header() -> Header {
    let device = Device { kind: DeviceKind::Emulated, name: "made up".into() };
    Header { device, seed: None }
}

/// The items of such a program. Each launch writes one buffer and reads another.
pub fn items(shape: Shape) -> impl Iterator<Item = Item> {
    let mut program = Program { shape, seq: 0, launch: 0 };
    let streams = shape.streams.max(1);
    let kernel = Item::Name { id: KERNEL, text: "kernel".into() };
    let setup: Vec<Item> = (1..=streams)
        .map(|stream| program.call(Op::StreamCreate { stream: StreamId(stream), blocking: false }))
        .collect();
    let launches = shape.accesses / 2;
    let body = (0..launches).flat_map(move |_| program.step(streams));
    std::iter::once(kernel).chain(setup).chain(body)
}

const KERNEL: NameId = NameId(0);
const BUFFER: u64 = 1 << 20;

struct Program {
    shape: Shape,
    seq: u64,
    launch: u64,
}

impl Program {
    fn call(&mut self, op: Op) -> Item {
        self.seq += 1;
        Item::Call(Call {
            seq: Seq(self.seq),
            thread: ThreadId(1),
            function: KERNEL,
            entered: self.seq * 2000,
            left: self.seq * 2000 + 1000,
            result: 0,
            op,
            stack: None,
            waited: None,
            ran: None,
        })
    }

    fn step(&mut self, streams: u32) -> impl Iterator<Item = Item> + use<> {
        let n = self.launch;
        self.launch += 1;
        let mut items = [None, None, None, None];
        let stream = StreamId(1 + u32::try_from(n % u64::from(streams)).unwrap_or(0));
        if self.shape.sync_every > 0 && n % self.shape.sync_every == self.shape.sync_every - 1 {
            items[0] = Some(self.call(Op::ContextSync));
        }
        let waits = match self.shape.sharing {
            Sharing::Own => n % 4 == 3,
            Sharing::Chained => true,
            Sharing::Racing => false,
        };
        if waits {
            // A ring: each stream waits for the one before it.
            let before = StreamId(if stream.0 == 1 { streams } else { stream.0 - 1 });
            let event = EventId(before.0);
            items[1] = Some(self.call(Op::EventRecord { event, stream: before }));
            items[2] = Some(self.call(Op::StreamWait { event, stream }));
        }
        let own = self.shape.sharing == Sharing::Own;
        let share = u64::from(if own { self.shape.buffers / streams } else { self.shape.buffers });
        let first = if own { u64::from(stream.0 - 1) * share } else { 0 };
        let turn = if own { n / u64::from(streams) } else { scatter(n) };
        let pick = |round: u64| {
            let buffer = first + turn.wrapping_add(round) % share.max(1);
            Range::new(BUFFER * (1 + buffer), BUFFER)
        };
        let accesses = vec![
            Access { range: pick(0), kind: AccessKind::Write },
            Access { range: pick(1), kind: AccessKind::Read },
        ];
        items[3] = Some(self.call(Op::Launch {
            stream,
            kernel: KERNEL,
            accesses,
            assumed: false,
            blocks: 64,
        }));
        items.into_iter().flatten()
    }
}

/// Numbers without a pattern, the same every time.
fn scatter(n: u64) -> u64 {
    let n = (n ^ (n >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    n ^ (n >> 29)
}
