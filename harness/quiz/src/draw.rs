//! Draws snippets at random: lines that would compile, and that have something to do with the question.
//!
//! What is drawn here is varied and plausible; whether there is anything to find in it, the record says.

use fastrand::Rng;

use crate::Question;
use crate::snippet::{Line, OWN, On, Op, Shape, Snippet, Type, Var, Variable, X, Y};

/// How large `batch` may be, in KiB.
const BATCHES: [usize; 5] = [4, 64, 1024, 3 * 1024, 8 * 1024];

/// Draws a snippet for a question.
pub fn draw(rng: &mut Rng, question: Question) -> Snippet {
    loop {
        let matrix = [16 << rng.usize(0..3), 16 << rng.usize(0..3)];
        let batch_kib = BATCHES[rng.usize(0..BATCHES.len())];
        let snippet = Snippet::new(matrix, batch_kib);
        let alive = (0..snippet.variables.len()).collect();
        let mut drawer = Drawer { rng, snippet, alive };
        match question {
            Question::Holding => drawer.fill(Vec::new(), Drawer::holding),
            Question::Wait => {
                let story = drawer.story();
                drawer.fill(story, Drawer::wait);
            }
        }
        let snippet = drawer.snippet;
        if question == Question::Holding || crosses(&snippet) {
            return snippet;
        }
    }
}

/// Whether two streams, or a stream and the host, have to do with the same memory, and some line is there
/// that might order them.
fn crosses(snippet: &Snippet) -> bool {
    let touches = |line: &&Line| !line.op.names_its_stream();
    let on = |wanted: On, var: Var| {
        let mut lines = snippet.lines.iter().filter(touches).filter(|line| line.on == wanted);
        lines.any(|line| line.makes == Some(var) || line.op.uses().contains(&var))
    };
    let has = |op: Op| snippet.lines.iter().any(|line| line.op == op);
    let shared = (0..snippet.variables.len()).any(|var| on(On::Current, var) && on(On::Side, var));
    let refilled = has(Op::UploadPinned { non_blocking: true }) && has(Op::HostWrite);
    let orders = snippet.lines.iter().any(|line| {
        matches!(
            line.op,
            Op::WaitStream
                | Op::WaitEvent(_)
                | Op::SynchronizeEvent(_)
                | Op::SynchronizeStream
                | Op::RecordStream(_)
        )
    });
    (shared || refilled) && orders
}

struct Drawer<'r> {
    rng: &'r mut Rng,
    snippet: Snippet,
    /// The variables that a line may name.
    alive: Vec<Var>,
}

type Drawn = Option<(Op, On)>;

/// A step of a story that chance alone would seldom tell. `Drawer::step` says what each is.
#[derive(Clone, Copy)]
enum Step {
    Make,
    WaitForMaker,
    Use,
    RecordUse,
    WaitForUser,
    Drop,
    MakeAnother,
    Upload,
    RecordEvent,
    SynchronizeEvent,
    Refill,
}

impl Drawer<'_> {
    /// Draws lines by `other`, and the steps of a story among them.
    fn fill(&mut self, story: Vec<Step>, other: fn(&mut Self) -> Drawn) {
        let lines = match story.len() {
            0 => self.rng.usize(4..8),
            steps => (steps + self.rng.usize(0..4)).clamp(4, 8),
        };
        let mut others = lines - story.len().min(lines);
        let mut story = story.into_iter().peekable();
        let mut made = X;
        while self.snippet.lines.len() < lines {
            let tells = story.peek().is_some() && (others == 0 || self.rng.bool());
            let drawn = match story.next_if(|_| tells) {
                // Another line may have dropped it.
                Some(step) if self.alive.contains(&made) => self.step(step, made),
                Some(_) => None,
                None => other(self),
            };
            let Some((op, on)) = drawn else { continue };
            let Some(line) = self.push(op, on) else { continue };
            match tells {
                true => made = line.makes.filter(|_| on == On::Current).unwrap_or(made),
                false => others = others.saturating_sub(1),
            }
        }
    }

    /// A story, or none; some steps may be left out.
    fn story(&mut self) -> Vec<Step> {
        let (steps, may_be_left_out): (&[Step], &[bool]) = match self.rng.u8(0..3) {
            // A tensor is made here, used there, dropped, and its memory handed out again.
            0 => (
                &[
                    Step::Make,
                    Step::WaitForMaker,
                    Step::Use,
                    Step::RecordUse,
                    Step::WaitForUser,
                    Step::Drop,
                    Step::MakeAnother,
                ],
                &[false, false, false, true, true, false, false],
            ),
            // Pinned memory is uploaded and filled anew.
            1 => (
                &[Step::Upload, Step::RecordEvent, Step::SynchronizeEvent, Step::Refill],
                &[false, true, true, false],
            ),
            _ => (&[], &[]),
        };
        let kept =
            |(step, optional): (&Step, &bool)| (!optional || self.rng.bool()).then_some(*step);
        steps.iter().zip(may_be_left_out).filter_map(kept).collect()
    }

    /// A line for a step; `made` is what the story is about.
    fn step(&mut self, step: Step, made: Var) -> Drawn {
        Some(match step {
            Step::Make => (Op::Relu(self.matrix(false)?), On::Current),
            Step::WaitForMaker => (Op::WaitStream, On::Side),
            Step::Use if self.rng.bool() => (Op::Sum(made), On::Side),
            Step::Use => (Op::Scale(made, 2.0), On::Side),
            Step::RecordUse => (Op::RecordStream(made), On::Side),
            Step::WaitForUser => (Op::WaitStream, On::Current),
            Step::Drop if made >= OWN => (Op::Drop(made), On::Current),
            Step::Drop => return None,
            Step::MakeAnother if self.rng.bool() => (Op::Zeros, On::Current),
            Step::MakeAnother => (Op::Full(2.0), On::Current),
            Step::Upload => (Op::UploadPinned { non_blocking: true }, On::Current),
            Step::RecordEvent => (Op::RecordEvent, On::Current),
            Step::SynchronizeEvent => match self.variable(Type::Event) {
                Some(event) => (Op::SynchronizeEvent(event), On::Current),
                None => (Op::SynchronizeStream, On::Current),
            },
            Step::Refill => (Op::HostWrite, On::Current),
        })
    }

    /// A line that might hold the host, or look as if it did.
    fn holding(&mut self) -> Drawn {
        let current = |op: Op| Some((op, On::Current));
        let on = self.mostly_current();
        if self.rng.u8(0..3) == 0
            && let Some(op) = self.follow_up()
        {
            return current(op);
        }
        match self.rng.u8(0..46) {
            0..3 => Some((self.new_tensor()?, on)),
            3..5 => Some((self.in_place()?, on)),
            5 => current(Op::Copy(self.tensor()?)),
            6 | 7 => current(Op::Greater(self.matrix(false)?)),
            8 => self.select().and_then(current),
            9 => current(Op::Zeros),
            10 => current(Op::Full(1.0)),
            11 => current(Op::FromSlice),
            12 => current(Op::IndexFromSlice),
            13..15 => current(Op::Gather(self.matrix(false)?, self.variable(Type::Index)?)),
            15..17 => {
                let (a, mask) = (self.matrix(false)?, self.matrix(true)?);
                current(Op::MaskedSelect(a, mask))
            }
            17 => current(Op::Nonzero(self.matrix(false)?)),
            18 => current(Op::CountNonzero(self.matrix(true)?)),
            19 => current(Op::Item(self.of(Shape::Scalar)?)),
            20 => current(Op::Branch(self.of(Shape::Scalar)?)),
            21 => current(Op::Display(self.tensor()?)),
            22..24 => current(Op::Debug(self.tensor()?)),
            24 => current(Op::Sizes(self.tensor()?)),
            25 => current(Op::ToHost(self.of(Shape::Scalar)?)),
            26 => {
                let (a, b) = self.two_matrices()?;
                current(Op::Equal(a, b))
            }
            27 => {
                let (a, b) = self.two_matrices()?;
                current(Op::SameShape(a, b))
            }
            28..30 => current(Op::Upload { non_blocking: self.rng.u8(0..4) > 0 }),
            30..32 => current(Op::UploadPinned { non_blocking: self.rng.u8(0..4) > 0 }),
            32 => current(Op::ToHostPinned(self.tensor()?)),
            33 => current(Op::IsReady(self.variable(Type::Download)?)),
            34..36 => current(Op::WaitDownload(self.variable(Type::Download)?)),
            36 | 37 => current(Op::QueryEvent(self.variable(Type::Event)?)),
            38..40 => current(Op::SynchronizeEvent(self.variable(Type::Event)?)),
            40 => Some(([Op::QueryStream, Op::SynchronizeStream][self.rng.usize(0..2)], on)),
            41 => Some(([Op::WaitStream, Op::Spin][self.rng.usize(0..2)], on)),
            42 => Some((Op::WaitEvent(self.variable(Type::Event)?), on.other())),
            43 => current(Op::Drop(self.own_tensor()?)),
            _ => Some((Op::RecordEvent, on)),
        }
    }

    /// A line for what an earlier one made and few lines take: a mask, places, a download, an event.
    fn follow_up(&mut self) -> Option<Op> {
        Some(match self.rng.u8(0..10) {
            0 => Op::MaskedSelect(self.matrix(false)?, self.matrix(true)?),
            1 => Op::CountNonzero(self.matrix(true)?),
            2 => Op::Mul(self.matrix(false)?, self.matrix(true)?),
            3 => Op::Gather(self.matrix(false)?, self.variable(Type::Index)?),
            4 => Op::IsReady(self.variable(Type::Download)?),
            5 => Op::WaitDownload(self.variable(Type::Download)?),
            6 | 7 => Op::QueryEvent(self.variable(Type::Event)?),
            8 => self.select()?,
            _ => Op::SynchronizeEvent(self.variable(Type::Event)?),
        })
    }

    /// A line that touches memory on one of the streams, or orders something, or seems to.
    ///
    /// No queries: what a successful one orders would depend on how fast the device is.
    fn wait(&mut self) -> Drawn {
        let on = if self.rng.bool() { On::Current } else { On::Side };
        match self.rng.u8(0..28) {
            0..6 => Some((self.new_tensor()?, on)),
            6..8 => Some((self.in_place()?, on)),
            8 => Some((Op::Copy(self.matrix(false)?), on)),
            9 => self.select().map(|op| (op, on)),
            10..12 => {
                let op = if self.rng.bool() { Op::Zeros } else { Op::Full(2.0) };
                Some((op, self.mostly_current()))
            }
            12 => Some((Op::Item(self.of(Shape::Scalar)?), On::Current)),
            13..15 => Some((Op::UploadPinned { non_blocking: self.rng.u8(0..4) > 0 }, on)),
            15 => self.uploads().then_some((Op::HostWrite, On::Current)),
            16..19 => Some((Op::WaitStream, on)),
            19 => Some((Op::RecordEvent, on)),
            20 => Some((Op::WaitEvent(self.variable(Type::Event)?), on)),
            21 => Some((Op::SynchronizeEvent(self.variable(Type::Event)?), On::Current)),
            22 => Some((Op::SynchronizeStream, on)),
            23 | 24 => Some((Op::RecordStream(self.own_tensor()?), on)),
            25 => Some((Op::Spin, on)),
            _ => Some((Op::Drop(self.own_tensor()?), On::Current)),
        }
    }

    fn mostly_current(&mut self) -> On {
        if self.rng.u8(0..5) == 0 { On::Side } else { On::Current }
    }

    fn new_tensor(&mut self) -> Option<Op> {
        Some(match self.rng.u8(0..6) {
            0 => Op::Scale(self.tensor()?, 0.5),
            1 => Op::Relu(self.tensor()?),
            2 => Op::Sum(self.tensor()?),
            3 => Op::Mean(self.tensor()?),
            4 => {
                let (a, b) = self.two_matrices()?;
                Op::Add(a, b)
            }
            _ => {
                let (a, b) = self.two_matrices()?;
                Op::Mul(a, b)
            }
        })
    }

    fn in_place(&mut self) -> Option<Op> {
        Some(match self.rng.u8(0..3) {
            0 => Op::Zero(self.tensor()?),
            1 => {
                let (a, b) = self.two_matrices()?;
                Op::CopyInto(a, b)
            }
            _ => {
                let (a, b) = self.two_matrices()?;
                Op::Axpy(a, b)
            }
        })
    }

    fn select(&mut self) -> Option<Op> {
        let mask = self.matrix(true)?;
        let (a, b) = self.two_matrices()?;
        Some(Op::Select { mask, a, b })
    }

    /// One of the variables for which this is true: the newest rather than another.
    fn pick(&mut self, wanted: impl Fn(Var, Type) -> bool) -> Option<Var> {
        let holds = |var: &Var| wanted(*var, self.snippet.variables[*var].holds);
        let found: Vec<Var> = self.alive.iter().copied().filter(holds).collect();
        match (found.last(), self.rng.bool()) {
            (Some(newest), true) => Some(*newest),
            (Some(_), false) => Some(found[self.rng.usize(0..found.len())]),
            (None, _) => None,
        }
    }

    fn variable(&mut self, holds: Type) -> Option<Var> {
        self.pick(|_, this| this == holds)
    }

    fn tensor(&mut self) -> Option<Var> {
        self.pick(|_, holds| matches!(holds, Type::Tensor { .. }))
    }

    fn own_tensor(&mut self) -> Option<Var> {
        self.pick(|var, holds| var >= OWN && matches!(holds, Type::Tensor { .. }))
    }

    fn of(&mut self, wanted: Shape) -> Option<Var> {
        self.pick(|_, holds| matches!(holds, Type::Tensor { shape, .. } if shape == wanted))
    }

    fn matrix(&mut self, wanted: bool) -> Option<Var> {
        let matrix = Type::Tensor { shape: Shape::Matrix, mask: wanted };
        self.pick(|_, holds| holds == matrix)
    }

    fn two_matrices(&mut self) -> Option<(Var, Var)> {
        let a = self.matrix(false)?;
        let matrix = Type::Tensor { shape: Shape::Matrix, mask: false };
        let b = self.pick(|var, holds| holds == matrix && var != a)?;
        Some((a, b))
    }

    fn uploads(&self) -> bool {
        self.snippet.lines.iter().any(|line| matches!(line.op, Op::UploadPinned { .. }))
    }

    /// Appends a line, unless that would be dull: the same line, or a third of its kind. Small pageable
    /// uploads share the driver's staging memory, so that what a second one does depends on the first.
    fn push(&mut self, op: Op, on: On) -> Option<Line> {
        let lines = &self.snippet.lines;
        let same = lines.iter().any(|line| line.op == op && line.on == on);
        let most = if matches!(op, Op::Upload { .. }) { 0 } else { 1 };
        if same || lines.iter().filter(|line| line.op.kind() == op.kind()).count() > most {
            return None;
        }
        let makes = self.makes(op).map(|holds| self.declare(holds));
        if let Op::Drop(gone) | Op::WaitDownload(gone) = op {
            self.alive.retain(|var| *var != gone);
        }
        let line = Line { op, on, makes };
        self.snippet.lines.push(line);
        Some(line)
    }

    /// What the variable holds that a line makes, if it makes one.
    fn makes(&self, op: Op) -> Option<Type> {
        let shape_of = |var: Var| match self.snippet.variables[var].holds {
            Type::Tensor { shape, .. } => shape,
            _ => Shape::Matrix,
        };
        let found = Shape::Found(self.snippet.variables.len());
        let (shape, mask) = match op {
            Op::Scale(a, _) | Op::Relu(a) | Op::Copy(a) => (shape_of(a), false),
            Op::Sum(_) | Op::Mean(_) => (Shape::Scalar, false),
            Op::Greater(a) => (shape_of(a), true),
            Op::Add(..) | Op::Mul(..) | Op::Select { .. } | Op::Zeros | Op::Full(_) => {
                (Shape::Matrix, false)
            }
            Op::MaskedSelect(..) | Op::Gather(..) | Op::FromSlice => (found, false),
            Op::Upload { .. } => (Shape::Batch, false),
            Op::UploadPinned { .. } => (Shape::Matrix, false),
            Op::Nonzero(_) | Op::IndexFromSlice => return Some(Type::Index),
            Op::ToHostPinned(_) => return Some(Type::Download),
            Op::RecordEvent => return Some(Type::Event),
            _ => return None,
        };
        Some(Type::Tensor { shape, mask })
    }

    fn declare(&mut self, holds: Type) -> Var {
        let variables = &mut self.snippet.variables;
        let alike = variables.iter().filter(|variable| variable.holds == holds).count();
        let numbered = |name: &str| match alike {
            0 => name.to_owned(),
            before => format!("{name}{}", before + 1),
        };
        let name = match holds {
            Type::Index => numbered("places"),
            Type::Download => numbered("download"),
            Type::Event => numbered("done"),
            _ => {
                // A snippet has fewer lines than there are letters before x.
                let is_letter = |variable: &&Variable| variable.name.len() == 1;
                let letters = variables.iter().filter(is_letter).count() - [X, Y].len();
                char::from(b'a' + letters as u8).to_string()
            }
        };
        variables.push(Variable { name, holds });
        self.alive.push(variables.len() - 1);
        variables.len() - 1
    }
}
