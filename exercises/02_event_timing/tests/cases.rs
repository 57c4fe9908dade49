//! The grading cases of exercise 02.

use std::time::Duration;

use super::exercise;
use streamlings::grade::checks::region;
use streamlings::grade::diagnosis as d;
use streamlings::grade::{At, Cases, Finding, Grader, Run};
use streamlings::trace::blocks::{Block, blocks, blocks_during};
use streamlings::trace::order::waits::learned;
use streamlings::trace::regions::Region;
use streamlings::trace::timing::pairs;
use streamlings::trace::{Call, Frame, MarkKind, Nanos, Op, StreamId, Trace};
use streamlings::{DriverError, Gpu, Product};

// By path, because this file is a module of other crates, too.
#[path = "cases/pair.rs"]
mod pair;

use self::pair::{check_figure, check_pair, no_events};

pub fn cases() -> Cases {
    Cases::new()
        .case("time_with_events", time_with_events)
        .case("time_bare_clock", time_bare_clock)
        .case("time_synchronized", time_synchronized)
        .case("two_way", two_way)
}

/// A clock that is read beside another one differs by what lies between the two readings.
const CLOCKS_APART: Duration = Duration::from_micros(50);

/// The criterion: the event time is at least this many times the bare clock's.
const GAP: f64 = 10.0;

/// The side of the product that the criterion names: 2 · 2048³ is 17.2 GFLOP.
const CRITERION_SIDE: u32 = 2048;

fn nanos(nanos: Nanos) -> Duration {
    Duration::from_nanos(nanos)
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// A time as a sentence has it.
fn show(ms: f64) -> String {
    format!("{ms:.3} ms")
}

/// How many runs there are, at most, until one has no idle time between two records.
const RUNS: u32 = 4;

/// A side that no constant can be made for.
fn any_side(grader: &mut Grader) -> u32 {
    8 * grader.rng().u32(96..144)
}

/// Two figures of the same thing: within 2 % or 10 us.
fn agree(figure: f64, recorded: f64) -> bool {
    (figure - recorded).abs() <= (recorded * 0.02).max(0.010)
}

/// What the record says of one run of the learner's code.
struct Record<'a> {
    trace: &'a Trace,
    region: Region,
    /// Launches of the product, in order.
    products: Vec<&'a Call>,
    blocks: Vec<Block>,
    /// The stream that the functions are given.
    given: Option<StreamId>,
}

impl<'a> Record<'a> {
    fn of(trace: &'a Trace) -> Result<Record<'a>, Finding> {
        let region = region(trace, Grader::RUN)?;
        let is_product = |call: &&Call| match call.op {
            Op::Launch { kernel, .. } => trace.name(kernel) == "matmul" && call.succeeded(),
            _ => false,
        };
        let products: Vec<&Call> = trace
            .calls()
            .filter(|call| region.holds(call.thread, call.seq))
            .filter(is_product)
            .collect();
        if products.is_empty() {
            return Err(Finding::new(d::NOTHING_LAUNCHED, "the run launched no product"));
        }
        let all = blocks(trace);
        let blocks = blocks_during(&all, &region).cloned().collect();
        let given = trace.marks().find_map(|mark| match &mark.kind {
            MarkKind::NameStream { stream, name } if name == "gpu.stream" => Some(*stream),
            _ => None,
        });
        Ok(Record { trace, region, products, blocks, given })
    }

    fn last_product(&self) -> &'a Call {
        self.products[self.products.len() - 1]
    }
}

fn frame_at(grader: &Grader, frame: &Option<Frame>) -> Option<At> {
    grader.frame_at(frame.as_ref()?)
}

fn time_with_events(grader: &mut Grader) -> Result<(), Finding> {
    let gpu = Gpu::new()?;
    let mut product = Product::new(&gpu, any_side(grader))?;
    let ms = event_time(grader, &gpu, &mut product)?;
    if let Some(ms) = ms {
        grader.figure("event time", ms, "ms");
    }
    check_other_side(grader, &gpu, product.n(), ms)
}

/// Runs and judges the learner's event time, in milliseconds.
fn event_time(
    grader: &mut Grader,
    gpu: &Gpu,
    product: &mut Product,
) -> Result<Option<f64>, Finding> {
    unhurried(|| {
        let run = grader.run(|| exercise::time_with_events(gpu, product))?;
        check_event_time(grader, &run)
    })
}

/// Runs something again whose event pair stands around idle time, in case the machine was busy.
fn unhurried<T>(mut judged: impl FnMut() -> Result<T, Finding>) -> Result<T, Finding> {
    let mut found = judged();
    for _ in 1..RUNS {
        match &found {
            Err(finding) if finding.diagnosis == d::IDLE_INSIDE_THE_PAIR => found = judged(),
            _ => break,
        }
    }
    found
}

/// Judges a run that returns an event time in milliseconds; the time, where it is one.
fn check_event_time(
    grader: &Grader,
    run: &Run<Result<f32, DriverError>>,
) -> Result<Option<f64>, Finding> {
    let record = Record::of(&run.trace)?;
    let pairs = pairs(&run.trace);
    let Some(pair) = pairs.last() else {
        return Err(no_events(grader, &record, &run.value));
    };
    check_pair(grader, &record, pair)?;
    let figure = match &run.value {
        Ok(ms) => f64::from(*ms),
        Err(error) => {
            let message = format!("the function returned an error: {error}");
            return Err(Finding::new(d::RETURNED_ERROR, message));
        }
    };
    check_figure(grader, pair, figure)?;
    Ok(Some(figure))
}

/// The same function for a product of another size: its time has to be another one, and its own.
fn check_other_side(
    grader: &mut Grader,
    gpu: &Gpu,
    side: u32,
    first: Option<f64>,
) -> Result<(), Finding> {
    let mut product = Product::new(gpu, side / 2)?;
    let second = event_time(grader, gpu, &mut product)?;
    if let (Some(first), Some(second)) = (first, second)
        && first.to_bits() == second.to_bits()
    {
        let message = format!("{} for two products of different sizes", show(first));
        return Err(Finding::new(d::CONSTANT_FIGURE, message));
    }
    Ok(())
}

fn time_bare_clock(grader: &mut Grader) -> Result<(), Finding> {
    let gpu = Gpu::new()?;
    let mut product = Product::new(&gpu, any_side(grader))?;
    let run = grader.run(|| exercise::time_bare_clock(&gpu, &mut product))?.ok()?;
    grader.figure("bare clock", millis(run.value), "ms");
    let record = Record::of(&run.trace)?;
    let judged = check_bare_clock(grader, &record, run.value);
    if judged.as_ref().is_err_and(|finding| finding.diagnosis != d::FIGURE_DISAGREES_WITH_RECORD) {
        return judged;
    }
    // A launch takes about as long whatever is launched, but never the same to the nanosecond.
    let mut same = 0;
    for _ in 0..3 {
        let again = grader.run(|| exercise::time_bare_clock(&gpu, &mut product))?.ok()?;
        if again.value != run.value {
            break;
        }
        same += 1;
    }
    if same == 3 {
        let message = format!("{} to the nanosecond, in four runs", show(millis(run.value)));
        return Err(Finding::new(d::CONSTANT_FIGURE, message));
    }
    judged?;
    // A launch that takes longer than a launch does: a figure that was made up is now too small.
    let hold = Duration::from_micros(grader.rng().u64(1_000..2_000));
    let run = grader.run_held(hold, || exercise::time_bare_clock(&gpu, &mut product))?.ok()?;
    check_bare_clock(grader, &Record::of(&run.trace)?, run.value)
}

/// The figure has to fit between what the launch took and what lies around it without a wait.
fn check_bare_clock(grader: &Grader, record: &Record<'_>, figure: Duration) -> Result<(), Finding> {
    let launch = record.last_product();
    let first_launch = record.products.len() == 1;
    let after = record.blocks.iter().find(|block| block.seq > launch.seq);
    let before = record.blocks.iter().rfind(|block| block.seq < launch.seq);
    // From the end of the last wait before the launch to the beginning of the first one after it.
    let from = before.map_or(record.region.entered, |block| block.left);
    let to = after.map_or(record.region.left, |block| block.entered);
    let launch_at = grader.at(record.trace, launch);

    if figure > nanos(to - from) + CLOCKS_APART {
        let inside = after.filter(|block| figure >= nanos(block.left - launch.entered));
        if let Some(block) = inside.or(before) {
            let message = format!(
                "the clock says {}, and the launch came back after {}",
                show(millis(figure)),
                show(millis(nanos(launch.held())))
            );
            let held = show(millis(nanos(block.left - block.entered)));
            return Err(Finding::new(d::BLOCKED_INSIDE_BARE_REGION, message)
                .at(frame_at(grader, &block.at), format!("held the host for {held}"))
                .note(block.reason.sentence()));
        }
    }
    if figure + CLOCKS_APART < nanos(launch.held()) || figure > nanos(to - from) + CLOCKS_APART {
        let message = format!(
            "the function says {}, and the record {} to {}",
            show(millis(figure)),
            show(millis(nanos(launch.held()))),
            show(millis(nanos(to - from)))
        );
        return Err(
            Finding::new(d::FIGURE_DISAGREES_WITH_RECORD, message).at(launch_at, "of this launch")
        );
    }
    if first_launch {
        let message = "the only launch of the product in this run is the one that was timed";
        return Err(Finding::new(d::WARM_UP_INSIDE, message)
            .at(launch_at, "the kernel's first launch in this run"));
    }
    Ok(())
}

fn time_synchronized(grader: &mut Grader) -> Result<(), Finding> {
    let gpu = Gpu::new()?;
    let mut product = Product::new(&gpu, any_side(grader))?;
    let run = grader.run(|| exercise::time_synchronized(&gpu, &mut product))?.ok()?;
    let figure = run.value;
    grader.figure("wall clock with a synchronize", millis(figure), "ms");
    let record = Record::of(&run.trace)?;
    let launch = record.last_product();
    let launch_at = grader.at(&run.trace, launch);
    // By whatever call: somebody who polls a stream knows it, too.
    let waited = learned(&run.trace, launch.seq)
        .filter(|call| record.region.spans(call.seq, call.left))
        .map(|call| nanos(call.left - launch.entered));
    if waited.is_none_or(|waited| figure + CLOCKS_APART < waited) {
        let message = match waited {
            Some(waited) => format!(
                "the clock says {}, and the product was done after {}",
                show(millis(figure)),
                show(millis(waited))
            ),
            None => format!(
                "the clock says {}, and no call waited for the product",
                show(millis(figure))
            ),
        };
        return Err(
            Finding::new(d::NOT_SYNCHRONIZED, message).at(launch_at, "this launch is timed")
        );
    }
    let before = record.blocks.iter().rfind(|block| block.seq < launch.seq);
    let from = before.map_or(record.region.entered, |block| block.left);
    let most = nanos(record.region.left - from) + CLOCKS_APART;
    if figure > most {
        let message = format!(
            "the function says {}, and the record at most {}",
            show(millis(figure)),
            show(millis(most))
        );
        return Err(
            Finding::new(d::FIGURE_DISAGREES_WITH_RECORD, message).at(launch_at, "of this launch")
        );
    }
    let Some(warm_up) = record.products.iter().rev().nth(1) else {
        let message = "the only launch of the product in this run is the one that was timed";
        return Err(Finding::new(d::WARM_UP_INSIDE, message)
            .at(launch_at, "the kernel's first launch in this run"));
    };
    if learned(&run.trace, warm_up.seq).is_none_or(|call| call.seq > launch.seq) {
        let message = "the product before it was still running when the timed one was launched";
        return Err(Finding::new(d::WARM_UP_INSIDE, message)
            .at(grader.at(&run.trace, warm_up), "launched here, and not waited for")
            .at(launch_at, "this launch is timed"));
    }
    Ok(())
}

fn two_way(grader: &mut Grader) -> Result<(), Finding> {
    let gpu = Gpu::new()?;
    let mut product = Product::new(&gpu, CRITERION_SIDE)?;
    // The figures are those of the run that counts, whatever is found in it.
    let mut figures = None;
    let judged = unhurried(|| {
        let run = grader
            .run(|| exercise::two_way(&gpu, &mut product).map(|both| (both.event_ms, both.bare)))?;
        figures = run.value.as_ref().ok().copied();
        check_two_way(grader, &run)
    });
    let Some((event, bare)) = figures else { return judged };
    let (event, bare) = (f64::from(event), millis(bare));
    let gap = event / bare;
    let rate = |ms: f64| product.flops() / (ms / 1e3) / 1e12;
    grader.figure("event time", event, "ms");
    grader.figure("bare clock", bare, "ms");
    grader.figure("gap", gap, "times");
    let peak = match gpu.peak_flops()? {
        Some(peak) => format!("{:.2} TFLOP/s", peak / 1e12),
        None => "not known here".to_owned(),
    };
    grader.note(format!(
        "{:.1} GFLOP in {} would be {:.1} TFLOP/s; in {} it is {:.2}; the device's peak is {peak}",
        product.flops() / 1e9,
        show(bare),
        rate(bare),
        show(event),
        rate(event),
    ));

    judged?;
    if gap < GAP {
        let message = format!("{} is only {gap:.1} times {}", show(event), show(bare));
        return Err(Finding::new(d::GAP_TOO_SMALL, message));
    }
    Ok(())
}

/// Judged before an error is looked at: the record says more than the error.
fn check_two_way(
    grader: &Grader,
    run: &Run<Result<(f32, Duration), DriverError>>,
) -> Result<(), Finding> {
    check_event_of_two(grader, run)?;
    match &run.value {
        Ok((_, bare)) => check_bare_of_two(grader, &Record::of(&run.trace)?, *bare),
        Err(error) => {
            let message = format!("the function returned an error: {error}");
            Err(Finding::new(d::RETURNED_ERROR, message))
        }
    }
}

/// In a run that times two products, the pair belongs to the one between its records.
fn check_event_of_two(
    grader: &Grader,
    run: &Run<Result<(f32, Duration), DriverError>>,
) -> Result<(), Finding> {
    let event_ms = run.value.as_ref().map(|both| both.0).map_err(|error| *error);
    let mut record = Record::of(&run.trace)?;
    let pairs = pairs(&run.trace);
    let Some(pair) = pairs.last() else {
        // The event time comes first: a warm-up, and the product that it is of.
        record.products.truncate(2);
        return Err(no_events(grader, &record, &event_ms));
    };
    // Judged as if the run had ended with the reading: what comes later is timed by the other clock.
    if let Some(read) = pair.seq {
        record.products.retain(|product| product.seq < read);
    }
    if record.products.is_empty() {
        return Err(Finding::new(d::PAIR_BRACKETS_NOTHING, "no product was launched before it"));
    }
    check_pair(grader, &record, pair)?;
    match event_ms {
        Ok(ms) => check_figure(grader, pair, f64::from(ms)),
        Err(_) => Ok(()),
    }
}

/// In such a run the bare clock stands around one of the products that no pair stands around, or
/// around the same one.
fn check_bare_of_two(
    grader: &Grader,
    record: &Record<'_>,
    figure: Duration,
) -> Result<(), Finding> {
    let mut last = None;
    for index in (0..record.products.len()).rev() {
        let one = Record {
            trace: record.trace,
            region: record.region.clone(),
            products: record.products[..=index].to_vec(),
            blocks: record.blocks.clone(),
            given: record.given,
        };
        match check_bare_clock(grader, &one, figure) {
            Ok(()) => return Ok(()),
            Err(finding) => last = last.or(Some(finding)),
        }
    }
    last.map_or(Ok(()), Err)
}
