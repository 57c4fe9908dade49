//! What the record says of the phases: their work, the events around them, and the times between.

use std::collections::BTreeMap;

use streamlings::Phase;
use streamlings::grade::diagnosis as d;
use streamlings::grade::{At, Finding, Grader};
use streamlings::trace::regions::regions_named;
use streamlings::trace::timing::{NOT_READY, Pair, PairProblem, Recorded, pairs};
use streamlings::trace::{Call, Frame, Op, Seq, StreamId, Trace};

/// Two figures of the same thing: within 2 % or 10 us.
pub fn agree(figure: f64, recorded: f64) -> bool {
    (figure - recorded).abs() <= (recorded.abs() * 0.02).max(0.010)
}

/// A time as a sentence has it.
pub fn show(ms: f64) -> String {
    format!("{ms:.3} ms")
}

pub fn frame_at(grader: &Grader, frame: &Option<Frame>) -> Option<At> {
    grader.frame_at(frame.as_ref()?)
}

/// A run of the learner's function.
pub struct Record {
    pub trace: Trace,
    /// What each phase put on its stream, step by step, in the order of [`Phase::ALL`].
    work: [Vec<Vec<Seq>>; 4],
    /// The times that the driver was asked for.
    pairs: Vec<Pair>,
}

impl Record {
    /// Lays a run out.
    ///
    /// # Errors
    /// Where a phase did not run once for each of `steps` batches.
    pub fn of(trace: Trace, steps: usize) -> Result<Record, Finding> {
        let is_work = |call: &Call| call.op.is_work() && call.succeeded();
        let work = Phase::ALL.map(|phase| -> Vec<Vec<Seq>> {
            let regions = regions_named(&trace, phase.name());
            let work = regions.iter().map(|region| region.calls(&trace).filter(|c| is_work(c)));
            work.map(|calls| calls.map(|call| call.seq).collect()).collect()
        });
        for (phase, work) in Phase::ALL.into_iter().zip(&work) {
            if work.len() != steps {
                let (name, ran) = (phase.name(), work.len());
                let message = format!("{name} ran {ran} times, and there are {steps} batches");
                return Err(Finding::new(d::WRONG_VALUE, message));
            }
        }
        let pairs = pairs(&trace);
        Ok(Record { trace, work, pairs })
    }

    pub fn steps(&self) -> usize {
        self.work[0].len()
    }

    /// What a phase put on its stream.
    pub fn work(&self, phase: Phase, step: usize) -> &[Seq] {
        &self.work[phase as usize][step]
    }

    fn call(&self, seq: Seq) -> Option<&Call> {
        self.trace.calls().find(|call| call.seq == seq)
    }

    /// The learner's line of a call.
    pub fn at(&self, grader: &Grader, seq: Seq) -> Option<At> {
        grader.at(&self.trace, self.call(seq)?)
    }

    /// The stream of a phase.
    pub fn stream(&self, phase: Phase, step: usize) -> Option<StreamId> {
        self.call(*self.work(phase, step).first()?)?.op.stream()
    }

    /// The pair that stands around exactly this phase; the tightest one, where several do.
    pub fn pair(&self, phase: Phase, step: usize) -> Option<&Pair> {
        let work = self.work(phase, step);
        let is_around = |pair: &&Pair| {
            let inside = pair.bracketed.iter().map(|work| &work.seq);
            !work.is_empty() && inside.eq(work) && pair.joined.is_empty()
        };
        self.pairs.iter().filter(is_around).min_by_key(|pair| width(pair))
    }

    /// Every phase has a pair of its own, made for timing, read when it was over, without a wait in it.
    pub fn check_pairs(&self, grader: &Grader) -> Result<(), Finding> {
        if self.pairs.is_empty() {
            let message = "the driver was never asked for the time between two events";
            return Err(Finding::new(d::BARE_CLOCK_AS_KERNEL_TIME, message));
        }
        for pair in &self.pairs {
            let problems = pair.problems();
            let read_at = frame_at(grader, &pair.at);
            let is_untimed =
                |problem: &PairProblem| matches!(problem, PairProblem::NotForTiming(_));
            if problems.iter().any(is_untimed) {
                let message = "an event was made with CU_EVENT_DISABLE_TIMING";
                return Err(Finding::new(d::EVENT_WITHOUT_TIMING, message).at(read_at, "read here"));
            }
            if pair.result == NOT_READY || problems.contains(&PairProblem::ReadWithoutWaiting) {
                let message = "nothing made sure that the second event had been passed";
                return Err(Finding::new(d::READ_WITHOUT_WAITING, message).at(read_at, "read here"));
            }
        }
        for step in 0..self.steps() {
            for phase in Phase::ALL {
                self.check_pair(grader, phase, step)?;
            }
        }
        Ok(())
    }

    fn check_pair(&self, grader: &Grader, phase: Phase, step: usize) -> Result<(), Finding> {
        let work = self.work(phase, step);
        let (Some(first), Some(last)) = (work.first(), work.last()) else { return Ok(()) };
        let work_at = self.at(grader, *first);
        let name = format!("{} {step}", phase.name());
        let Some(pair) = self.pair(phase, step) else {
            let around = |pair: &&Pair| {
                ends(pair).is_some_and(|(start, end)| start.seq < *first && *last < end.seq)
            };
            // The tightest one.
            let pair = self.pairs.iter().filter(around).min_by_key(|pair| width(pair));
            let elsewhere = pair.and_then(ends).is_some_and(|(start, end)| {
                let stream = self.stream(phase, step);
                Some(start.stream) != stream && Some(end.stream) != stream
            });
            let message = format!("no pair of events stands around exactly {name}");
            let code = if elsewhere { d::EVENTS_ON_ANOTHER_STREAM } else { d::PHASE_BOUNDARY };
            let end = pair.and_then(ends).map(|(_, end)| end);
            return Err(Finding::new(code, message)
                .at(work_at, "this is to be timed")
                .at(end.and_then(|end| frame_at(grader, &end.at)), "the event behind it"));
        };
        let Some((start, end)) = ends(pair) else { return Ok(()) };
        let wait = self.trace.calls().find(|call| {
            let between = start.seq < call.seq && call.seq < end.seq;
            between && self.waits_for_another(call, start.stream)
        });
        if let Some(wait) = wait {
            let message = format!("the pair around {name} times a wait for another stream, too");
            return Err(Finding::new(d::WAIT_INSIDE_THE_PHASE, message)
                .at(grader.at(&self.trace, wait), "the stream waits here")
                .at(frame_at(grader, &start.at), "and the first event is recorded here"));
        }
        Ok(())
    }

    /// Whether a call makes `stream` wait for work of another one.
    fn waits_for_another(&self, call: &Call, stream: StreamId) -> bool {
        let Op::StreamWait { event, stream: waiting } = call.op else { return false };
        let bound =
            self.trace.calls().filter(|record| record.seq < call.seq).filter_map(|record| {
                match record.op {
                    Op::EventRecord { event: this, stream } if this == event => Some(stream),
                    _ => None,
                }
            });
        waiting == stream && bound.last().is_some_and(|on| on != stream)
    }

    /// The first and the last record of an event that was used for timing; of any, if none was.
    pub fn first_and_last_event(&self) -> Option<(Seq, Seq)> {
        let mut seqs: Vec<Seq> = self
            .pairs
            .iter()
            .filter_map(ends)
            .flat_map(|(start, end)| [start.seq, end.seq])
            .collect();
        if seqs.is_empty() {
            let is_record = |call: &&Call| matches!(call.op, Op::EventRecord { .. });
            seqs = self.trace.calls().filter(is_record).map(|call| call.seq).collect();
        }
        seqs.iter().min().copied().zip(seqs.iter().max().copied())
    }

    /// When each event was passed, in milliseconds from the beginning of the first upload, as far as
    /// the driver's answers tell.
    fn passed(&self) -> BTreeMap<Seq, f64> {
        let mut passed = BTreeMap::new();
        if let Some((start, _)) = self.pair(Phase::Upload, 0).and_then(ends) {
            passed.insert(start.seq, 0.0);
        }
        loop {
            let known = passed.len();
            for pair in &self.pairs {
                let (Some((start, end)), Some(ms)) = (ends(pair), pair.ms) else { continue };
                let (ms, start, end) = (f64::from(ms), start.seq, end.seq);
                match (passed.get(&start).copied(), passed.get(&end).copied()) {
                    (Some(at), None) => {
                        passed.insert(end, at + ms);
                    }
                    (None, Some(at)) => {
                        passed.insert(start, at - ms);
                    }
                    _ => {}
                }
            }
            if passed.len() == known {
                return passed;
            }
        }
    }

    /// When a phase began, in milliseconds from the beginning of the first upload, if the driver was
    /// asked for it.
    pub fn start(&self, phase: Phase, step: usize) -> Option<f64> {
        let (start, _) = ends(self.pair(phase, step)?)?;
        self.passed().get(&start.seq).copied()
    }

    /// From the beginning of the first upload to the end of the last step, if the driver was asked for
    /// what it takes to know it.
    pub fn whole(&self) -> Option<f64> {
        let (_, end) = ends(self.pair(Phase::Step, self.steps().checked_sub(1)?)?)?;
        self.passed().get(&end.seq).copied()
    }
}

fn ends(pair: &Pair) -> Option<(&Recorded, &Recorded)> {
    pair.start.record.as_ref().zip(pair.end.record.as_ref())
}

/// How far its two records are apart in the order of calls.
fn width(pair: &Pair) -> Option<u64> {
    ends(pair).map(|(start, end)| end.seq.0.abs_diff(start.seq.0))
}

/// A phase as the timeline shows it.
pub struct Bar {
    pub name: String,
    pub start_ms: f64,
    pub ms: f64,
    /// The row, as it is written.
    pub row: String,
}

/// The unit that a bar's times are right in, where it is another one than the format's.
pub fn other_unit(bar: &Bar, start_ms: f64, ms: f64) -> Option<&'static str> {
    // As a share: a time that is in another unit is too short, or too long, for `agree`.
    let near = |shown: f64, said: f64| (shown - said).abs() <= said.abs() * 0.01;
    let units = [("milliseconds", 1e3), ("seconds", 1e6), ("nanoseconds", 1e-3)];
    let unit = units
        .into_iter()
        .find(|(_, factor)| near(bar.ms * factor, ms) && near(bar.start_ms * factor, start_ms));
    unit.filter(|_| !near(bar.ms, ms)).map(|(unit, _)| unit)
}

/// The complete events (`"ph": "X"`) of a timeline in Chrome's trace format.
pub fn shown(timeline: &str) -> Result<Vec<Bar>, Finding> {
    let no_trace = |why: String| {
        let message = format!("the timeline is not in Chrome's trace format: {why}");
        Finding::new(d::WRONG_VALUE, message)
    };
    let parsed: serde_json::Value =
        serde_json::from_str(timeline).map_err(|error| no_trace(error.to_string()))?;
    let events = parsed.get("traceEvents").unwrap_or(&parsed).as_array();
    let events = events.ok_or_else(|| no_trace("there is no array".to_owned()))?;
    let events = events.iter().filter(|event| event["ph"] == "X");
    events
        .map(|event| {
            let number = |key: &str| {
                event[key].as_f64().ok_or_else(|| no_trace(format!("`{key}` is no number")))
            };
            let name = event["name"].as_str().unwrap_or_default().to_owned();
            let row = format!("{} {}", event["pid"], event["tid"]);
            Ok(Bar { name, start_ms: number("ts")? / 1e3, ms: number("dur")? / 1e3, row })
        })
        .collect()
}
