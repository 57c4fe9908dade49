//! How fast the order analysis is: `cargo run --release -p streamlings-trace --example order_rate`.
//!
//! Prints accesses per second for traces of growing length, and what is still remembered at the end.
//! Making the items is not counted. The last lines are the targets' figures as JSON, for
//! `cargo xtask bench`.
//!
//! On a virtual machine with two cores of an AMD EPYC that others were using too, 8 streams and 64
//! buffers: 12 to 14 million accesses a second where each stream has its own buffers, 4.8 to 7 million
//! where every launch uses any buffer and waits for the one before it by an event (the record and the
//! wait counted in), 3 to 3.7 million where all is races. 10 million accesses took at most 1.15 times
//! as long each as 100,000 did; the whole process stayed within 5 MB.

use std::time::{Duration, Instant};

use streamlings_trace::order::Order;
use streamlings_trace::workload::{Shape, Sharing, items};

fn main() {
    println!(
        "{:>8} {:>6} {:>10} {:>12} {:>8} {:>6} {:>6}",
        "sharing", "syncs", "accesses", "accesses/s", "ns each", "kept", "races"
    );
    let mut slowest: Option<(f64, f64)> = None;
    for sharing in [Sharing::Own, Sharing::Chained, Sharing::Racing] {
        for sync_every in [1024, 0] {
            let rates = [100_000, 1_000_000, 10_000_000].map(|accesses| {
                report(Shape { accesses, sync_every, sharing, ..Shape::default() })
            });
            // A program that does nothing but race is no measure of one that is in order.
            if sharing != Sharing::Racing {
                let growth = rates[0] / rates[2];
                let (rate, most) = slowest.unwrap_or((f64::INFINITY, 0.0));
                slowest = Some((rate.min(rates[1]), most.max(growth)));
            }
        }
    }
    let (rate, growth) = slowest.unwrap_or_default();
    figure(
        "order analysis: slowest of the programs in order, 1 M accesses",
        rate / 1e6,
        "M/s",
        "at least 5",
        rate >= 5e6,
    );
    figure(
        "order analysis: time an access, 10 M against 100 k",
        growth,
        "times",
        "at most 1.3",
        growth <= 1.3,
    );
}

fn figure(what: &str, figure: f64, unit: &str, target: &str, met: bool) {
    println!(
        r#"{{"what":"{what}","figure":{figure},"unit":"{unit}","target":"{target}","against":"8 streams, 64 buffers, one core","met":{met}}}"#
    );
}

/// Measures one shape; accesses a second.
fn report(shape: Shape) -> f64 {
    let repeats = if shape.accesses > 1_000_000 { 3 } else { 7 };
    let mut runs: Vec<Run> = (0..repeats).map(|_| run(shape)).collect();
    runs.sort_by_key(|run| run.time);
    let Run { time, kept, races } = runs[runs.len() / 2];
    let rate = shape.accesses as f64 / time.as_secs_f64();
    let syncs = if shape.sync_every > 0 { "yes" } else { "no" };
    let (sharing, accesses) = (format!("{:?}", shape.sharing), shape.accesses);
    println!(
        "{sharing:>8} {syncs:>6} {accesses:>10} {rate:>12.0} {:>8.1} {kept:>6} {races:>6}",
        1e9 / rate
    );
    rate
}

struct Run {
    time: Duration,
    kept: usize,
    races: usize,
}

fn run(shape: Shape) -> Run {
    let mut order = Order::new();
    let mut time = Duration::ZERO;
    let mut items = items(shape);
    let mut chunk = Vec::new();
    loop {
        chunk.clear();
        chunk.extend(items.by_ref().take(8192));
        if chunk.is_empty() {
            break;
        }
        let start = Instant::now();
        for item in &chunk {
            order.item(item);
        }
        time += start.elapsed();
    }
    let races = order.races().len();
    assert_eq!(races > 0, shape.sharing == Sharing::Racing, "{shape:?}");
    Run { time, kept: order.remembered(), races }
}
