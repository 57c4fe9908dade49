//! How much of each copy ran beside kernels.
//!
//! Answered from when operations ran on the device, so only where the trace says so: work without
//! known times is counted in [`Overlap::unknown`] and otherwise left out.

use crate::model::{Call, Frame, MemoryKind, Nanos, Op, Seq, Span, StreamId, Trace};
use crate::names::Names;
use crate::regions::Region;

/// A copy between host and device.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyOverlap {
    /// The call that enqueued it.
    pub seq: Seq,
    /// `upload` or `download`.
    pub operation: String,
    /// Its stream.
    pub stream: StreamId,
    /// The stream as it stands in a sentence.
    pub stream_name: String,
    /// The learner's line.
    pub at: Option<Frame>,
    /// How many bytes it moved.
    pub bytes: u64,
    /// When it ran.
    pub ran: Span,
    /// For how long of that at least one kernel ran.
    pub beside_kernels: Nanos,
}

/// Copies and kernels side by side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overlap {
    /// The copies between host and device, in the order of their calls.
    pub copies: Vec<CopyOverlap>,
    /// For how long at least one such copy ran.
    pub copying: Nanos,
    /// For how long at least one kernel ran.
    pub computing: Nanos,
    /// For how long both did.
    pub both: Nanos,
    /// How many copies and kernels are left out because their times are not known.
    pub unknown: usize,
}

impl Overlap {
    /// For how long both could have run at best: the shorter of the two.
    pub fn possible(&self) -> Nanos {
        self.copying.min(self.computing)
    }

    /// How much of what was possible ran side by side, from 0 to 1; `None` if nothing was possible.
    pub fn share(&self) -> Option<f64> {
        let possible = self.possible();
        (possible > 0).then(|| self.both as f64 / possible as f64)
    }
}

/// How the copies of a whole trace ran beside its kernels.
pub fn overlap(trace: &Trace) -> Overlap {
    among(trace, trace.calls())
}

/// The same of the work that was enqueued while a region lasted.
pub fn overlap_in(trace: &Trace, region: &Region) -> Overlap {
    among(trace, region.calls(trace))
}

fn among<'a>(trace: &'a Trace, calls: impl Iterator<Item = &'a Call>) -> Overlap {
    let names = Names::of(trace);
    let mut overlap = Overlap::default();
    let mut kernels = Vec::new();
    for call in calls.filter(|call| call.succeeded()) {
        let copy = match &call.op {
            Op::Launch { .. } => None,
            Op::Copy { stream, src, dst, .. } => {
                let device = [src, dst].map(|place| place.memory == MemoryKind::Device);
                if device[0] == device[1] {
                    continue;
                }
                Some((*stream, src.range.len()))
            }
            _ => continue,
        };
        match (call.ran, copy) {
            (None, _) => overlap.unknown += 1,
            (Some(ran), None) => kernels.push(ran),
            (Some(ran), Some((stream, bytes))) => overlap.copies.push(CopyOverlap {
                seq: call.seq,
                operation: names.operation(call),
                stream,
                stream_name: names.stream(stream),
                at: names.at(call.stack).cloned(),
                bytes,
                ran,
                beside_kernels: 0,
            }),
        }
    }
    let kernels = union(kernels);
    for copy in &mut overlap.copies {
        copy.beside_kernels = common(&[copy.ran], &kernels);
    }
    let copies = union(overlap.copies.iter().map(|copy| copy.ran).collect());
    overlap.copying = copies.iter().map(|span| span.len()).sum();
    overlap.computing = kernels.iter().map(|span| span.len()).sum();
    overlap.both = common(&copies, &kernels);
    overlap
}

/// The same time as spans that do not touch, in order.
fn union(mut spans: Vec<Span>) -> Vec<Span> {
    spans.retain(|span| !span.is_empty());
    spans.sort_by_key(|span| span.start);
    let mut whole: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match whole.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => whole.push(span),
        }
    }
    whole
}

/// For how long both of two unions run.
fn common(one: &[Span], two: &[Span]) -> Nanos {
    let (mut i, mut j, mut time) = (0, 0, 0);
    while let (Some(a), Some(b)) = (one.get(i), two.get(j)) {
        time += a.end.min(b.end).saturating_sub(a.start.max(b.start));
        if a.end <= b.end {
            i += 1;
        } else {
            j += 1;
        }
    }
    time
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::build::Builder;
    use crate::model::{NameId, Place, Range};

    fn trace(copies: &[(u64, u64)], kernels: &[(u64, u64)]) -> Trace {
        let mut b = Builder::new();
        let place = |memory| Place { range: Range::new(0, 64), memory };
        let (src, dst) = (place(MemoryKind::Pinned), place(MemoryKind::Device));
        let copy = Op::Copy { stream: StreamId(1), asynchronous: true, src, dst };
        let kernel = Op::Launch {
            stream: StreamId(2),
            kernel: NameId(0),
            accesses: vec![],
            assumed: false,
            blocks: 1,
        };
        for (op, spans) in [(copy, copies), (kernel, kernels)] {
            for (start, end) in spans {
                let ran = Span { start: *start, end: *end };
                b.call("call", op.clone()).last(|call| call.ran = Some(ran));
            }
        }
        b.trace()
    }

    #[rstest]
    #[case::apart(&[(0, 10)], &[(10, 20)], &[0], 0)]
    #[case::inside(&[(5, 10)], &[(0, 20)], &[5], 5)]
    #[case::across(&[(5, 25)], &[(0, 10), (20, 30)], &[10], 10)]
    #[case::two_kernels_at_once(&[(0, 10)], &[(0, 8), (2, 10)], &[10], 10)]
    #[case::two_copies_at_once(&[(0, 10), (5, 15)], &[(0, 12)], &[10, 7], 12)]
    #[case::backwards(&[(10, 0)], &[(0, 12)], &[0], 0)]
    fn measures(
        #[case] copies: &[(u64, u64)],
        #[case] kernels: &[(u64, u64)],
        #[case] beside: &[u64],
        #[case] both: u64,
    ) {
        let found = overlap(&trace(copies, kernels));
        let each: Vec<u64> = found.copies.iter().map(|copy| copy.beside_kernels).collect();
        assert_eq!((each.as_slice(), found.both), (beside, both));
    }

    #[test]
    fn share_is_of_the_shorter_side() {
        let found = overlap(&trace(&[(0, 100)], &[(90, 110)]));
        assert_eq!((found.possible(), found.share()), (20, Some(0.5)));
        assert_eq!(overlap(&trace(&[], &[(0, 1)])).share(), None);
    }

    #[test]
    fn counts_what_it_does_not_know() {
        let mut b = Builder::new();
        b.call("cuLaunchKernel", Op::HostFunc { stream: StreamId(1) });
        let place = |memory| Place { range: Range::new(0, 64), memory };
        let (src, dst) = (place(MemoryKind::Device), place(MemoryKind::Pinned));
        b.call("copy", Op::Copy { stream: StreamId(1), asynchronous: true, src, dst });
        let found = overlap(&b.trace());
        assert_eq!((found.unknown, found.copies.len()), (1, 0));
    }
}
