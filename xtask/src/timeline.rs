//! A picture of recorded runs: who did what when, and what waited for what.
//!
//! [`model`] makes lanes, bars, arrows and races of a trace, [`compare`] sets runs beside each other, [`focus`] says
//! what is shown first; [`html`], [`perfetto`] and [`text`] write them down. All of them are pure.

pub mod compare;
pub mod focus;
pub mod html;
pub mod model;
pub mod perfetto;
pub mod text;

#[cfg(test)]
mod sample;

use streamlings_trace::Device;

use self::model::Timeline;

/// Runs that are shown together, on one scale and aligned at their zero.
#[derive(Clone, Debug)]
pub struct Picture {
    /// What they are runs of.
    pub title: String,
    /// One below the other.
    pub runs: Vec<Run>,
}

/// One of them.
#[derive(Clone, Debug)]
pub struct Run {
    /// Whose it is: `your run`.
    pub whose: String,
    /// How its case ended, if it was graded.
    pub outcome: Option<String>,
    /// What happened, and whatever else has to be known of it: sentences.
    pub remarks: Vec<String>,
    /// The numbers that its case shows.
    pub figures: Vec<Figure>,
    /// Where it was recorded.
    pub device: Device,
    /// What is drawn.
    pub timeline: Timeline,
}

/// A number that a case shows, as a report has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Of what: `launch came back after`.
    pub what: String,
    /// With its unit: `10.5 ms`.
    pub value: String,
}

impl std::fmt::Display for Figure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.what, self.value)
    }
}

impl Run {
    /// `your run: blocked`.
    pub fn heading(&self) -> String {
        match &self.outcome {
            Some(outcome) => format!("{}: {outcome}", self.whose),
            None => self.whose.clone(),
        }
    }
}

impl Picture {
    /// From when to when anything is drawn, in nanoseconds from zero; never empty.
    pub fn span(&self) -> (i64, i64) {
        let spans = self.runs.iter().map(|run| run.timeline.span());
        let (start, end) =
            spans.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1))).unwrap_or_default();
        (start, end.max(start + 1))
    }
}

/// A time as people read it: with its unit, three digits or so.
pub fn time(nanos: i64) -> String {
    let size = nanos.unsigned_abs();
    let (unit, name) = match size {
        1_000_000_000.. => (1e9, "s"),
        1_000_000.. => (1e6, "ms"),
        1_000.. => (1e3, "us"),
        0 => return "0".to_owned(),
        _ => return format!("{nanos} ns"),
    };
    format!("{:.3} {name}", nanos as f64 / unit)
}

/// An amount of memory as people read it.
pub fn bytes(count: u64) -> String {
    match count {
        0..1024 => format!("{count} B"),
        1024..1_048_576 => format!("{:.1} KiB", count as f64 / 1024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", count as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", count as f64 / 1_073_741_824.0),
    }
}

/// Where the marks of an axis are that has `room` for so many: at 1, 2 or 5 times a power of ten.
pub fn ticks((start, end): (i64, i64), room: i64) -> Vec<i64> {
    let coarse = (end - start) / room.max(1);
    let mut step = 1;
    while step < coarse {
        step = match step.to_string().as_bytes()[0] {
            b'2' => step / 2 * 5,
            _ => step * 2,
        };
    }
    let first = start.div_euclid(step) + i64::from(start.rem_euclid(step) != 0);
    (first..=end.div_euclid(step)).map(|index| index * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(ticks((0, 10), 5), [0, 2, 4, 6, 8, 10]);
        assert_eq!(ticks((-7, 23), 4), [0, 10, 20]);
        assert_eq!(ticks((-12, -1), 2), [-10, -5]);
        for end in [1, 3, 999, 1_000_001, 7_654_321_987] {
            let found = ticks((0, end), 5);
            assert!((1..=6).contains(&found.len()), "{end}: {found:?}");
        }
    }

    #[test]
    fn units_are_people_s() {
        let times = [0, 12, -1_500, 19_020_000, 1_500_000_000].map(time);
        assert_eq!(times, ["0", "12 ns", "-1.500 us", "19.020 ms", "1.500 s"]);
        let sizes = [4, 1536, 3 << 20, 5 << 30].map(bytes);
        assert_eq!(sizes, ["4 B", "1.5 KiB", "3.0 MiB", "5.0 GiB"]);
    }
}
