//! The grading cases of exercise 02.

use std::time::Duration;

use super::exercise;
use streamlings::grade::checks::{held_run, host_polls, region, stream_named, unhurried};
use streamlings::grade::diagnosis as d;
use streamlings::grade::{At, Cases, Finding, Grader, Run};
use streamlings::trace::blocks::{Block, blocks, blocks_during};
use streamlings::trace::order::waits::learned;
use streamlings::trace::polls::{Poll, polls};
use streamlings::trace::regions::Region;
use streamlings::trace::timing::{Pair, pairs};
use streamlings::trace::{Call, Frame, Nanos, Op, StreamId, Trace};
use streamlings::{DriverError, Gpu, Product};

// By path, because this file is a module of other crates, too.
#[path = "cases/pair.rs"]
mod pair;

use self::pair::{check_figure, check_pair, meant, no_events};

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

/// A clock that stands around calls alone shows no more than this beside them: a busy machine may keep
/// the host for longer, but not in each of several runs.
const LATE: Duration = Duration::from_millis(1);

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
    polls: Vec<Poll>,
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
        let products: Vec<&Call> = region.calls(trace).filter(is_product).collect();
        if products.is_empty() {
            return Err(Finding::new(d::NOTHING_LAUNCHED, "the run launched no product"));
        }
        let all = blocks(trace);
        let blocks = blocks_during(&all, &region).cloned().collect();
        let given = stream_named(trace, "gpu.stream");
        let during = |poll: &Poll| region.spans(poll.seq, poll.left);
        let polls = polls(trace).into_iter().filter(during).collect();
        Ok(Record { trace, region, products, blocks, polls, given })
    }

    /// The same as if the run had ended with a product.
    fn up_to(&self, product: usize) -> Record<'a> {
        Record {
            trace: self.trace,
            region: self.region.clone(),
            products: self.products[..=product].to_vec(),
            blocks: self.blocks.clone(),
            polls: self.polls.clone(),
            given: self.given,
        }
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
    unhurried(&[d::IDLE_INSIDE_THE_PAIR], || {
        let run = grader.run(|| exercise::time_with_events(gpu, product))?;
        check_event_time(grader, &run)
    })
}

/// Judges a run that returns an event time in milliseconds; the time, where it is one.
fn check_event_time(
    grader: &Grader,
    run: &Run<Result<f32, DriverError>>,
) -> Result<Option<f64>, Finding> {
    let mut record = Record::of(&run.trace)?;
    let pairs = pairs(&run.trace);
    let Some(pair) = meant(&pairs, &run.value) else {
        return Err(no_events(grader, &record, &run.value));
    };
    record.ends_with(pair)?;
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
    // What a figure that nobody measured may get, too, as the machine's luck will have it.
    let unmeasured = [d::FIGURE_DISAGREES_WITH_RECORD, d::WARM_UP_INSIDE];
    let mut figure = None;
    let judged = unhurried(&unmeasured, || {
        let run = grader.run(|| exercise::time_bare_clock(&gpu, &mut product))?.ok()?;
        figure = Some(run.value);
        of_any_product(&Record::of(&run.trace)?, |one| check_bare_clock(grader, one, run.value))
    });
    let Some(figure) = figure else { return judged };
    grader.figure("bare clock", millis(figure), "ms");
    if judged.as_ref().is_err_and(|finding| !unmeasured.contains(&finding.diagnosis)) {
        return judged;
    }
    // A launch takes about as long whatever is launched, but never the same to the nanosecond.
    let mut same = 0;
    for _ in 0..3 {
        let again = grader.run(|| exercise::time_bare_clock(&gpu, &mut product))?.ok()?;
        // Two readings with nothing between them may well be the same each time.
        if again.value != figure || figure < Duration::from_micros(1) {
            break;
        }
        same += 1;
    }
    if same == 3 {
        let message = format!("{} to the nanosecond, in four runs", show(millis(figure)));
        return Err(Finding::new(d::CONSTANT_FIGURE, message));
    }
    judged?;
    unhurried(&[d::FIGURE_DISAGREES_WITH_RECORD], || {
        let hold = any_hold(grader);
        let run = grader.run_held(hold, || exercise::time_bare_clock(&gpu, &mut product))?.ok()?;
        let record = Record::of(&run.trace)?;
        let judged = of_any_product(&record, |one| check_bare_clock(grader, one, run.value));
        held_run(hold, judged)
    })
}

/// For how long calls are held in a run of its own: a figure that was made up is then too small.
fn any_hold(grader: &mut Grader) -> Duration {
    Duration::from_micros(grader.rng().u64(2_000..3_000))
}

/// Judges a figure that may be of any product of the run, the last one first.
///
/// # Errors
/// What is wrong with the last product; where all that is wrong is that the figure is another, and the
/// warm-up is the one that it fits, that.
fn of_any_product(
    record: &Record<'_>,
    judged: impl Fn(&Record<'_>) -> Result<(), Finding>,
) -> Result<(), Finding> {
    let mut found = judged(record);
    for index in (0..record.products.len().saturating_sub(1)).rev() {
        let Err(so_far) = &found else { break };
        match judged(&record.up_to(index)) {
            Ok(()) => found = Ok(()),
            Err(other)
                if so_far.diagnosis == d::FIGURE_DISAGREES_WITH_RECORD
                    && other.diagnosis == d::WARM_UP_INSIDE =>
            {
                found = Err(other);
            }
            Err(_) => {}
        }
    }
    found
}

/// The figure has to fit between what the launch took and what lies around it without a wait.
fn check_bare_clock(grader: &Grader, record: &Record<'_>, figure: Duration) -> Result<(), Finding> {
    let launch = record.last_product();
    let first_launch = record.products.len() == 1;
    let after = record.blocks.iter().find(|block| block.seq > launch.seq);
    let before = record.blocks.iter().rfind(|block| block.seq < launch.seq);
    let poll = record.polls.iter().find(|poll| poll.seq > launch.seq);
    // From the end of the last wait before the launch to the beginning of the first one after it.
    let from = before.map_or(record.region.entered, |block| block.left);
    let to = after.map_or(record.region.left, |block| block.entered);
    let launch_at = grader.at(record.trace, launch);

    if figure > nanos(to - from) + CLOCKS_APART {
        let inside = after.filter(|block| figure >= nanos(block.left - launch.entered));
        // The whole of the wait before the launch, or the clock was started later.
        let ahead =
            before.filter(|block| figure + CLOCKS_APART >= nanos(launch.left - block.entered));
        // What the clock can have read at most, had it been started when the wait before was over.
        let most = nanos(record.region.left - from) + CLOCKS_APART;
        let (first, second) = if figure > most { (ahead, inside) } else { (inside, ahead) };
        if let Some(block) = first.or(second) {
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
    if let Some(poll) = poll.filter(|poll| figure >= nanos(poll.left - launch.entered)) {
        return Err(host_polls(grader, poll));
    }
    let held = nanos(launch.held());
    if figure + CLOCKS_APART < held || figure > held + LATE {
        let message = format!(
            "the function says {}, and the launch came back after {}",
            show(millis(figure)),
            show(millis(held)),
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
    let lucky = [d::FIGURE_DISAGREES_WITH_RECORD, d::WARM_UP_INSIDE, d::EVENT_TIME_AS_WALL_CLOCK];
    let mut figure = None;
    let judged = unhurried(&lucky, || {
        let run = grader.run(|| exercise::time_synchronized(&gpu, &mut product))?.ok()?;
        figure = Some(run.value);
        of_any_product(&Record::of(&run.trace)?, |one| check_synchronized(grader, one, run.value))
    });
    if let Some(figure) = figure {
        grader.figure("wall clock with a synchronize", millis(figure), "ms");
    }
    judged?;
    unhurried(&lucky, || {
        let hold = any_hold(grader);
        let run =
            grader.run_held(hold, || exercise::time_synchronized(&gpu, &mut product))?.ok()?;
        let record = Record::of(&run.trace)?;
        let judged = of_any_product(&record, |one| check_synchronized(grader, one, run.value));
        held_run(hold, judged)
    })
}

/// Whether a figure is what a pair of events reads, whatever unit it was rounded to.
fn is_of(pair: &Pair, figure: Duration) -> bool {
    let reads = pair.ms.map(|ms| Duration::from_secs_f64(f64::from(ms.max(0.0)) / 1e3));
    reads.is_some_and(|reads| reads.abs_diff(figure) <= Duration::from_micros(1))
}

/// The figure has to be from the launch to the end of the wait for it.
fn check_synchronized(
    grader: &Grader,
    record: &Record<'_>,
    figure: Duration,
) -> Result<(), Finding> {
    let (trace, launch) = (record.trace, record.last_product());
    let launch_at = grader.at(trace, launch);
    if let Some(pair) = pairs(trace).iter().find(|pair| is_of(pair, figure)) {
        let message = format!("{} is what the pair of events reads", show(millis(figure)));
        return Err(Finding::new(d::EVENT_TIME_AS_WALL_CLOCK, message)
            .at(frame_at(grader, &pair.at), "read here")
            .at(launch_at, "the time of this launch, by the device's clock"));
    }
    // By whatever call: somebody who polls a stream knows it, too.
    let waited = learned(trace, launch.seq)
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
    let waited = waited.unwrap_or_default();
    let earlier = record.products.iter().rev().nth(1);
    // From the product before to the end of the wait for this one.
    if let Some(warm_up) = earlier.filter(|earlier| {
        let both = waited + nanos(launch.entered - earlier.entered);
        figure > waited + LATE && (both..=nanos(record.region.host())).contains(&figure)
    }) {
        let message = "the clock was started before the product that is there to warm up";
        return Err(Finding::new(d::WARM_UP_INSIDE, message)
            .at(grader.at(trace, warm_up), "this is timed, too")
            .at(launch_at, "and this is to be timed"));
    }
    if figure > waited + LATE {
        let message = format!(
            "the function says {}, and the product was done after {}",
            show(millis(figure)),
            show(millis(waited))
        );
        return Err(
            Finding::new(d::FIGURE_DISAGREES_WITH_RECORD, message).at(launch_at, "of this launch")
        );
    }
    let Some(warm_up) = earlier else {
        let message = "the only launch of the product in this run is the one that was timed";
        return Err(Finding::new(d::WARM_UP_INSIDE, message)
            .at(launch_at, "the kernel's first launch in this run"));
    };
    if learned(trace, warm_up.seq).is_none_or(|call| call.seq > launch.seq) {
        let message = "the product before it was still running when the timed one was launched";
        return Err(Finding::new(d::WARM_UP_INSIDE, message)
            .at(grader.at(trace, warm_up), "launched here, and not waited for")
            .at(launch_at, "this launch is timed"));
    }
    Ok(())
}

fn two_way(grader: &mut Grader) -> Result<(), Finding> {
    let gpu = Gpu::new()?;
    let mut product = Product::new(&gpu, CRITERION_SIDE)?;
    // The figures are those of the run that counts, whatever is found in it.
    let mut figures = None;
    let lucky = [
        d::IDLE_INSIDE_THE_PAIR,
        d::FIGURE_DISAGREES_WITH_RECORD,
        d::WARM_UP_INSIDE,
        d::GAP_TOO_SMALL,
    ];
    let judged = unhurried(&lucky, || {
        let run = grader
            .run(|| exercise::two_way(&gpu, &mut product).map(|both| (both.event_ms, both.bare)))?;
        figures = run.value.as_ref().ok().copied();
        check_two_way(grader, &run)?;
        figures.map_or(Ok(()), check_gap)
    });
    let Some((event, bare)) = figures else { return judged };
    let (event, bare) = (f64::from(event), millis(bare));
    let rate = |ms: f64| product.flops() / (ms / 1e3) / 1e12;
    grader.figure("event time", event, "ms");
    grader.figure("bare clock", bare, "ms");
    grader.figure("gap", event / bare, "times");
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
    let mut product = Product::new(&gpu, any_side(grader))?;
    unhurried(&lucky, || {
        let hold = any_hold(grader);
        let run = grader.run_held(hold, || {
            exercise::two_way(&gpu, &mut product).map(|both| (both.event_ms, both.bare))
        })?;
        held_run(hold, check_two_way(grader, &run))
    })
}

/// An event time in milliseconds has to be many times what the bare clock reads.
fn check_gap((event, bare): (f32, Duration)) -> Result<(), Finding> {
    let (event, bare) = (f64::from(event), millis(bare));
    let gap = event / bare;
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
        // The bare clock stands around one of the products that no pair stands around, or around the
        // same one.
        Ok((_, bare)) => {
            of_any_product(&Record::of(&run.trace)?, |one| check_bare_clock(grader, one, *bare))
        }
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
    let Some(pair) = meant(&pairs, &event_ms) else {
        // The event time comes first: a warm-up, and the product that it is of.
        record.products.truncate(2);
        return Err(no_events(grader, &record, &event_ms));
    };
    record.ends_with(pair)?;
    check_pair(grader, &record, pair)?;
    match event_ms {
        Ok(ms) => check_figure(grader, pair, f64::from(ms)),
        Err(_) => Ok(()),
    }
}
