//! What an event pair measured, and what was reported where there is none.

use std::time::Duration;

use super::{CLOCKS_APART, Record, agree, frame_at, millis, nanos, show};
use streamlings::DriverError;
use streamlings::grade::diagnosis as d;
use streamlings::grade::{At, Finding, Grader};
use streamlings::trace::blocks::Block;
use streamlings::trace::timing::{NOT_READY, Pair, PairProblem, WarmUp, Work};
use streamlings::trace::{Call, Nanos, Op};

/// Between a record and a launch lie some calls' own microseconds. A busy machine may keep the host there
/// for longer, but not in each of several runs.
const IDLE: Duration = Duration::from_millis(1);

fn work_at(grader: &Grader, work: Option<&Work>) -> Option<At> {
    frame_at(grader, &work?.at)
}

/// No event time was asked for at all: what else was reported?
pub fn no_events(
    grader: &Grader,
    record: &Record<'_>,
    value: &Result<f32, DriverError>,
) -> Finding {
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

/// The pair that a figure is of: one with that very time, else the last one.
pub fn meant<'p>(pairs: &'p [Pair], figure: &Result<f32, DriverError>) -> Option<&'p Pair> {
    let is_it = |pair: &&Pair| pair.ms.is_some() && pair.ms == figure.as_ref().ok().copied();
    pairs.iter().rfind(is_it).or(pairs.last())
}

impl Record<'_> {
    /// As if the run had ended with the product that a pair stands around, or with the last one before it
    /// was read: what comes later is timed by another clock, if at all.
    pub fn ends_with(&mut self, pair: &Pair) -> Result<(), Finding> {
        let is_in = |product: &&Call| pair.bracketed.iter().any(|work| work.seq == product.seq);
        let last = match self.products.iter().rfind(|product| is_in(product)) {
            Some(product) => Some(product.seq),
            None => pair.seq,
        };
        self.products.retain(|product| last.is_none_or(|last| product.seq <= last));
        if self.products.is_empty() {
            let message = "no product was launched before it was read";
            return Err(Finding::new(d::PAIR_BRACKETS_NOTHING, message)
                .note("the pair is read before the product is launched"));
        }
        Ok(())
    }
}

/// The pair has to stand around exactly one product on its stream, and to be read when it is there.
pub fn check_pair(grader: &Grader, record: &Record<'_>, pair: &Pair) -> Result<(), Finding> {
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
        let count = pair.bracketed.len();
        let message = format!("{count} operations lie between the two records, and one is timed");
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
    // What lies between the two records besides the launch, on the host's clock.
    let call = |seq| record.trace.calls().find(|call: &&Call| call.seq == seq);
    if let (Some(start), Some(end)) =
        (start.and_then(|s| call(s.seq)), end.and_then(|e| call(e.seq)))
    {
        let gaps = [(start.left, launch.entered), (launch.left, end.entered)];
        let idle: Nanos = gaps.iter().map(|(from, to)| to.saturating_sub(*from)).sum();
        if nanos(idle) > IDLE {
            let message = format!(
                "the host lets {} pass between the two records, besides the launch",
                show(millis(nanos(idle)))
            );
            return Err(Finding::new(d::IDLE_INSIDE_THE_PAIR, message)
                .at(grader.at(record.trace, start), "from here")
                .at(end_at, "to here"));
        }
    }
    if record.given.is_some_and(|given| given != launched_on) {
        let message = "pair and product are on a stream of their own, and not on `gpu.stream`";
        return Err(Finding::new(d::ON_ANOTHER_STREAM, message).at(launch_at, "launched here"));
    }
    // Whoever asks until there is an answer has made sure, too.
    let asked_until_there = record.trace.calls().any(|call| {
        matches!(call.op, Op::EventElapsed { end, .. } if end == pair.end.event)
            && call.result == NOT_READY
    });
    if has(PairProblem::ReadWithoutWaiting) && !asked_until_there {
        return Err(Finding::new(
            d::READ_WITHOUT_WAITING,
            "nothing made sure that the end had been passed: it was by luck",
        )
        .at(read_at, "read here"));
    }
    Ok(())
}

pub fn check_figure(grader: &Grader, pair: &Pair, figure: f64) -> Result<(), Finding> {
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
