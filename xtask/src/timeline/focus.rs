//! What a page shows first: the part of the code that is graded.
//!
//! A case may keep a stream busy for milliseconds, so that work of microseconds has something to wait behind. On
//! one scale that is all that can be seen. So time in which nothing but the grader's own work ran is cut out,
//! if most of the picture is that. Time in which nothing ran, or in which a call of the code that is graded held
//! the host, stays: it is that code's doing.

use super::Picture;

/// Part of the picture, in nanoseconds from its zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// When it begins.
    pub from: i64,
    /// When it ends.
    pub to: i64,
    /// Whether it is cut out.
    pub cut: bool,
}

impl Stretch {
    fn length(self) -> i64 {
        self.to - self.from
    }
}

/// What is shown and what is cut out of a picture from `start` to `end`, in order; nothing if it is best shown
/// whole.
pub fn stretches(picture: &Picture, (start, end): (i64, i64)) -> Vec<Stretch> {
    let bars = |graders: bool| {
        let bars = picture.runs.iter().flat_map(|run| &run.timeline.bars);
        merged(bars.filter(|bar| bar.graders == graders).map(|bar| (bar.start, bar.end)).collect())
    };
    let (graded, graders) = (bars(false), bars(true));
    let (Some(first), Some(last)) = (graded.first(), graded.last()) else { return Vec::new() };
    // Before and after all that is drawn there is nothing to be seen.
    let (begun, over) = picture.span();
    let graders = merged(graders.into_iter().chain([(start, begun), (over, end)]).collect());

    let between = graded.windows(2).map(|pair| (pair[0].1, pair[1].0));
    let gaps = [(start, first.0)].into_iter().chain(between).chain([(last.1, end)]);
    let long = (end - start) / 20;
    let cuts = gaps.filter(|(from, to)| {
        let filled: i64 =
            graders.iter().map(|bar| (bar.1.min(*to) - bar.0.max(*from)).max(0)).sum();
        to - from > long && filled >= (to - from) / 10 * 9
    });
    let cuts: Vec<(i64, i64)> = cuts.collect();
    let cut: i64 = cuts.iter().map(|(from, to)| to - from).sum();
    if cut < (end - start) / 2 {
        return Vec::new();
    }

    // What stands beside a cut keeps a little room.
    let drawn: i64 = cuts.iter().map(|(from, to)| to.min(&over) - from.max(&begun)).sum();
    let room = (over - begun - drawn) / 20 + 1;
    let mut stretches = vec![Stretch { from: begun - room, to: over + room, cut: false }];
    for (from, to) in cuts {
        let Some(whole) = stretches.pop() else { break };
        let (from, to) = (
            if from == start { from } else { from + room },
            if to == end { to } else { to - room },
        );
        stretches.push(Stretch { to: from, ..whole });
        stretches.push(Stretch { from, to, cut: true });
        stretches.push(Stretch { from: to, ..whole });
    }
    stretches.retain(|stretch| stretch.length() > 0);
    stretches
}

/// How much of the picture's width a cut takes at most, and all of them together, in per cent.
const CUT: f64 = 4.0;
const CUTS: f64 = 30.0;

/// From where to where each stretch is shown, in per cent of the picture's width.
pub fn places(stretches: &[Stretch]) -> Vec<(f64, f64)> {
    let cuts = stretches.iter().filter(|stretch| stretch.cut).count() as f64;
    let each = CUT.min(CUTS / cuts.max(1.0));
    let shown = stretches.iter().filter(|stretch| !stretch.cut).map(|stretch| stretch.length());
    let scale = (100.0 - each * cuts) / shown.sum::<i64>().max(1) as f64;
    let mut at = 0.0;
    let place = |stretch: &Stretch| {
        let from = at;
        at += if stretch.cut { each } else { stretch.length() as f64 * scale };
        (from, at)
    };
    stretches.iter().map(place).collect()
}

/// Intervals in order, and those that touch as one.
fn merged(mut intervals: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    intervals.sort_unstable();
    let mut merged: Vec<(i64, i64)> = Vec::new();
    for (from, to) in intervals {
        match merged.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    /// A picture of two runs, of bars that are the grader's own or not.
    fn picture(runs: [&[(i64, i64, bool)]; 2]) -> Picture {
        let mut picture = sample::picture();
        for (run, bars) in picture.runs.iter_mut().zip(runs) {
            let one = run.timeline.bars[0].clone();
            run.timeline.bands.clear();
            run.timeline.bars.clear();
            for &(start, end, graders) in bars {
                run.timeline.bars.push(super::super::model::Bar {
                    start,
                    end,
                    graders,
                    ..one.clone()
                });
            }
        }
        picture
    }

    fn shown(runs: [&[(i64, i64, bool)]; 2]) -> Vec<(i64, i64, bool)> {
        let stretches = stretches(&picture(runs), (-100, 10_100));
        stretches.into_iter().map(|stretch| (stretch.from, stretch.to, stretch.cut)).collect()
    }

    const SPIN: (i64, i64, bool) = (0, 10_000, true);

    #[test]
    fn the_graders_time_alone_is_cut() {
        // A launch, and what it launched behind the spin; the other run's is a little later.
        let run = [SPIN, (1000, 1040, false), (9980, 10_000, false)];
        let other = [SPIN, (1010, 1060, false), (9970, 9990, false)];
        let expected =
            [(-100, 995, true), (995, 1065, false), (1065, 9965, true), (9965, 10_005, false)];
        assert_eq!(shown([&run, &other]), expected);
    }

    #[test]
    fn what_the_graded_code_does_is_not_cut() {
        let launch = (10, 20, false);
        // Its own kernel, a wait of its own, a pause of its own, a spin that is short.
        assert_eq!(shown([&[(0, 10_000, false)], &[]]), []);
        assert_eq!(shown([&[SPIN, launch, (20, 9000, false)], &[]]), []);
        assert_eq!(shown([&[launch, (9990, 10_000, false)], &[]]), []);
        assert_eq!(shown([&[(0, 4000, true), launch, (4000, 10_000, false)], &[]]), []);
        // Nothing is graded, or nothing is drawn.
        assert_eq!(shown([&[SPIN], &[SPIN]]), []);
        assert_eq!(shown([&[], &[]]), []);
        // The other run waits where this one does nothing.
        assert_eq!(shown([&[SPIN, launch], &[SPIN, (20, 9000, false)]]), []);
    }

    #[test]
    fn stretches_fill_the_width_in_order() {
        let run = [SPIN, (0, 40, false), (5000, 5010, false), (9980, 10_000, false)];
        let stretches = stretches(&picture([&run, &[]]), (-100, 10_100));
        let places = places(&stretches);
        assert_eq!(stretches.iter().filter(|stretch| stretch.cut).count(), 2);
        assert!(places.windows(2).all(|pair| pair[0].1 == pair[1].0), "{places:?}");
        assert!(
            places[0].0 == 0.0 && (places[places.len() - 1].1 - 100.0).abs() < 1e-9,
            "{places:?}"
        );
        for (stretch, place) in stretches.iter().zip(&places) {
            let width = place.1 - place.0;
            assert!(
                if stretch.cut { width == CUT } else { width > CUT },
                "{stretch:?} at {place:?}"
            );
        }
    }
}
