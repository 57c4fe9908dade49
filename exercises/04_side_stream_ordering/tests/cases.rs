//! The grading cases of exercise 04.

use super::exercise;
use streamlings::grade::checks::{Part, only_reads, part, prepared_runs, writes};
use streamlings::grade::diagnosis as d;
use streamlings::grade::{Cases, Finding, Grader};
use streamlings::stage::{self, keep_busy, memory, returned_error, streams};
use streamlings::tensor::{self, Device, Stream, Tensor, current_stream};
use streamlings::trace::{Call, Trace};

pub fn cases() -> Cases {
    Cases::new()
        .case("sum_on_side_stream", sum_on_side_stream)
        .case("consume_and_drop", consume_and_drop)
        .case("fan_out_fan_in", fan_out_fan_in)
}

/// How long one of the streams is busy when the learner's function is called, in nanoseconds: what is
/// not made to wait then really is too early, or too late. Verdicts do not depend on it.
const BUSY: u64 = 10_000_000;

/// The part of a run in which the learner's function is.
const FUNCTION: &str = "function";

/// What the current stream does when the function has returned.
const AFTERWARDS: &str = "afterwards";

/// The tensors that are made in the hope of the memory that was handed back.
const NEXT: usize = 4;

/// What a run leaves behind.
type Outcome<T> = Result<T, Finding>;

/// Values whose sums, and those of their squares, are exact whatever the order; never 1, which is its
/// own square.
fn value(grader: &mut Grader) -> f32 {
    (2 * grader.rng().i32(0..15) + 1) as f32 / 8.0
}

fn count(grader: &mut Grader) -> usize {
    grader.rng().usize(4_000..16_000)
}

/// What a scalar holds once the device is done.
fn check_sum(what: &str, sum: &Tensor, expected: f32) -> Outcome<Option<String>> {
    if sum.numel() != 1 {
        let message = format!("{what} has {} elements, and has to have one", sum.numel());
        return Err(Finding::new(d::WRONG_VALUE, message));
    }
    let got = sum.item()?;
    let text = || format!("{what} came out as {got}; {expected} is right");
    Ok((got != expected).then(text))
}

fn right_value(seen: Option<String>) -> Outcome<()> {
    seen.map_or(Ok(()), |text| Err(Finding::new(d::WRONG_VALUE, text)))
}

fn sum_on_side_stream(grader: &mut Grader) -> Outcome<()> {
    let (count, value) = (count(grader), value(grader));
    let side = Stream::new("side")?;
    let run = |()| -> Outcome<_> {
        let default = current_stream()?;
        keep_busy(&[(&default, BUSY), (&side, 0)])?;
        let returned = part(FUNCTION, || exercise::sum_on_side_stream(&side, count, value));
        let next = part(AFTERWARDS, || Tensor::zeros([count]))?;
        Ok((returned.map_err(returned_error)?, next))
    };
    prepared_runs(grader, stage::clear, run, |grader, run| {
        let ((x, sum), _next) = run.value?;
        let [default, side] = streams(&run.trace)?;
        let (function, afterwards) = parts(grader, &run.trace)?;
        function.unblocked()?;
        let seen = check_sum("the sum", &sum, value * count as f32)?;
        let (memory, work) = (memory(&x), function.work());
        let fill =
            function.the(work.iter().find(|call| writes(call, memory)), "fills the tensor")?;
        let read =
            function.the(work.iter().find(|call| only_reads(call, memory)), "reads the tensor")?;
        function.on_streams(&[(fill, default), (read, side)])?;
        function.unraced(seen.clone())?;
        check_goes_on(&function, read, &afterwards)?;
        function.comes_from("the sum", self::memory(&sum), memory, read)?;
        right_value(seen)
    })
}

fn parts<'a>(grader: &'a Grader, trace: &'a Trace) -> Outcome<(Part<'a>, Part<'a>)> {
    Ok((Part::new(grader, trace, FUNCTION)?, Part::new(grader, trace, AFTERWARDS)?))
}

/// What the current stream does next does not wait for the sum.
fn check_goes_on(function: &Part<'_>, read: &Call, afterwards: &Part<'_>) -> Outcome<()> {
    let work = afterwards.work();
    let next = work.first().ok_or_else(|| {
        Finding::new(d::SETUP_FAILED, "the grading case enqueued nothing afterwards")
    })?;
    function.side_by_side(read, next)
}

fn consume_and_drop(grader: &mut Grader) -> Outcome<()> {
    let (count, value) = (count(grader), value(grader));
    let side = Stream::new("side")?;
    let run = |()| -> Outcome<_> {
        let default = current_stream()?;
        keep_busy(&[(&default, 0), (&side, BUSY)])?;
        let x = Tensor::full([count], value)?.named("x");
        let dropped = memory(&x);
        let returned = part(FUNCTION, || exercise::consume_and_drop(&side, x));
        let mut next = part(AFTERWARDS, || several(count))?;
        // Whatever the allocator was told of, it can hand the memory out again from here on.
        Device::get()?.synchronize()?;
        next.extend(several(count)?);
        Ok((returned.map_err(returned_error)?, dropped, next))
    };
    prepared_runs(grader, stage::clear, run, |grader, run| {
        let (sum, dropped, next) = run.value?;
        let [default, side] = streams(&run.trace)?;
        let (function, afterwards) = parts(grader, &run.trace)?;
        function.unblocked()?;
        let seen = check_sum("the sum", &sum, value * count as f32)?;
        let fills = |call: &&Call| writes(call, dropped);
        let fill = function.the(run.trace.calls().find(fills).as_ref(), "fills the tensor")?;
        let work = function.work();
        let read =
            function.the(work.iter().find(|call| only_reads(call, dropped)), "reads the tensor")?;
        function.on_streams(&[(fill, default), (read, side)])?;
        if !function.hands_back(dropped) {
            let message = "when the function returned, something still owned the tensor";
            return Err(Finding::new(d::NOT_HANDED_BACK, message)
                .at(function.at(read), "this is the tensor"));
        }
        function.unraced(seen.clone())?;
        check_goes_on(&function, read, &afterwards)?;
        function.recorded(dropped, default)?;
        if !next.iter().any(|tensor| memory(tensor).overlaps(dropped)) {
            let message = format!(
                "none of {} tensors of the same size got the memory, though the device was done",
                next.len()
            );
            return Err(Finding::new(d::NOT_HANDED_BACK, message));
        }
        function.comes_from("the sum", memory(&sum), dropped, read)?;
        right_value(seen)
    })
}

/// Tensors of that many elements, all alive.
fn several(count: usize) -> tensor::Result<Vec<Tensor>> {
    (0..NEXT).map(|_| Ok(Tensor::zeros([count])?.named("next"))).collect()
}

fn fan_out_fan_in(grader: &mut Grader) -> Outcome<()> {
    let count = count(grader);
    let first = value(grader);
    let second = first + 1.0;
    let (left, right) = (Stream::new("left")?, Stream::new("right")?);
    let run = |()| -> Outcome<_> {
        let default = current_stream()?;
        keep_busy(&[(&default, 0), (&left, BUSY), (&right, 0)])?;
        let x = Tensor::zeros([count])?.named("x");
        let values = [first, second];
        let sums = part(FUNCTION, || exercise::fan_out_fan_in(&left, &right, &x, values));
        Ok((x, sums.map_err(returned_error)?))
    };
    prepared_runs(grader, stage::clear, run, |grader, run| {
        let (x, [sum, squares]) = run.value?;
        let [default, left, right] = streams(&run.trace)?;
        let function = Part::new(grader, &run.trace, FUNCTION)?;
        function.unblocked()?;
        let seen = match check_sum("the sum", &sum, first * count as f32)? {
            None => check_sum("the sum of squares", &squares, first * first * count as f32)?,
            seen => seen,
        };
        let (memory, work) = (memory(&x), function.work());
        let mut fills = work.iter().filter(|call| writes(call, memory));
        let produced = function.the(fills.next(), "fills the tensor")?;
        let overwritten = function.the(fills.next_back(), "fills the tensor a second time")?;
        // In either order, and as many as they like.
        let reads: Vec<&Call> = work.into_iter().filter(|call| only_reads(call, memory)).collect();
        let on = |stream| reads.iter().find(move |call| call.op.stream() == Some(stream));
        // The one that is on another stream is another one than that which is on its own.
        let off = |stream| reads.iter().find(move |call| call.op.stream() != Some(stream));
        let either = |own, others| on(own).or(off(others)).or(reads.first());
        let summed = function.the(either(left, right), "reads the tensor")?;
        let squared = function.the(either(right, left), "reads the tensor")?;
        function.on_streams(&[
            (produced, default),
            (summed, left),
            (squared, right),
            (overwritten, default),
        ])?;
        function.unraced(seen.clone())?;
        let (one, other) =
            if summed.seq < squared.seq { (summed, squared) } else { (squared, summed) };
        function.side_by_side(one, other)?;
        function.comes_from("the sum", self::memory(&sum), memory, summed)?;
        function.comes_from("the sum of squares", self::memory(&squares), memory, squared)?;
        right_value(seen)?;
        let made = |sum: &Tensor| function.last_writer(self::memory(sum));
        if let (Some(sum), Some(squares)) = (made(&sum), made(&squares)) {
            function.on_streams(&[(sum, left), (squares, right)])?;
        }
        let values = x.to_vec()?;
        let wrong = values.iter().position(|value| *value != second);
        wrong.map_or(Ok(()), |index| {
            let got = values[index];
            let message = format!("element {index} is {got} at the end, and has to be {second}");
            Err(Finding::new(d::WRONG_VALUE, message))
        })
    })
}
