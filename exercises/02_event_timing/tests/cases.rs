//! The grading cases of exercise 02.

use std::time::Duration;

use super::exercise;
use streamlings::grade::diagnosis as d;
use streamlings::grade::{At, Cases, Finding, Grader, Run};
use streamlings::trace::blocks::{Block, blocks, blocks_in};
use streamlings::trace::regions::{Region, regions};
use streamlings::trace::timing::{NOT_READY, Pair, PairProblem, WarmUp, Work, pairs};
use streamlings::trace::{Call, Frame, MarkKind, Nanos, Op, StreamId, Trace};
use streamlings::{DriverError, Gpu, Product};

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

/// For how long, in milliseconds, a busy machine may keep the host between a record and a launch.
const IDLE_MS: f64 = 100.0;

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
        let region = regions(trace)
            .into_iter()
            .find(|region| region.name == Grader::RUN)
            .ok_or_else(|| Finding::new(d::SETUP_FAILED, "the trace has no region of the run"))?;
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
        let blocks = blocks_in(&all, &region).cloned().collect();
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

fn work_at(grader: &Grader, work: Option<&Work>) -> Option<At> {
    frame_at(grader, &work?.at)
}

fn time_with_events(grader: &mut Grader) -> Result<(), Finding> {
    let gpu = Gpu::new()?;
    let mut product = Product::new(&gpu, any_side(grader))?;
    let run = grader.run(|| exercise::time_with_events(&gpu, &mut product))?;
    let ms = check_event_time(grader, &run)?;
    if let Some(ms) = ms {
        grader.figure("event time", ms, "ms");
    }
    check_other_side(grader, &gpu, product.n(), ms)
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

/// No event time was asked for at all: what else was reported?
fn no_events(grader: &Grader, record: &Record<'_>, value: &Result<f32, DriverError>) -> Finding {
    let launch = record.last_product();
    let at = grader.at(record.trace, launch);
    let figure = match value {
        Ok(ms) => f64::from(*ms),
        Err(error) => {
            let message = format!("the function returned an error: {error}");
            return Finding::new(d::RETURNED_ERROR, message);
        }
    };
    let wait = record.blocks.iter().find(|block| block.seq > launch.seq);
    let launch_ms = millis(nanos(launch.held()));
    let figure_said = show(figure);
    if let Some(wait) = wait {
        let waited = millis(nanos(wait.left - launch.entered));
        if figure >= waited && figure <= millis(nanos(record.region.host())) {
            let message =
                format!("{figure_said} is what a host clock around launch and wait reads");
            return Finding::new(d::WALL_CLOCK_AS_EVENT_TIME, message)
                .at(frame_at(grader, &wait.at), "the host waits here")
                .note("the driver was never asked for the time between two events");
        }
    }
    // A reading that came before anything waited.
    let before = record.blocks.iter().rfind(|block| block.seq < launch.seq);
    let from = before.map_or(record.region.entered, |block| block.left);
    let to = wait.map_or(record.region.left, |wait| wait.entered);
    let upper = millis(nanos(to - from) + CLOCKS_APART);
    if figure + millis(CLOCKS_APART) >= launch_ms && figure <= upper {
        let message =
            format!("{figure_said} is what the launch took; the kernel's own time is another");
        return Finding::new(d::BARE_CLOCK_AS_KERNEL_TIME, message)
            .at(at, format!("the launch came back after {}", show(launch_ms)))
            .note("the driver was never asked for the time between two events");
    }
    let message = format!("{figure_said} is nothing that was measured in this run");
    Finding::new(d::CONSTANT_FIGURE, message)
        .at(at, "this product was not timed")
        .note("the driver was never asked for the time between two events")
}

/// The pair has to stand around exactly one product on its stream, and to be read when it is there.
fn check_pair(grader: &Grader, record: &Record<'_>, pair: &Pair) -> Result<(), Finding> {
    let read_at = frame_at(grader, &pair.at);
    let problems = pair.problems();
    let has = |problem: PairProblem| problems.contains(&problem);
    let launch = record.last_product();
    let launch_at = grader.at(record.trace, launch);
    let (start, end) = (pair.start.record.as_ref(), pair.end.record.as_ref());
    let end_at = end.and_then(|record| frame_at(grader, &record.at));
    let finding = |code, message: String| Err(Finding::new(code, message));

    if has(PairProblem::SameEvent) {
        return Err(Finding::new(d::SAME_EVENT_TWICE, "one event cannot be two points in time")
            .at(read_at, "read here"));
    }
    if problems.iter().any(|problem| matches!(problem, PairProblem::NotForTiming(_))) {
        return Err(Finding::new(
            d::EVENT_WITHOUT_TIMING,
            "one of the events was made with CU_EVENT_DISABLE_TIMING",
        )
        .at(read_at, "so the driver has no time to give here"));
    }
    if problems.iter().any(|problem| matches!(problem, PairProblem::NeverRecorded(_))) {
        return finding(d::PAIR_BRACKETS_NOTHING, "one of the events was never recorded".into());
    }
    if pair.result == NOT_READY {
        return Err(Finding::new(
            d::READ_WITHOUT_WAITING,
            "the driver answered CUDA_ERROR_NOT_READY: the end was still pending",
        )
        .at(read_at, "read here"));
    }
    let Some(launched_on) = launch.op.stream() else {
        return finding(d::SETUP_FAILED, "the product has no stream".into());
    };
    let recorded_on = [start, end].map(|record| record.map(|record| record.stream));
    if recorded_on.iter().any(|stream| *stream != Some(launched_on)) {
        let events = end.map_or("another stream", |record| record.stream_name.as_str());
        return Err(if Some(launched_on) == record.given {
            let message = format!("the product ran on `gpu.stream`, and the events on {events}");
            Finding::new(d::EVENTS_ON_ANOTHER_STREAM, message)
                .at(end_at, "recorded here")
                .at(launch_at, "the product is launched here")
        } else {
            let message = "the product ran on a stream that the events know nothing of";
            Finding::new(d::PAIR_BRACKETS_NOTHING, message)
                .at(launch_at, "launched on another stream than the events'")
                .at(end_at, "recorded here")
        });
    }
    if pair.bracketed.is_empty() {
        let before = end.is_some_and(|record| record.seq < launch.seq);
        let code = if before { d::EVENTS_BEFORE_THE_LAUNCH } else { d::EVENTS_AFTER_THE_LAUNCH };
        return Err(Finding::new(code, "nothing was enqueued between the two records")
            .at(end_at, "the end is recorded here")
            .at(launch_at, "and the product is launched here"));
    }
    if let Some(warm_up) = pair.warm_ups.first() {
        let (at, what) = match warm_up {
            WarmUp::ModuleLoad { at, .. } => (frame_at(grader, at), "a module is loaded here"),
            WarmUp::FirstLaunch { work } => {
                (work_at(grader, Some(work)), "the kernel's first launch in this run")
            }
        };
        let message = "the first use of the kernel is part of the time";
        return Err(Finding::new(d::WARM_UP_INSIDE, message).at(at, what));
    }
    let others: Vec<&Work> = pair.bracketed.iter().filter(|work| work.seq != launch.seq).collect();
    if let Some(other) = others.first() {
        let message = format!("{} operations lie between the two records", pair.bracketed.len());
        return Err(Finding::new(d::PAIR_BRACKETS_MORE, message)
            .at(work_at(grader, Some(other)), format!("{} is timed, too", other.operation)));
    }
    if let (Some(start), Some(end)) = (start, end) {
        let inside = |block: &&Block| block.seq > start.seq && block.seq < end.seq;
        if let Some(wait) = record.blocks.iter().find(inside) {
            let message = "the host waits between the two records, and the device with it";
            return Err(Finding::new(d::IDLE_INSIDE_THE_PAIR, message)
                .at(frame_at(grader, &wait.at), "the host waits here")
                .at(end_at, "and the end is recorded only here"));
        }
    }
    let device = pair.device.map(|device| millis(nanos(device)));
    if let (Some(device), Some(ms)) = (device, pair.ms.map(f64::from))
        && ms > 2.0 * device + IDLE_MS
    {
        let message = format!(
            "between the two records lie {}, and the product ran for {}",
            show(ms),
            show(device)
        );
        return Err(Finding::new(d::IDLE_INSIDE_THE_PAIR, message).at(end_at, "recorded here"));
    }
    if has(PairProblem::ReadWithoutWaiting) {
        return Err(Finding::new(
            d::READ_WITHOUT_WAITING,
            "nothing made sure that the end had been passed: it was by luck",
        )
        .at(read_at, "read here"));
    }
    Ok(())
}

fn check_figure(grader: &Grader, pair: &Pair, figure: f64) -> Result<(), Finding> {
    let recorded = f64::from(pair.ms.unwrap_or(f32::NAN));
    if agree(figure, recorded) {
        return Ok(());
    }
    let message = format!(
        "the function says {}, and between its two events the driver measured {}",
        show(figure),
        show(recorded)
    );
    Err(Finding::new(d::FIGURE_DISAGREES_WITH_RECORD, message)
        .at(frame_at(grader, &pair.at), "read here"))
}

/// The same function for a product of another size: its time has to be another one, and its own.
fn check_other_side(
    grader: &mut Grader,
    gpu: &Gpu,
    side: u32,
    first: Option<f64>,
) -> Result<(), Finding> {
    let mut product = Product::new(gpu, side / 2)?;
    let run = grader.run(|| exercise::time_with_events(gpu, &mut product))?;
    let second = check_event_time(grader, &run)?;
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
    for _ in 0..3 {
        let again = grader.run(|| exercise::time_bare_clock(&gpu, &mut product))?.ok()?;
        if again.value != run.value {
            return judged;
        }
    }
    let message = format!("{} to the nanosecond, in four runs", show(millis(run.value)));
    Err(Finding::new(d::CONSTANT_FIGURE, message))
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
    let wait = record.blocks.iter().find(|block| block.seq > launch.seq);
    let waited = wait.map(|wait| nanos(wait.left - launch.entered));
    if waited.is_none_or(|waited| figure + CLOCKS_APART < waited) {
        let message = match waited {
            Some(waited) => format!(
                "the clock says {}, and the product was done after {}",
                show(millis(figure)),
                show(millis(waited))
            ),
            None => format!("the clock says {}, and nothing waited", show(millis(figure))),
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
    if record.products.len() == 1 {
        let message = "the only launch of the product in this run is the one that was timed";
        return Err(Finding::new(d::WARM_UP_INSIDE, message)
            .at(launch_at, "the kernel's first launch in this run"));
    }
    Ok(())
}

fn two_way(grader: &mut Grader) -> Result<(), Finding> {
    let gpu = Gpu::new()?;
    let mut product = Product::new(&gpu, CRITERION_SIDE)?;
    let run = grader.run(|| exercise::two_way(&gpu, &mut product))?;
    // Judged before an error is looked at: the record says more than the error.
    let event_run = Run {
        value: run.value.as_ref().map(|both| both.event_ms).map_err(|error| *error),
        trace: run.trace.clone(),
    };
    let both = match &run.value {
        Ok(both) => *both,
        Err(_) => {
            check_event_of_two(grader, &event_run)?;
            return Err(Finding::new(d::RETURNED_ERROR, "the function returned an error"));
        }
    };
    let (event, bare) = (f64::from(both.event_ms), millis(both.bare));
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

    check_event_of_two(grader, &event_run)?;
    let record = Record::of(&run.trace)?;
    check_bare_of_two(grader, &record, both.bare)?;
    if gap < GAP {
        let message = format!("{} is only {gap:.1} times {}", show(event), show(bare));
        return Err(Finding::new(d::GAP_TOO_SMALL, message));
    }
    Ok(())
}

/// In a run that times two products, the pair belongs to the one between its records.
fn check_event_of_two(grader: &Grader, run: &Run<Result<f32, DriverError>>) -> Result<(), Finding> {
    let mut record = Record::of(&run.trace)?;
    let pairs = pairs(&run.trace);
    let Some(pair) = pairs.last() else {
        // The event time comes first: a warm-up, and the product that it is of.
        record.products.truncate(2);
        return Err(no_events(grader, &record, &run.value));
    };
    // Judged as if the run had ended with the reading: what comes later is timed by the other clock.
    if let Some(read) = pair.seq {
        record.products.retain(|product| product.seq < read);
    }
    if record.products.is_empty() {
        return Err(Finding::new(d::PAIR_BRACKETS_NOTHING, "no product was launched before it"));
    }
    check_pair(grader, &record, pair)?;
    match &run.value {
        Ok(ms) => check_figure(grader, pair, f64::from(*ms)),
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
