//! How long calls usually take.

use crate::model::Nanos;

/// How long enqueueing calls take, by powers of two: tells a call that waited from one that did not,
/// on whatever machine the trace comes from.
#[derive(Debug)]
pub(super) struct Histogram {
    buckets: [u64; 65],
    count: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { buckets: [0; 65], count: 0 }
    }
}

impl Histogram {
    fn bucket(time: Nanos) -> usize {
        (64 - time.leading_zeros()) as usize
    }

    pub fn add(&mut self, time: Nanos) {
        self.buckets[Histogram::bucket(time)] += 1;
        self.count += 1;
    }

    /// Whether a call took at least four times the median.
    pub fn stands_out(&self, time: Nanos) -> bool {
        let mut below = 0;
        let median = self.buckets.iter().position(|count| {
            below += count;
            below * 2 >= self.count
        });
        Histogram::bucket(time) >= median.unwrap_or(0) + 3
    }
}
