//! Runs a snippet on the emulated device and records it, line by line.

use std::sync::{Mutex, PoisonError};

use streamlings_driver::recording;
use streamlings_tensor::{
    Device, Download, Event, HostTensor, Index, PinnedTensor, Result, Stream, Tensor,
    current_stream, spin, with_stream,
};
use streamlings_trace::regions::regions;
use streamlings_trace::{Frame, Item, MarkKind, Range, Seq, Stack, StackId, Trace};

use crate::snippet::{BATCH, LOSS, Line, On, Op, PINNED, Snippet, Var, X, Y};

/// The file that a line of a snippet is said to be in.
pub const FILE: &str = "snippet";

/// How long `spin` keeps the stream busy, in nanoseconds; the code says the same.
const SPIN: u64 = 200_000;

/// What a variable holds while a snippet runs.
enum Value {
    Tensor(Tensor),
    Index(Index),
    Host(HostTensor),
    Pinned(PinnedTensor),
    Download(Download),
    Event(Event),
}

/// A snippet that runs.
struct Machine {
    values: Vec<Option<Value>>,
    matrix: [usize; 2],
    side: Stream,
    log: Vec<String>,
}

/// Runs a snippet. In the trace every call and mark of a line is said to come from that line of
/// [`FILE`], counted from 1. The device is idle before and after.
///
/// # Errors
/// The tensor layer's.
pub fn run(snippet: &Snippet) -> Result<Trace> {
    // A recording is of the whole process.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let device = Device::get()?;
    // A stream of its own, so that no snippet finds memory that another one left in the cache.
    let current = Stream::new("default")?;
    let trace = with_stream(&current, || record(device, snippet))?;
    device.allocator().trim()?;
    Ok(trace)
}

fn record(device: &Device, snippet: &Snippet) -> Result<Trace> {
    let mut machine = Machine::new(snippet)?;
    let pinned = machine.pinned_range();
    device.synchronize()?;
    recording::begin(recording::Options::default());
    recording::mark(MarkKind::NameBuffer { range: pinned, name: "pinned".to_owned() });
    // Both streams are busy when the first line comes.
    let busy = spin(SPIN).and_then(|()| with_stream(&machine.side, || spin(SPIN)));
    let result = busy.and_then(|()| machine.all(snippet));
    // Everything lives until the device is idle.
    let result = result.and_then(|()| device.synchronize());
    let trace = recording::finish();
    result.map(|()| by_line(trace))
}

impl Machine {
    fn new(snippet: &Snippet) -> Result<Machine> {
        let matrix = snippet.matrix;
        let elements = matrix[0] * matrix[1];
        // Some of either sign, and some that are 0.
        let values: Vec<f32> = (0..elements).map(|index| (index % 7) as f32 - 3.0).collect();
        let x = Tensor::from_slice(&values, matrix)?;
        let batch = vec![1.0; snippet.batch_kib * 256];
        let (y, loss) = (x.scale(0.5)?, x.mean()?);
        // Nothing is given back here: what a snippet is handed out would depend on what it cannot see.
        let parameters = [
            Value::Tensor(x),
            Value::Tensor(y),
            Value::Tensor(loss),
            Value::Host(HostTensor::new(batch, [snippet.batch_kib, 256])?),
            Value::Pinned(PinnedTensor::from_slice(&values, matrix)?),
            Value::Index(Index::from_slice(&[1, 3, 5])?),
        ];
        let mut values: Vec<Option<Value>> = parameters.map(Some).into();
        values.resize_with(snippet.variables.len(), || None);
        Ok(Machine { values, matrix, side: Stream::new("side")?, log: Vec::new() })
    }

    fn pinned_range(&self) -> Range {
        let values = self.pinned().as_slice();
        Range::new(values.as_ptr() as u64, size_of_val(values) as u64)
    }

    fn all(&mut self, snippet: &Snippet) -> Result<()> {
        for var in [X, Y, LOSS] {
            self.tensor(var).name(&snippet.variables[var].name);
        }
        for (index, line) in snippet.lines.iter().enumerate() {
            let region = (index + 1).to_string();
            recording::mark(MarkKind::Begin { region: region.clone() });
            let made = self.line(line);
            recording::mark(MarkKind::End { region });
            let made = made?;
            let Some(var) = line.makes else { continue };
            if let Some(Value::Tensor(tensor)) = &made {
                tensor.name(&snippet.variables[var].name);
            }
            self.values[var] = made;
        }
        Ok(())
    }

    fn line(&mut self, line: &Line) -> Result<Option<Value>> {
        match line.on {
            On::Current => self.op(line),
            On::Side if line.op.names_its_stream() => self.op(line),
            On::Side => {
                let side = self.side.clone();
                with_stream(&side, || self.op(line))
            }
        }
    }

    /// Does what the printed line says.
    fn op(&mut self, line: &Line) -> Result<Option<Value>> {
        let stream = |on: On| match on {
            On::Current => current_stream(),
            On::Side => Ok(self.side.clone()),
        };
        let text = match line.op {
            Op::Scale(a, factor) => return made(self.tensor(a).scale(factor)),
            Op::Relu(a) => return made(self.tensor(a).relu()),
            Op::Sum(a) => return made(self.tensor(a).sum()),
            Op::Mean(a) => return made(self.tensor(a).mean()),
            Op::Copy(a) => return made(self.tensor(a).copy()),
            Op::Greater(a) => return made(self.tensor(a).gt(0.0)),
            Op::Add(a, b) => return made(self.tensor(a).add(self.tensor(b))),
            Op::Mul(a, b) => return made(self.tensor(a).mul(self.tensor(b))),
            Op::Select { mask, a, b } => {
                return made(Tensor::select(self.tensor(mask), self.tensor(a), self.tensor(b)));
            }
            Op::MaskedSelect(a, mask) => {
                return made(self.tensor(a).masked_select(self.tensor(mask)));
            }
            Op::Nonzero(a) => return Ok(Some(Value::Index(self.tensor(a).nonzero()?))),
            Op::Gather(a, index) => return made(self.tensor(a).gather(self.index(index))),
            Op::IndexFromSlice => return Ok(Some(Value::Index(Index::from_slice(&[0, 2, 4])?))),
            Op::FromSlice => return made(Tensor::from_slice(&[0.2, 0.3, 0.5], [3])),
            Op::Zeros => return made(Tensor::zeros(self.matrix)),
            Op::Full(value) => return made(Tensor::full(self.matrix, value)),
            Op::Upload { non_blocking } => return made(self.host().to_device(non_blocking)),
            Op::UploadPinned { non_blocking } => {
                return made(self.pinned().to_device(non_blocking));
            }
            Op::ToHostPinned(a) => {
                return Ok(Some(Value::Download(self.tensor(a).to_host_pinned()?)));
            }
            Op::RecordEvent => return Ok(Some(Value::Event(stream(line.on)?.record_event()?))),

            Op::Zero(a) => return self.tensor(a).zero_().map(|()| None),
            Op::CopyInto(a, b) => return self.tensor(a).copy_(self.tensor(b)).map(|()| None),
            Op::Axpy(a, b) => return self.tensor(a).axpy_(0.5, self.tensor(b)).map(|()| None),
            Op::HostWrite => {
                self.pinned_mut().as_mut_slice()[0] = 1.0;
                return Ok(None);
            }
            Op::SynchronizeEvent(a) => return self.event(a).synchronize().map(|()| None),
            Op::WaitEvent(a) => {
                return stream(line.on)?.wait_event(self.event(a)).map(|()| None);
            }
            Op::SynchronizeStream => return stream(line.on)?.synchronize().map(|()| None),
            Op::WaitStream => {
                let other = stream(line.on.other())?;
                return stream(line.on)?.wait_stream(&other).map(|()| None);
            }
            Op::RecordStream(a) => {
                self.tensor(a).record_stream(&stream(line.on)?);
                return Ok(None);
            }
            Op::Spin => return spin(SPIN).map(|()| None),
            Op::Drop(a) => {
                self.values[a] = None;
                return Ok(None);
            }

            Op::Item(a) => format!("{}", self.tensor(a).item()?),
            Op::Branch(a) => match self.tensor(a).item()? < 0.1 {
                true => "small".to_owned(),
                false => return Ok(None),
            },
            Op::Display(a) => format!("{}", self.tensor(a)),
            Op::Debug(a) => format!("{:?}", self.tensor(a)),
            Op::Sizes(a) => format!("{} elements", self.tensor(a).numel()),
            Op::CountNonzero(a) => format!("{} hits", self.tensor(a).count_nonzero()?),
            Op::ToHost(a) => format!("{}", self.tensor(a).to_host()?[0]),
            Op::Equal(a, b) => {
                format!("{}", self.tensor(a).to_vec()? == self.tensor(b).to_vec()?)
            }
            Op::SameShape(a, b) => {
                format!("{}", self.tensor(a).shape() == self.tensor(b).shape())
            }
            Op::IsReady(a) => format!("{}", self.download(a).is_ready()?),
            Op::WaitDownload(a) => match self.values[a].take() {
                Some(Value::Download(download)) => format!("{}", download.wait()?.as_slice()[0]),
                _ => unreachable!("{NOT_DRAWN}"),
            },
            Op::QueryEvent(a) => format!("{}", self.event(a).query()?),
            Op::QueryStream => format!("{}", stream(line.on)?.query()?),
        };
        self.log.push(text);
        Ok(None)
    }

    fn tensor(&self, var: Var) -> &Tensor {
        match &self.values[var] {
            Some(Value::Tensor(tensor)) => tensor,
            _ => unreachable!("{NOT_DRAWN}"),
        }
    }

    fn index(&self, var: Var) -> &Index {
        match &self.values[var] {
            Some(Value::Index(index)) => index,
            _ => unreachable!("{NOT_DRAWN}"),
        }
    }

    fn event(&self, var: Var) -> &Event {
        match &self.values[var] {
            Some(Value::Event(event)) => event,
            _ => unreachable!("{NOT_DRAWN}"),
        }
    }

    fn download(&self, var: Var) -> &Download {
        match &self.values[var] {
            Some(Value::Download(download)) => download,
            _ => unreachable!("{NOT_DRAWN}"),
        }
    }

    fn host(&self) -> &HostTensor {
        match &self.values[BATCH] {
            Some(Value::Host(host)) => host,
            _ => unreachable!("{NOT_DRAWN}"),
        }
    }

    fn pinned(&self) -> &PinnedTensor {
        match &self.values[PINNED] {
            Some(Value::Pinned(pinned)) => pinned,
            _ => unreachable!("{NOT_DRAWN}"),
        }
    }

    fn pinned_mut(&mut self) -> &mut PinnedTensor {
        match &mut self.values[PINNED] {
            Some(Value::Pinned(pinned)) => pinned,
            _ => unreachable!("{NOT_DRAWN}"),
        }
    }
}

/// Types and lifetimes are those of Rust: what is drawn would compile.
const NOT_DRAWN: &str = "no line names a variable that is gone, or of another type";

fn made(tensor: Result<Tensor>) -> Result<Option<Value>> {
    tensor.map(|tensor| Some(Value::Tensor(tensor)))
}

/// The trace as it would be if the snippet were a file: each line's calls and marks get that line as
/// their stack, so that the analyses speak of it.
fn by_line(trace: Trace) -> Trace {
    let regions = regions(&trace);
    let line_at = |thread, seq: Seq| -> Option<StackId> {
        let region = regions.iter().find(|region| region.holds(thread, seq))?;
        region.name.parse().ok().map(StackId)
    };
    let mut items = Vec::new();
    for region in &regions {
        if let Ok(line) = region.name.parse() {
            let function = FILE.to_owned();
            let frames = vec![Frame { function, file: Some(FILE.to_owned()), line }];
            items
                .push(Item::Stack { id: StackId(line), stack: Stack { frames, learner: Some(0) } });
        }
    }
    // The stacks that were recorded are those of this file's functions.
    items.extend(trace.items.into_iter().filter_map(|item| match item {
        Item::Stack { .. } => None,
        Item::Call(mut call) => {
            call.stack = line_at(call.thread, call.seq);
            Some(Item::Call(call))
        }
        Item::Mark(mut mark) => {
            mark.stack = line_at(mark.thread, mark.seq);
            Some(Item::Mark(mark))
        }
        item => Some(item),
    }));
    Trace { header: trace.header, items }
}
