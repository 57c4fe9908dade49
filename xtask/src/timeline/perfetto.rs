//! The picture as a trace file for Perfetto and Chrome (the Trace Event format, JSON).
//!
//! Each run is a process, each lane a thread of it, each wait a flow. Times are in microseconds, and
//! the earliest is 0.

use serde_json::{Value, json};

use super::model::{Bar, Kind};
use super::{Picture, Run};

/// The whole document.
pub fn document(picture: &Picture) -> Value {
    let zero = picture.span().0;
    let mut events = Vec::new();
    let mut flows = 0;
    for (index, run) in picture.runs.iter().enumerate() {
        Process { run, pid: index + 1, zero }.write(&mut events, &mut flows);
    }
    json!({ "displayTimeUnit": "ms", "otherData": { "title": picture.title }, "traceEvents": events })
}

struct Process<'a> {
    run: &'a Run,
    pid: usize,
    zero: i64,
}

/// The thread of the regions' first row; lanes come after the last.
const BANDS: usize = 1;

impl Process<'_> {
    fn write(&self, events: &mut Vec<Value>, flows: &mut usize) {
        let timeline = &self.run.timeline;
        let name = format!("{} ({})", self.run.whose, self.run.device.name);
        events.push(json!({
            "ph": "M", "name": "process_name", "pid": self.pid, "tid": 0, "args": { "name": name },
        }));
        let bands = (0..timeline.band_rows()).map(|_| "regions".to_owned());
        let names = bands.chain(timeline.lanes.iter().map(|lane| lane.name.clone()));
        for (index, name) in names.enumerate() {
            let tid = BANDS + index;
            for (what, args) in [
                ("thread_name", json!({ "name": name })),
                ("thread_sort_index", json!({ "sort_index": tid })),
            ] {
                events.push(json!({
                    "ph": "M", "name": what, "pid": self.pid, "tid": tid, "args": args,
                }));
            }
        }
        for band in &timeline.bands {
            events.push(json!({
                "ph": "X", "name": band.name, "cat": "region", "pid": self.pid,
                "tid": BANDS + band.row, "ts": self.at(band.start),
                "dur": length(band.start, band.end),
            }));
        }
        events.extend(timeline.bars.iter().map(|bar| self.slice(bar)));
        for arrow in &timeline.arrows {
            *flows += 1;
            // A flow ends in the slices that are open at its times.
            for (phase, end) in [("s", arrow.from), ("f", arrow.to)] {
                let bar = &timeline.bars[end.bar];
                let mut flow = json!({
                    "ph": phase, "name": arrow.event, "cat": "wait", "id": *flows, "pid": self.pid,
                    "tid": self.tid(bar.lane), "ts": self.at(bar.start),
                });
                if phase == "f" {
                    flow["bp"] = json!("e");
                }
                events.push(flow);
            }
        }
    }

    fn tid(&self, lane: usize) -> usize {
        BANDS + self.run.timeline.band_rows() + lane
    }

    fn at(&self, time: i64) -> f64 {
        (time - self.zero) as f64 / 1e3
    }

    fn slice(&self, bar: &Bar) -> Value {
        let mut args = json!({});
        if let Some(at) = &bar.at {
            args["line"] = json!(at.to_string());
        }
        if let Some(bytes) = bar.bytes {
            args["bytes"] = json!(bytes);
        }
        if let Some(enqueued) = bar.enqueued {
            args["enqueued_us"] = json!(self.at(enqueued));
        }
        if !bar.times_known {
            args["times"] = json!("not known: drawn where the call was made");
        }
        if !bar.notes.is_empty() {
            args["notes"] = json!(bar.notes.join(" "));
        }
        let races: Vec<&str> =
            bar.races.iter().map(|race| self.run.timeline.races[*race].text.as_str()).collect();
        if !races.is_empty() {
            args["races"] = json!(races);
        }
        let mut slice = json!({
            "ph": "X", "name": bar.name, "cat": bar.kind.name(), "pid": self.pid,
            "tid": self.tid(bar.lane), "ts": self.at(bar.start),
            "dur": length(bar.start, bar.end), "args": args,
        });
        // Names of the viewers' own palette.
        if !bar.races.is_empty() {
            slice["cname"] = json!("terrible");
        } else if bar.kind == Kind::Held {
            slice["cname"] = json!("bad");
        }
        slice
    }
}

fn length(start: i64, end: i64) -> f64 {
    end.saturating_sub(start).max(0) as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::sample;
    use super::*;

    fn events() -> Vec<Value> {
        let text = document(&sample::picture()).to_string();
        let read: Value = serde_json::from_str(&text).expect("it is JSON");
        read["traceEvents"].as_array().expect("there are events").clone()
    }

    #[test]
    fn every_event_has_its_times_and_its_track() {
        let events = events();
        let mut counts = BTreeMap::new();
        for event in &events {
            let phase = event["ph"].as_str().expect("a phase");
            *counts.entry(phase.to_owned()).or_insert(0) += 1;
            assert!(event["pid"].is_u64() && event["tid"].is_u64(), "{event}");
            if phase != "M" {
                assert!(event["ts"].as_f64().is_some_and(|at| at >= 0.0), "{event}");
                let named = events.iter().any(|name| {
                    name["name"] == "thread_name"
                        && (&name["pid"], &name["tid"]) == (&event["pid"], &event["tid"])
                });
                assert!(named, "its track has no name: {event}");
            }
            if phase == "X" {
                assert!(event["dur"].as_f64().is_some_and(|length| length >= 0.0), "{event}");
            }
        }
        let runs = sample::picture().runs;
        let slices: usize =
            runs.iter().map(|r| r.timeline.bars.len() + r.timeline.bands.len()).sum();
        assert_eq!((counts["X"], counts["s"], counts["f"]), (slices, 2, 2));
    }

    #[test]
    fn flows_have_both_ends_each_in_a_slice_of_its_track() {
        let events = events();
        let at = |event: &Value, field: &str| event[field].as_f64().expect("a number");
        let mut ends: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
        for flow in events.iter().filter(|event| event["cat"] == "wait") {
            ends.entry(flow["id"].as_u64().expect("an id")).or_default().push(flow);
            let inside = events.iter().any(|slice| {
                slice["ph"] == "X"
                    && (&slice["pid"], &slice["tid"]) == (&flow["pid"], &flow["tid"])
                    && at(slice, "ts") <= at(flow, "ts")
                    && at(flow, "ts") < at(slice, "ts") + at(slice, "dur")
            });
            assert!(inside, "no slice is open: {flow}");
        }
        assert_eq!(ends.len(), 2);
        for ends in ends.values() {
            let [start, end] = ends[..] else { panic!("{ends:?}") };
            assert_eq!((&start["ph"], &end["ph"]), (&json!("s"), &json!("f")));
            assert!(at(start, "ts") <= at(end, "ts"));
        }
    }

    #[test]
    fn a_race_is_told_on_both_slices() {
        let raced: Vec<String> = events()
            .iter()
            .filter(|event| event["args"]["races"].is_array())
            .map(|event| event["name"].as_str().unwrap_or_default().to_owned())
            .collect();
        assert_eq!(raced, ["kernel sum", "kernel <b>overwrite"].repeat(2));
    }
}
