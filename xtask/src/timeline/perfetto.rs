//! The picture as a trace file for Perfetto and Chrome (the Trace Event format, JSON).
//!
//! Each run is a process, each lane a thread of it, each wait a flow. Times are in microseconds, and
//! the earliest is 0. What is on one thread has to nest, so operations whose times are not known, which stand
//! where they were enqueued, have threads of their own.

use serde_json::{Value, json};

use super::model::{Bar, Kind};
use super::{Picture, Run};

/// The whole document.
pub fn document(picture: &Picture) -> Value {
    let zero = picture.span().0;
    let mut events = Vec::new();
    let mut flows = 0;
    for (index, run) in picture.runs.iter().enumerate() {
        Process { run, pid: PROCESSES + index, zero }.write(&mut events, &mut flows);
    }
    json!({ "displayTimeUnit": "ms", "otherData": { "title": picture.title }, "traceEvents": events })
}

struct Process<'a> {
    run: &'a Run,
    pid: usize,
    zero: i64,
}

/// The first run's process. A thread of a process's own number is its main thread to Perfetto, and goes
/// before the others; so no thread has as high a number.
const PROCESSES: usize = 10_001;

/// The thread of the regions' first row; lanes come after the last.
const BANDS: usize = 1;

impl Process<'_> {
    fn write(&self, events: &mut Vec<Value>, flows: &mut usize) {
        let timeline = &self.run.timeline;
        let name = format!("{} ({})", self.run.whose, self.run.device.name);
        for (what, args) in [
            ("process_name", json!({ "name": name })),
            ("process_sort_index", json!({ "sort_index": self.pid })),
        ] {
            events.push(json!({
                "ph": "M", "name": what, "pid": self.pid, "tid": 0, "args": args,
            }));
        }
        let bands = (0..timeline.band_rows()).map(|_| "regions".to_owned());
        let lanes = timeline.lanes.iter().map(|lane| lane.name.clone());
        let enqueued = timeline.lanes.iter().map(|lane| format!("{}, when enqueued", lane.name));
        for (index, name) in bands.chain(lanes).chain(enqueued).enumerate() {
            let tid = BANDS + index;
            // No track without anything on it but a lane's.
            let in_use = |bar: &Bar| !bar.times_known && self.tid(bar) == tid;
            if index >= timeline.band_rows() + timeline.lanes.len()
                && !timeline.bars.iter().any(in_use)
            {
                continue;
            }
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
            let [from, to] = [arrow.from, arrow.to].map(|end| &timeline.bars[end.bar]);
            // One that goes back in time, for want of a time on the device, is not shown at all.
            if from.start > to.start {
                continue;
            }
            *flows += 1;
            // A flow ends in the slices that are open at its times.
            for (phase, bar) in [("s", from), ("f", to)] {
                let mut flow = json!({
                    "ph": phase, "name": arrow.event, "cat": "wait", "id": *flows, "pid": self.pid,
                    "tid": self.tid(bar), "ts": self.at(bar.start),
                });
                if phase == "f" {
                    flow["bp"] = json!("e");
                }
                events.push(flow);
            }
        }
    }

    fn tid(&self, bar: &Bar) -> usize {
        let timeline = &self.run.timeline;
        let lane = if bar.times_known { bar.lane } else { timeline.lanes.len() + bar.lane };
        BANDS + timeline.band_rows() + lane
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
        if bar.graders {
            args["whose"] = json!("the grader's own");
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
            "tid": self.tid(bar), "ts": self.at(bar.start),
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
mod tests;
