//! What viewers rely on.

use std::collections::BTreeMap;

use super::*;
use crate::timeline::model::Timeline;
use crate::timeline::{Picture, sample};

fn events() -> Vec<Value> {
    events_of(&sample::picture())
}

fn events_of(picture: &Picture) -> Vec<Value> {
    let text = document(picture).to_string();
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
    let slices: usize = runs.iter().map(|r| r.timeline.bars.len() + r.timeline.bands.len()).sum();
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

/// The fields that the format has for a phase: those that must be there, and those that may.
fn fields(phase: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match phase {
        "M" => (&["name", "ph", "pid", "tid", "args"], &[]),
        "X" => (&["name", "cat", "ph", "ts", "dur", "pid", "tid"], &["args", "cname"]),
        "s" => (&["name", "cat", "ph", "id", "ts", "pid", "tid"], &[]),
        "f" => (&["name", "cat", "ph", "id", "bp", "ts", "pid", "tid"], &[]),
        other => panic!("the phase {other} is not used here"),
    }
}

/// That a document is one of the Trace Event format.
fn hold_to_the_format(picture: &Picture) {
    let document: Value = serde_json::from_str(&document(picture).to_string()).expect("it is JSON");
    let keys: Vec<&String> = document.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["displayTimeUnit", "otherData", "traceEvents"]);
    assert!(["ms", "ns"].map(Value::from).contains(&document["displayTimeUnit"]));
    let events = events_of(picture);
    for event in &events {
        let event = event.as_object().expect("an object");
        let phase = event["ph"].as_str().expect("a phase");
        let (must, may) = fields(phase);
        let known = |key: &String| must.contains(&&key[..]) || may.contains(&&key[..]);
        assert!(must.iter().all(|key| event.contains_key(*key)), "{event:?}");
        assert!(event.keys().all(known), "{event:?}");
        assert!(event["pid"].is_u64() && event["tid"].is_u64(), "{event:?}");
        assert_ne!(event["pid"], event["tid"], "Perfetto takes it for a main thread: {event:?}");
        for text in ["name", "cat"].iter().filter_map(|key| event.get(*key)) {
            assert!(text.as_str().is_some_and(|text| !text.is_empty()), "{event:?}");
        }
        for time in ["ts", "dur"].iter().filter_map(|key| event.get(*key)) {
            assert!(time.as_f64().is_some_and(|time| time >= 0.0), "{event:?}");
        }
        match phase {
            "M" => {
                let args = event["args"].as_object().expect("an object");
                let (key, is_right): (&str, fn(&Value) -> bool) = match event["name"].as_str() {
                    Some("process_name" | "thread_name") => ("name", Value::is_string),
                    Some("process_sort_index" | "thread_sort_index") => {
                        ("sort_index", Value::is_i64)
                    }
                    _ => panic!("no such metadata: {event:?}"),
                };
                assert!(args.len() == 1 && is_right(&args[key]), "{event:?}");
            }
            "X" => {
                assert!(event.get("args").is_none_or(Value::is_object), "{event:?}");
                // Two of the names that the format reserves.
                let colour = event.get("cname").map(|name| name == "terrible" || name == "bad");
                assert_ne!(colour, Some(false), "{event:?}");
            }
            "f" => assert_eq!(event["bp"], "e"),
            _ => {}
        }
    }
    // Whoever reads it shows what is on one track as nested, and drops what is not.
    let number = |event: &Value, key: &str| event[key].as_f64().expect("a number");
    let slices: Vec<&Value> = events.iter().filter(|event| event["ph"] == "X").collect();
    for (index, one) in slices.iter().enumerate() {
        let (start, end) = (number(one, "ts"), number(one, "ts") + number(one, "dur"));
        for other in &slices[..index] {
            if (&one["pid"], &one["tid"]) != (&other["pid"], &other["tid"]) {
                continue;
            }
            let from = number(other, "ts");
            let to = from + number(other, "dur");
            let apart = end <= from || to <= start;
            let nested = (from <= start && end <= to) || (start <= from && to <= end);
            assert!(apart || nested, "{one} and {other}");
        }
    }
}

#[test]
fn it_is_a_document_of_the_format_whatever_times_are_known() {
    let whole = sample::picture();
    hold_to_the_format(&whole);
    for known in 0..8_u32 {
        let mut trace = sample::trace();
        // Any of the first three operations may be without its times.
        let mut operations = trace.items.iter_mut().filter_map(|item| match item {
            streamlings_trace::Item::Call(call) if call.ran.is_some() => Some(call),
            _ => None,
        });
        for bit in 0..3 {
            let call = operations.next().expect("there are four");
            call.ran = call.ran.filter(|_| known & (1 << bit) != 0);
        }
        drop(operations);
        let mut picture = whole.clone();
        picture.runs[0].timeline = Timeline::of(&trace);
        hold_to_the_format(&picture);
        let events = events_of(&picture);
        let shown = events.iter().filter(|event| event["args"]["times"].is_string()).count();
        assert_eq!(shown, 3 - known.count_ones() as usize);
        for flow in events.iter().filter(|event| event["ph"] == "f") {
            let start = events.iter().find(|e| e["ph"] == "s" && e["id"] == flow["id"]);
            let start = start.expect("every flow begins");
            assert!(start["ts"].as_f64() <= flow["ts"].as_f64(), "{start} {flow}");
        }
    }
}
