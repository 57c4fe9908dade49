//! What goes from one bar to another: waits and races.

use std::collections::BTreeMap;
use std::ops::Bound;

use streamlings_trace::order::report::Race;
use streamlings_trace::{EventId, Op, Seq, StreamId, Trace};

use super::bars::{Maker, operation};
use super::{Arrow, End, LaneId, RaceLine};

impl Maker {
    /// The bar of a call: its operation's if it has one. Bars are in the order of their calls.
    fn bar_of(&self, seq: Seq) -> Option<usize> {
        let after = self.bars.partition_point(|bar| bar.seq <= seq);
        let last = after.checked_sub(1)?;
        (self.bars[last].seq == seq).then_some(last)
    }

    /// Races as lines; their bars learn of them.
    pub fn races(&mut self, races: &[Race]) -> Vec<RaceLine> {
        let mut lines = Vec::new();
        for (index, race) in races.iter().enumerate() {
            let bars = self.bar_of(race.earlier.seq).zip(self.bar_of(race.later.seq));
            for bar in bars.into_iter().flat_map(|(one, other)| [one, other]) {
                self.bars[bar].races.push(index);
            }
            lines.push(RaceLine { text: race.to_string(), bars });
        }
        lines
    }

    /// Waits as arrows; their bars learn of them.
    pub fn arrows(&mut self, trace: &Trace) -> Vec<Arrow> {
        // The operations of each stream, by their calls.
        let mut work: BTreeMap<StreamId, BTreeMap<Seq, usize>> = BTreeMap::new();
        for call in trace.calls() {
            let bar = operation(call).zip(self.bar_of(call.seq));
            if let Some(((stream, ..), bar)) = bar {
                work.entry(stream).or_default().insert(call.seq, bar);
            }
        }
        let none = BTreeMap::new();
        let mut records: BTreeMap<EventId, (StreamId, Seq)> = BTreeMap::new();
        let mut arrows = Vec::new();
        for call in trace.calls().filter(|call| call.result == 0) {
            let (event, stream) = match call.op {
                Op::EventRecord { event, stream } => {
                    records.insert(event, (stream, call.seq));
                    continue;
                }
                Op::StreamWait { event, stream } => (event, stream),
                _ => continue,
            };
            let Some((from, recorded)) = records.get(&event).copied() else { continue };
            let (Some(record), Some(wait)) = (self.bar_of(recorded), self.bar_of(call.seq)) else {
                continue;
            };
            if from == stream {
                continue;
            }
            let before = work.get(&from).unwrap_or(&none).range(..recorded).next_back();
            let after = work.get(&stream).unwrap_or(&none);
            let after = after.range((Bound::Excluded(call.seq), Bound::Unbounded)).next();
            let (before, after) = (before.map(|(_, bar)| *bar), after.map(|(_, bar)| *bar));
            // Times of the host and of the device would be mixed if one of the two has none.
            let known = |bar: Option<usize>| bar.is_none_or(|bar| self.bars[bar].times_known);
            let on_device = known(before) && known(after);
            let on_device = |bar: Option<usize>| bar.filter(|_| on_device);
            let left = on_device(before).map_or(self.bars[record].end, |bar| self.bars[bar].end);
            let reached = on_device(after).map_or(self.bars[wait].end, |bar| self.bars[bar].start);
            let from = End {
                lane: self.lane(LaneId::Stream(from)),
                at: left,
                bar: before.unwrap_or(record),
            };
            let to = End {
                lane: self.lane(LaneId::Stream(stream)),
                at: reached,
                bar: after.unwrap_or(wait),
            };
            let event = self.names.event(event).replace('`', "");
            let (one, other) = (self.bars[from.bar].name.clone(), self.bars[to.bar].name.clone());
            self.bars[from.bar].notes.push(format!("The {other} waits for it ({event})."));
            self.bars[to.bar].notes.push(format!("It waits for the {one} ({event})."));
            arrows.push(Arrow { event, from, to });
        }
        arrows
    }
}
