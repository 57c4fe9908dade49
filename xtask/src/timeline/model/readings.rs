//! What the times measured that the host read.
//!
//! Of a pair of events the record has the time. What a program reads off its own clock is not in the record;
//! of a region it has what such a clock around it would have read.

use streamlings_trace::timing::{Measured, NOT_READY, Pair, Timeline as Times, Work, pairs};
use streamlings_trace::{Trace, regions::Region};

use super::bars::place;
use super::{Reading, since};
use crate::timeline::time;

/// All of them: pairs in the order of their readings, then regions in the order in which they began.
pub(super) fn readings(trace: &Trace, regions: &[Region]) -> Vec<Reading> {
    let pairs = pairs(trace)
        .into_iter()
        .map(|pair| Reading { text: of_pair(&pair).replace('`', ""), at: place(pair.at.as_ref()) });
    let times = Times::new(trace);
    let regions = regions.iter().map(|region| {
        let measured = match times.clock(region).measured {
            Measured::HostOnly => "the host's own work alone",
            Measured::EnqueueOnly => "what enqueueing took, and nothing of the work",
            Measured::EnqueueAndWait => "enqueueing, the work, and the wait for it",
            Measured::PartOfTheWork => "enqueueing, and the wait for a part of the work",
            Measured::SomethingElse => "a wait, but not for what was enqueued in it",
        };
        let took = time(since(region.entered, region.left));
        Reading { text: format!("host clock around {}: {took}, {measured}", region.name), at: None }
    });
    pairs.chain(regions).collect()
}

fn of_pair(pair: &Pair) -> String {
    let read = match pair.ms {
        Some(ms) => time((f64::from(ms) * 1e6).round() as i64),
        None if pair.result == NOT_READY => "not ready yet".to_owned(),
        None => format!("error {}", pair.result),
    };
    let mut text = format!("{} to {}: {read}, around ", pair.start.name, pair.end.name);
    let inside: Vec<&Work> = pair.bracketed.iter().chain(&pair.joined).collect();
    text += &named(&inside);
    if !pair.elsewhere.is_empty() {
        text += &format!("; beside it, but not in it: {}", named(&pair.elsewhere));
    }
    if !pair.after.is_empty() && inside.is_empty() {
        text += &format!("; enqueued behind it: {}", named(&pair.after));
    }
    text
}

/// The first few of them.
fn named<W: std::borrow::Borrow<Work>>(works: &[W]) -> String {
    const FEW: usize = 3;
    let names = works.iter().take(FEW).map(|work| {
        let work = work.borrow();
        format!("{} on {}", work.operation, work.stream_name)
    });
    let mut text = names.collect::<Vec<_>>().join(", ");
    match works.len() {
        0 => "nothing".clone_into(&mut text),
        1..=FEW => {}
        more => text += &format!(" and {} more", more - FEW),
    }
    text
}
