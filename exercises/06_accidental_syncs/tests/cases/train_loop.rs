//! The case `train_loop`: what held the host while the clock ran, and whether the numbers are right.

use std::collections::BTreeSet;

use super::exercise::{self, Batch, Report, Settings};
use streamlings::Clock;
use streamlings::grade::checks::{doing, host_polls, judged_runs, record_before_values};
use streamlings::grade::diagnosis as d;
use streamlings::grade::{At, Finding, Grader};
use streamlings::stage::returned_error;
use streamlings::tensor::nn::Linear;
use streamlings::tensor::{Device, HostTensor, Result, spin};
use streamlings::trace::blocks::{Block, Reason, blocks, blocks_during};
use streamlings::trace::order::races;
use streamlings::trace::order::report::What;
use streamlings::trace::polls::polls;
use streamlings::trace::regions::{Region, regions_named};
use streamlings::trace::{Call, Frame, MemoryKind, Op, Trace};

/// How long the stream is busy when the loop begins, in nanoseconds: what waits is seen to wait.
const BUSY: u64 = 2_000_000;

/// The same in a run with delays, whose times nobody reads: long enough that whoever polls is told to come
/// again, on a slow machine, too.
const BUSY_FOR_LONG: u64 = 50_000_000;

/// A loss that no batch comes near to: good ones stay far below it, bad ones far above.
const LIMIT: f64 = 100.0;

/// How far a figure may be from that of the reference, which adds up in another order and in f64.
const TOLERANCE: f64 = 1e-4;

/// A training and what it has to give.
struct Task {
    seed: u64,
    inputs: usize,
    batches: Vec<Batch>,
    settings: Settings,
}

impl Task {
    fn new(grader: &mut Grader) -> Result<Task> {
        let rng = grader.rng();
        let (rows, inputs, steps) = (rng.usize(48..96), rng.usize(8..16), rng.usize(6..9));
        let seed = rng.u64(..);
        // Not the last one: what comes after it has to show.
        let bad = rng.usize(0..steps - 1);
        let mut between = |low: f32, high: f32| low + (high - low) * rng.f32();
        let truth: Vec<f32> = (0..inputs).map(|_| between(0.5, 1.0)).collect();
        let mut batches = Vec::new();
        for step in 0..steps {
            let x: Vec<f32> = (0..rows * inputs).map(|_| between(-1.0, 1.0)).collect();
            let scale = if step == bad { 60.0 } else { 1.0 };
            let target = x
                .chunks(inputs)
                .map(|row| scale * row.iter().zip(&truth).map(|(x, truth)| x * truth).sum::<f32>());
            batches.push(Batch {
                target: HostTensor::new(target.collect(), [rows, 1])?,
                x: HostTensor::new(x, [rows, inputs])?,
            });
        }
        let settings = Settings { rate: between(0.05, 0.15), limit: LIMIT as f32 };
        Ok(Task { seed, inputs, batches, settings })
    }

    fn model(&self) -> Result<Linear> {
        Linear::new(self.inputs, 1, self.seed)
    }
}

/// What the host works out by itself.
#[derive(Default)]
struct Expected {
    losses: Vec<f64>,
    positives: f64,
    /// The least and the most: an output may be so near to the threshold that rounding decides.
    above: (usize, usize),
    /// How many of them the last step has at least.
    above_at_last: usize,
    weight: Vec<f64>,
    bias: f64,
}

impl Expected {
    fn of(task: &Task) -> Result<Expected, Finding> {
        let model = task.model()?;
        let weight = model.weight.to_vec()?.into_iter().map(f64::from).collect();
        let mut expected = Expected { weight, ..Expected::default() };
        for batch in &task.batches {
            expected.step(batch, f64::from(task.settings.rate));
        }
        let is_clear = |loss: &f64| *loss < LIMIT / 2.0 || *loss > LIMIT * 2.0;
        if !expected.losses.iter().all(is_clear) {
            return Err(Finding::new(d::SETUP_FAILED, "a loss is too near to the limit"));
        }
        Ok(expected)
    }

    fn step(&mut self, batch: &Batch, rate: f64) {
        let inputs = self.weight.len();
        let rows = batch.target.len() as f64;
        let above_before = self.above.0;
        let (mut loss, mut of_weight, mut of_bias) = (0.0, vec![0.0; inputs], 0.0);
        for (x, target) in batch.x.chunks(inputs).zip(batch.target.iter()) {
            let products = x.iter().zip(&self.weight).map(|(x, weight)| f64::from(*x) * weight);
            let y = products.sum::<f64>() + self.bias;
            let error = y - f64::from(*target);
            loss += error * error / rows;
            of_bias += 2.0 * error / rows;
            for (grad, x) in of_weight.iter_mut().zip(x) {
                *grad += 2.0 * error * f64::from(*x) / rows;
            }
            self.positives += y.max(0.0);
            self.above.0 += usize::from(y > 0.5 + TOLERANCE);
            self.above.1 += usize::from(y > 0.5 - TOLERANCE);
        }
        self.above_at_last = self.above.0 - above_before;
        self.losses.push(loss);
        if loss <= LIMIT {
            self.bias -= rate * of_bias;
            for (weight, grad) in self.weight.iter_mut().zip(of_weight) {
                *weight -= rate * grad;
            }
        }
    }
}

/// A training of whose outputs some are above the threshold in the last step: whoever leaves that step out
/// counts wrong.
fn any_task(grader: &mut Grader) -> Result<(Task, Expected), Finding> {
    const DRAWS: usize = 100;
    for _ in 0..DRAWS {
        let task = Task::new(grader)?;
        let expected = Expected::of(&task)?;
        if expected.above_at_last > 0 {
            return Ok((task, expected));
        }
    }
    Err(Finding::new(d::SETUP_FAILED, "the last step has no output above the threshold"))
}

pub fn train_loop(grader: &mut Grader) -> Result<(), Finding> {
    let (task, expected) = any_task(grader)?;
    judged_runs(grader, |grader, seed| {
        let model = task.model()?;
        Device::get()?.synchronize()?;
        let mut clock = Clock::new();
        let learner = || {
            spin(if seed.is_none() { BUSY } else { BUSY_FOR_LONG })?;
            exercise::train_loop(&model, &task.batches, task.settings, &mut clock)
        };
        let run = match seed {
            None => grader.run(learner)?,
            Some(seed) => grader.run_perturbed(seed, learner)?,
        };
        if seed.is_none() && !clock.laps().is_empty() {
            let whole: f64 = clock.laps().iter().map(|lap| lap.as_secs_f64()).sum();
            grader.figure("time a step", 1e3 * whole / clock.laps().len() as f64, "ms");
        }
        // What the record says comes before an error: it is the reason more often than not.
        let record = check_record(grader, &run.trace, task.batches.len());
        let ran = run.value.map_err(returned_error);
        if record.is_err() {
            // What a race did shows in the model, if anywhere.
            return record_before_values(record, ran.and_then(|_| check_model(&expected, &model)));
        }
        check_report(&expected, &ran?)?;
        check_model(&expected, &model)
    })
}

fn check_record(grader: &Grader, trace: &Trace, steps: usize) -> Result<(), Finding> {
    let laps = regions_named(trace, Clock::LAP);
    let (Some(first), Some(last)) = (laps.first(), laps.last()) else {
        return Err(Finding::new(d::WORK_OUTSIDE_THE_CLOCK, "the clock ran no lap"));
    };
    let timed = Region { end: last.end, left: last.left, ..first.clone() };
    let in_a_lap = |call: &Call| laps.iter().any(|lap| lap.holds(call.thread, call.seq));
    check_unblocked(grader, trace, &timed, &laps)?;
    check_uploads(grader, trace, &timed)?;
    if laps.len() != steps {
        let message = format!("the clock ran {} laps, and there are {steps} batches", laps.len());
        return Err(Finding::new(d::WORK_OUTSIDE_THE_CLOCK, message));
    }
    // Uploading the first batch ahead of the first lap is fine, and so is adding up at the end.
    let is_step = |call: &Call| match call.op {
        Op::Launch { kernel, .. } => trace.name(kernel).starts_with("matmul"),
        _ => false,
    };
    let outside = trace
        .calls()
        .filter(|call| call.thread == timed.thread && !in_a_lap(call))
        .find(|call| is_step(call) || (call.op.is_work() && timed.holds(call.thread, call.seq)));
    if let Some(call) = outside {
        let message = "work of the steps is enqueued outside of the laps";
        return Err(Finding::new(d::WORK_OUTSIDE_THE_CLOCK, message)
            .at(grader.at(trace, call), "this is in no lap"));
    }
    let idle = laps.iter().position(|lap| !lap.calls(trace).any(is_step));
    if let Some(lap) = idle {
        let message = format!("no product is launched in lap {lap}");
        return Err(Finding::new(d::WORK_OUTSIDE_THE_CLOCK, message));
    }
    check_races(grader, trace)
}

/// From the beginning of the first lap to the end of the last nothing may hold the host: no call, and no
/// question that is asked until the answer is yes, of whatever thread.
fn check_unblocked(
    grader: &Grader,
    trace: &Trace,
    timed: &Region,
    laps: &[Region],
) -> Result<(), Finding> {
    let all = blocks(trace);
    let in_a_lap = |block: &&Block| {
        laps.iter().any(|lap| lap.begin < block.seq && lap.end.is_none_or(|end| block.seq < end))
    };
    let (inside, between): (Vec<&Block>, Vec<&Block>) =
        blocks_during(&all, timed).partition(in_a_lap);
    let asked = polls(trace);
    let poll = asked.iter().find(|poll| timed.spans(poll.seq, poll.entered));
    let held = inside.first().or(between.first());
    if let Some(poll) = poll.filter(|poll| held.is_none_or(|block| poll.seq < block.seq)) {
        return Err(host_polls(grader, poll));
    }
    let (code, blocks, message) = match (&inside[..], &between[..]) {
        ([], []) => return Ok(()),
        ([], between) => {
            let count = format!("{} times in {} laps", between.len(), laps.len());
            (d::SYNC_OUTSIDE_THE_CLOCK, between, format!("the host was held between laps, {count}"))
        }
        (inside, _) => {
            let count = match lines(inside).len() {
                1 => "1 line holds".to_owned(),
                lines => format!("{lines} lines hold"),
            };
            (d::HIDDEN_SYNC, inside, format!("{count} the host while the clock runs"))
        }
    };
    let block = blocks[0];
    let label = match block.held {
        true => format!("held the host for {:.3} ms", (block.left - block.entered) as f64 / 1e6),
        false => "would hold the host, if the device were busier".to_owned(),
    };
    let mut finding = Finding::new(code, message)
        .at(frame_at(grader, &block.at), label)
        .note(block.reason.sentence());
    if ends_an_upload(trace, block) {
        let note =
            "an upload ends with this wait, unless the argument of `to_device` says otherwise";
        finding = finding.note(note);
    }
    let lines: Vec<String> = lines(blocks).iter().map(u32::to_string).collect();
    if lines.len() > 1 {
        finding = finding.note(format!("the lines that hold the host: {}", lines.join(", ")));
    }
    Err(finding)
}

/// The learner's lines of these, each once, in order.
fn lines(blocks: &[&Block]) -> BTreeSet<u32> {
    blocks.iter().filter_map(|block| block.at.as_ref().map(|at| at.line)).collect()
}

/// Whether it is the synchronize that an upload ends with if it is to be waited for.
fn ends_an_upload(trace: &Trace, block: &Block) -> bool {
    let stack = block.stack.and_then(|stack| trace.stack(stack));
    let below = stack.map_or(&[][..], |stack| {
        &stack.frames[..stack.learner.map_or(0, |learner| learner as usize)]
    });
    let is_upload = |frame: &Frame| ["upload", "upload_to"].contains(&frame.function.as_str());
    block.reason == Reason::StreamSync && below.iter().any(is_upload)
}

/// Small uploads from pageable memory do not hold the host, until staging memory is full.
fn check_uploads(grader: &Grader, trace: &Trace, timed: &Region) -> Result<(), Finding> {
    let is_pageable = |call: &&Call| match &call.op {
        Op::Copy { src, dst, .. } => {
            src.memory == MemoryKind::Pageable && dst.memory == MemoryKind::Device
        }
        _ => false,
    };
    let mut during = trace.calls().filter(|call| timed.spans(call.seq, call.left));
    let Some(upload) = during.find(is_pageable) else { return Ok(()) };
    let message = "a batch is uploaded from pageable memory, and did not have to wait";
    Err(Finding::new(d::PAGEABLE_BY_LUCK, message)
        .at(grader.at(trace, upload), "this copy")
        .note(Reason::LargePageableUpload.sentence()))
}

fn check_races(grader: &Grader, trace: &Trace) -> Result<(), Finding> {
    let found = races(trace);
    let Some(race) = found.first() else { return Ok(()) };
    let code = match (&race.earlier.what, &race.later.what) {
        (What::Upload, What::Host) => d::REFILLED_DURING_COPY,
        _ => d::UNORDERED_ACCESS,
    };
    let buffer = race.buffer.as_ref().map_or("memory".to_owned(), |name| format!("`{name}`"));
    let message = format!("nothing orders two accesses to {buffer}");
    Err(Finding::new(code, message)
        .at(frame_at(grader, &race.later.at), doing(race, &race.later))
        .at(frame_at(grader, &race.earlier.at), doing(race, &race.earlier)))
}

fn frame_at(grader: &Grader, frame: &Option<Frame>) -> Option<At> {
    grader.frame_at(frame.as_ref()?)
}

/// Equal within the rounding of a training in f32.
fn near(got: f64, expected: f64, unit: f64) -> bool {
    (got - expected).abs() <= TOLERANCE * expected.abs().max(unit)
}

fn wrong(message: String) -> Result<(), Finding> {
    Err(Finding::new(d::WRONG_VALUE, message))
}

fn check_report(expected: &Expected, report: &Report) -> Result<(), Finding> {
    let (lines, steps) = (report.log.len(), expected.losses.len());
    if lines != steps {
        return wrong(format!("the log has {lines} lines, and there are {steps} steps"));
    }
    for (step, (line, loss)) in report.log.iter().zip(&expected.losses).enumerate() {
        let said = line.strip_prefix(&format!("step {step}: loss "));
        let said = said.map(|said| said.trim_start_matches("tensor(").trim_end_matches(')'));
        let said = said.and_then(|said| said.parse::<f64>().ok());
        // A line shows four digits.
        if !said.is_some_and(|said| near(said, *loss, 1.0)) {
            return wrong(format!(
                "the log says `{line}`, and the loss of step {step} is {loss:.4}"
            ));
        }
    }
    let (got, wanted) = (f64::from(report.positives), expected.positives);
    if !near(got, wanted, 1.0) {
        return wrong(format!("`positives` is {got:.3}, and has to be {wanted:.3}"));
    }
    let (least, most) = expected.above;
    if !(least..=most).contains(&report.above) {
        return wrong(format!("`above` is {}, and has to be {least}", report.above));
    }
    Ok(())
}

fn check_model(expected: &Expected, model: &Linear) -> Result<(), Finding> {
    let weight = model.weight.to_vec()?;
    for (index, (got, wanted)) in weight.iter().zip(&expected.weight).enumerate() {
        if !near(f64::from(*got), *wanted, 1.0) {
            return wrong(format!("weight {index} is {got}, and has to be {wanted:.6}"));
        }
    }
    let (got, wanted) = (f64::from(model.bias.item()?), expected.bias);
    if !near(got, wanted, 1.0) {
        return wrong(format!("the bias is {got}, and has to be {wanted:.6}"));
    }
    Ok(())
}
