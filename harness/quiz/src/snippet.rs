//! A snippet: a few lines of tensor code, as a program of operations that can be printed and run.
//!
//! Nothing here says what a line does to the host, or whether anything is ordered.

/// A variable: its place in [`Snippet::variables`].
pub type Var = usize;

/// The parameters that every snippet has, in this order, before its own variables.
pub const X: Var = 0;
/// A second matrix on the device.
pub const Y: Var = 1;
/// A scalar on the device.
pub const LOSS: Var = 2;
/// A matrix in pageable memory, of [`Snippet::batch_kib`].
pub const BATCH: Var = 3;
/// A matrix in pinned memory.
pub const PINNED: Var = 4;
/// Places on the device.
pub const PLACES: Var = 5;
/// The first variable that is a snippet's own.
pub const OWN: Var = 6;

/// What a variable holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A tensor on the device.
    Tensor {
        /// Tensors of the same one have the same shape.
        shape: Shape,
        /// Whether it came from a comparison.
        mask: bool,
    },
    /// Places on the device.
    Index,
    /// A tensor in pageable memory.
    Host,
    /// A tensor in pinned memory.
    Pinned,
    /// A download under way.
    Download,
    /// An event.
    Event,
}

/// A tensor's shape, as far as snippets have to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// That of `x`, `y` and `pinned`.
    Matrix,
    /// One element.
    Scalar,
    /// That of `batch`.
    Batch,
    /// As many elements as some line found.
    Found(usize),
}

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// As it is printed.
    pub name: String,
    /// What it holds.
    pub holds: Type,
}

/// One of the two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// The current stream.
    Current,
    /// The second one, `side`.
    Side,
}

impl On {
    /// The other one.
    pub fn other(self) -> On {
        match self {
            On::Current => On::Side,
            On::Side => On::Current,
        }
    }

    fn code(self) -> &'static str {
        match self {
            On::Current => "current_stream()?",
            On::Side => "side",
        }
    }

    fn reference(self) -> &'static str {
        match self {
            On::Current => "&current_stream()?",
            On::Side => "side",
        }
    }
}

/// What a line does.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "named after the tensor layer's functions")]
pub enum Op {
    Scale(Var, f32),
    Relu(Var),
    Sum(Var),
    Mean(Var),
    Copy(Var),
    Greater(Var),
    Add(Var, Var),
    Mul(Var, Var),
    Select { mask: Var, a: Var, b: Var },
    MaskedSelect(Var, Var),
    Nonzero(Var),
    Gather(Var, Var),
    IndexFromSlice,
    FromSlice,
    Zeros,
    Full(f32),
    Zero(Var),
    CopyInto(Var, Var),
    Axpy(Var, Var),
    Item(Var),
    Branch(Var),
    Display(Var),
    Debug(Var),
    Sizes(Var),
    CountNonzero(Var),
    ToHost(Var),
    Equal(Var, Var),
    SameShape(Var, Var),
    Upload { non_blocking: bool },
    UploadPinned { non_blocking: bool },
    HostWrite,
    ToHostPinned(Var),
    IsReady(Var),
    WaitDownload(Var),
    RecordEvent,
    QueryEvent(Var),
    SynchronizeEvent(Var),
    WaitEvent(Var),
    QueryStream,
    SynchronizeStream,
    WaitStream,
    RecordStream(Var),
    Spin,
    Drop(Var),
}

impl Op {
    /// Whether it is an upload that comes back when the copy is over.
    pub fn is_synchronous_upload(self) -> bool {
        match self {
            Op::Upload { non_blocking } | Op::UploadPinned { non_blocking } => !non_blocking,
            Op::FromSlice | Op::IndexFromSlice => true,
            _ => false,
        }
    }

    /// Its kind: what the tests tell operations apart by.
    pub fn kind(self) -> &'static str {
        match self {
            Op::Scale(..) => "scale",
            Op::Relu(_) => "relu",
            Op::Sum(_) => "sum",
            Op::Mean(_) => "mean",
            Op::Copy(_) => "copy",
            Op::Greater(_) => "gt",
            Op::Add(..) => "add",
            Op::Mul(..) => "mul",
            Op::Select { .. } => "select",
            Op::MaskedSelect(..) => "masked_select",
            Op::Nonzero(_) => "nonzero",
            Op::Gather(..) => "gather",
            Op::IndexFromSlice => "Index::from_slice",
            Op::FromSlice => "from_slice",
            Op::Zeros => "zeros",
            Op::Full(_) => "full",
            Op::Zero(_) => "zero_",
            Op::CopyInto(..) => "copy_",
            Op::Axpy(..) => "axpy_",
            Op::Item(_) => "item",
            Op::Branch(_) => "if item",
            Op::Display(_) => "Display",
            Op::Debug(_) => "Debug",
            Op::Sizes(_) => "numel",
            Op::CountNonzero(_) => "count_nonzero",
            Op::ToHost(_) => "to_host",
            Op::Equal(..) => "to_vec ==",
            Op::SameShape(..) => "shape ==",
            Op::Upload { non_blocking: false } => "to_device(false) from pageable",
            Op::Upload { non_blocking: true } => "to_device(true) from pageable",
            Op::UploadPinned { non_blocking: false } => "to_device(false) from pinned",
            Op::UploadPinned { non_blocking: true } => "to_device(true) from pinned",
            Op::HostWrite => "as_mut_slice",
            Op::ToHostPinned(_) => "to_host_pinned",
            Op::IsReady(_) => "is_ready",
            Op::WaitDownload(_) => "Download::wait",
            Op::RecordEvent => "record_event",
            Op::QueryEvent(_) => "Event::query",
            Op::SynchronizeEvent(_) => "Event::synchronize",
            Op::WaitEvent(_) => "wait_event",
            Op::QueryStream => "Stream::query",
            Op::SynchronizeStream => "Stream::synchronize",
            Op::WaitStream => "wait_stream",
            Op::RecordStream(_) => "record_stream",
            Op::Spin => "spin",
            Op::Drop(_) => "drop",
        }
    }

    /// The variables that it names.
    pub fn uses(self) -> Vec<Var> {
        match self {
            Op::Scale(a, _)
            | Op::Relu(a)
            | Op::Sum(a)
            | Op::Mean(a)
            | Op::Copy(a)
            | Op::Greater(a)
            | Op::Nonzero(a)
            | Op::Zero(a)
            | Op::Item(a)
            | Op::Branch(a)
            | Op::Display(a)
            | Op::Debug(a)
            | Op::Sizes(a)
            | Op::CountNonzero(a)
            | Op::ToHost(a)
            | Op::ToHostPinned(a)
            | Op::IsReady(a)
            | Op::WaitDownload(a)
            | Op::QueryEvent(a)
            | Op::SynchronizeEvent(a)
            | Op::WaitEvent(a)
            | Op::RecordStream(a)
            | Op::Drop(a) => vec![a],
            Op::Add(a, b)
            | Op::Mul(a, b)
            | Op::MaskedSelect(a, b)
            | Op::Gather(a, b)
            | Op::CopyInto(a, b)
            | Op::Axpy(a, b)
            | Op::Equal(a, b)
            | Op::SameShape(a, b) => vec![a, b],
            Op::Select { mask, a, b } => vec![mask, a, b],
            Op::Upload { .. } => vec![BATCH],
            Op::UploadPinned { .. } | Op::HostWrite => vec![PINNED],
            Op::IndexFromSlice
            | Op::FromSlice
            | Op::Zeros
            | Op::Full(_)
            | Op::RecordEvent
            | Op::QueryStream
            | Op::SynchronizeStream
            | Op::WaitStream
            | Op::Spin => Vec::new(),
        }
    }

    /// Whether the line names its stream itself, and so is not put into a `with_stream`.
    pub fn names_its_stream(self) -> bool {
        matches!(
            self,
            Op::RecordEvent
                | Op::WaitEvent(_)
                | Op::QueryStream
                | Op::SynchronizeStream
                | Op::WaitStream
                | Op::RecordStream(_)
        )
    }

    /// Whether it writes to the log.
    fn logs(self) -> bool {
        matches!(
            self,
            Op::Item(_)
                | Op::Branch(_)
                | Op::Display(_)
                | Op::Debug(_)
                | Op::Sizes(_)
                | Op::CountNonzero(_)
                | Op::ToHost(_)
                | Op::Equal(..)
                | Op::SameShape(..)
                | Op::IsReady(_)
                | Op::WaitDownload(_)
                | Op::QueryEvent(_)
                | Op::QueryStream
        )
    }
}

/// One line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// What it does.
    pub op: Op,
    /// On which stream.
    pub on: On,
    /// The variable that it makes.
    pub makes: Option<Var>,
}

/// A snippet.
#[derive(Clone, Debug, PartialEq)]
pub struct Snippet {
    /// Parameters first.
    pub variables: Vec<Variable>,
    /// The body.
    pub lines: Vec<Line>,
    /// Rows and columns of the matrices.
    pub matrix: [usize; 2],
    /// How large `batch` is, in KiB.
    pub batch_kib: usize,
}

impl Snippet {
    /// One without lines.
    pub fn new(matrix: [usize; 2], batch_kib: usize) -> Snippet {
        let tensor = |shape| Type::Tensor { shape, mask: false };
        let parameters = [
            ("x", tensor(Shape::Matrix)),
            ("y", tensor(Shape::Matrix)),
            ("loss", tensor(Shape::Scalar)),
            ("batch", Type::Host),
            ("pinned", Type::Pinned),
            ("places", Type::Index),
        ];
        let variables =
            parameters.map(|(name, holds)| Variable { name: name.to_owned(), holds }).to_vec();
        Snippet { variables, lines: Vec::new(), matrix, batch_kib }
    }

    /// Its first and last lines, and those between, as Rust.
    pub fn code(&self) -> Code {
        let used = |var: Var| self.lines.iter().any(|line| line.op.uses().contains(&var));
        let side = self.lines.iter().any(|line| self.body(line).contains("side"));
        let logs = self.lines.iter().any(|line| line.op.logs());
        let writes = self.lines.iter().any(|line| line.op == Op::HostWrite);
        let [rows, columns] = self.matrix;
        let batch = match self.batch_kib {
            kib if kib.is_multiple_of(1024) => format!("{} MiB", kib / 1024),
            kib => format!("{kib} KiB"),
        };
        let pinned = if writes { "&mut PinnedTensor" } else { "&PinnedTensor" };
        let parameters = [
            (used(X), "x: &Tensor", format!("x: {rows} by {columns}, on the device")),
            (used(Y), "y: &Tensor", format!("y: {rows} by {columns}, on the device")),
            (used(LOSS), "loss: &Tensor", "loss: one element, on the device".to_owned()),
            (used(BATCH), "batch: &HostTensor", format!("batch: {batch} of pageable memory")),
            (
                used(PINNED),
                &format!("pinned: {pinned}"),
                format!("pinned: {rows} by {columns}, in pinned memory"),
            ),
            (used(PLACES), "places: &Index", "places: three places, on the device".to_owned()),
            (side, "side: &Stream", "side: a second stream".to_owned()),
            (logs, "log: &mut Vec<String>", String::new()),
        ];
        let shown = || parameters.iter().filter(|(shown, ..)| *shown);
        let notes = shown().filter(|(_, _, note)| !note.is_empty());
        let mut head: Vec<String> = notes.map(|(_, _, note)| format!("// {note}")).collect();
        let names: Vec<&str> = shown().map(|(_, parameter, _)| *parameter).collect();
        let one_line = format!("fn snippet({}) -> Result<()> {{", names.join(", "));
        match one_line.len() <= 80 {
            true => head.push(one_line),
            false => {
                head.push("fn snippet(".to_owned());
                head.extend(names.iter().map(|name| format!("    {name},")));
                head.push(") -> Result<()> {".to_owned());
            }
        }
        let body = self.lines.iter().map(|line| self.body(line)).collect();
        Code { head, body, tail: vec!["    Ok(())".to_owned(), "}".to_owned()] }
    }

    fn body(&self, line: &Line) -> String {
        let code = self.statement(line);
        match line.makes {
            Some(var) => format!("    let {} = {code};", self.variables[var].name),
            None => format!("    {code};"),
        }
    }

    fn statement(&self, line: &Line) -> String {
        let name = |var: Var| self.variables[var].name.as_str();
        // Parameters are references already.
        let by_reference = |var: Var| match var {
            X | Y | LOSS | PLACES => name(var).to_owned(),
            _ => format!("&{}", name(var)),
        };
        let on_stream = |code: String| match line.on {
            On::Current => format!("{code}?"),
            On::Side => format!("with_stream(side, || {code})?"),
        };
        let with = |a: Var, function: &str, b: Var| {
            on_stream(format!("{}.{function}({})", name(a), by_reference(b)))
        };
        let of = |a: Var, call: &str| on_stream(format!("{}.{call}", name(a)));
        let log = |text: String| format!("log.push({text})");
        let [rows, columns] = self.matrix;
        match line.op {
            Op::Scale(a, factor) => of(a, &format!("scale({factor:?})")),
            Op::Relu(a) => of(a, "relu()"),
            Op::Sum(a) => of(a, "sum()"),
            Op::Mean(a) => of(a, "mean()"),
            Op::Copy(a) => of(a, "copy()"),
            Op::Greater(a) => of(a, "gt(0.0)"),
            Op::Add(a, b) => with(a, "add", b),
            Op::Mul(a, b) => with(a, "mul", b),
            Op::Select { mask, a, b } => on_stream(format!(
                "Tensor::select({}, {}, {})",
                by_reference(mask),
                by_reference(a),
                by_reference(b)
            )),
            Op::MaskedSelect(a, mask) => with(a, "masked_select", mask),
            Op::Nonzero(a) => of(a, "nonzero()"),
            Op::Gather(a, index) => with(a, "gather", index),
            Op::IndexFromSlice => "Index::from_slice(&[0, 2, 4])?".to_owned(),
            Op::FromSlice => "Tensor::from_slice(&[0.2, 0.3, 0.5], [3])?".to_owned(),
            Op::Zeros => on_stream(format!("Tensor::zeros([{rows}, {columns}])")),
            Op::Full(value) => on_stream(format!("Tensor::full([{rows}, {columns}], {value:?})")),
            Op::Zero(a) => of(a, "zero_()"),
            Op::CopyInto(a, b) => with(a, "copy_", b),
            Op::Axpy(a, b) => on_stream(format!("{}.axpy_(0.5, {})", name(a), by_reference(b))),
            Op::Item(a) => log(format!("format!(\"{{}}\", {}.item()?)", name(a))),
            Op::Branch(a) => {
                format!("if {}.item()? < 0.1 {{ log.push(\"small\".to_owned()) }}", name(a))
            }
            Op::Display(a) => log(format!("format!(\"{{{}}}\")", name(a))),
            Op::Debug(a) => log(format!("format!(\"{{{}:?}}\")", name(a))),
            Op::Sizes(a) => log(format!("format!(\"{{}} elements\", {}.numel())", name(a))),
            Op::CountNonzero(a) => {
                log(format!("format!(\"{{}} hits\", {}.count_nonzero()?)", name(a)))
            }
            Op::ToHost(a) => log(format!("format!(\"{{}}\", {}.to_host()?[0])", name(a))),
            Op::Equal(a, b) => {
                log(format!("format!(\"{{}}\", {}.to_vec()? == {}.to_vec()?)", name(a), name(b)))
            }
            Op::SameShape(a, b) => {
                log(format!("format!(\"{{}}\", {}.shape() == {}.shape())", name(a), name(b)))
            }
            Op::Upload { non_blocking } => of(BATCH, &format!("to_device({non_blocking})")),
            Op::UploadPinned { non_blocking } => of(PINNED, &format!("to_device({non_blocking})")),
            Op::HostWrite => "pinned.as_mut_slice()[0] = 1.0".to_owned(),
            Op::ToHostPinned(a) => of(a, "to_host_pinned()"),
            Op::IsReady(a) => log(format!("format!(\"{{}}\", {}.is_ready()?)", name(a))),
            Op::WaitDownload(a) => {
                log(format!("format!(\"{{}}\", {}.wait()?.as_slice()[0])", name(a)))
            }
            Op::RecordEvent => format!("{}.record_event()?", line.on.code()),
            Op::QueryEvent(a) => log(format!("format!(\"{{}}\", {}.query()?)", name(a))),
            Op::SynchronizeEvent(a) => format!("{}.synchronize()?", name(a)),
            Op::WaitEvent(a) => format!("{}.wait_event(&{})?", line.on.code(), name(a)),
            Op::QueryStream => log(format!("format!(\"{{}}\", {}.query()?)", line.on.code())),
            Op::SynchronizeStream => format!("{}.synchronize()?", line.on.code()),
            Op::WaitStream => {
                format!("{}.wait_stream({})?", line.on.code(), line.on.other().reference())
            }
            Op::RecordStream(a) => format!("{}.record_stream({})", name(a), line.on.reference()),
            Op::Spin => on_stream("spin(200_000)".to_owned()),
            Op::Drop(a) => format!("drop({})", name(a)),
        }
    }
}

/// A snippet, printed. Only the lines of the body are numbered, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// What comes before the body.
    pub head: Vec<String>,
    /// The body, a line for each of [`Snippet::lines`].
    pub body: Vec<String>,
    /// What comes behind it.
    pub tail: Vec<String>,
}
