//! The grading cases of exercise 03.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::exercise;
use streamlings::grade::checks::{host_polls, missing_edge, part, region, runs};
use streamlings::grade::diagnosis as d;
use streamlings::grade::{At, Cases, Finding, Grader};
use streamlings::trace::blocks::{Block, Reason, blocks, blocks_during};
use streamlings::trace::names::Names;
use streamlings::trace::order::races;
use streamlings::trace::order::report::{Race, What};
use streamlings::trace::order::waits::learned;
use streamlings::trace::polls::polls;
use streamlings::trace::regions::{Region, regions};
use streamlings::trace::{Call, Frame, Item, Mark, MarkKind, MemoryKind, Nanos, Op, Trace};

// By path, because this file is a module of other crates, too.
#[path = "cases/pipeline.rs"]
mod pipeline;
#[path = "cases/track.rs"]
mod track;

use self::pipeline::pipeline;
use self::track::{Cudarc, Cust, Track, is_pinned};

pub fn cases() -> Cases {
    Cases::new()
        .case("upload_small", |grader| upload(grader, Cudarc::open()?, SMALL))
        .case("upload_large", |grader| upload(grader, Cudarc::open()?, LARGE))
        .case("download", |grader| download(grader, Cudarc::open()?))
        .case("pipeline", pipeline)
        .optional("upload_small_cust", |grader| upload(grader, Cust::open()?, SMALL))
        .optional("upload_large_cust", |grader| upload(grader, Cust::open()?, LARGE))
        .optional("download_cust", |grader| download(grader, Cust::open()?))
}

/// Elements of an upload that fits the driver's staging memory many times over.
const SMALL: Range<usize> = 1_000..16_000;

/// Elements of one that does not fit it: over 2 MiB.
const LARGE: Range<usize> = 800_000..1_200_000;

/// How long the stream is busy when the learner's function is called.
const BUSY: Duration = Duration::from_millis(15);

/// The part of a run in which the learner's function is.
const FUNCTION: &str = "function";

/// The part in which `wait` is.
const WAIT: &str = "wait";

/// Numbers that no constant can be made for.
fn values(grader: &mut Grader, count: usize) -> Vec<f32> {
    (0..count).map(|_| grader.rng().i32(-10_000..10_000) as f32 / 8.0).collect()
}

fn ms(nanos: Nanos) -> String {
    format!("{:.3} ms", nanos as f64 / 1e6)
}

fn frame_at(grader: &Grader, frame: &Option<Frame>) -> Option<At> {
    grader.frame_at(frame.as_ref()?)
}

fn upload<T: Track>(grader: &mut Grader, track: T, sizes: Range<usize>) -> Result<(), Finding> {
    let count = grader.rng().usize(sizes);
    let expected = values(grader, count);
    let run = || -> Result<T::Upload, Finding> {
        let mut values = expected.clone();
        track.spin(BUSY)?;
        let upload = part(FUNCTION, || track.upload(&values));
        // The caller may do with them what it likes.
        values.fill(f32::NAN);
        upload.map_err(returned_error)
    };
    runs(grader, run, |grader, run| {
        let function = region(&run.trace, FUNCTION)?;
        // What the record says comes before an error: it is the reason more often than not.
        check_memory(grader, &run.trace, &function)?;
        let upload = run.value?;
        returned_after(grader, &run.trace, &function);
        check_started(&run.trace, &function, |src, dst| {
            src != MemoryKind::Device && dst == MemoryKind::Device
        })?;
        let values = check_values(&expected, &track.uploaded(&upload)?);
        check_races(grader, &run.trace, &values)?;
        check_unblocked(grader, &run.trace, &function)?;
        values
    })?;
    uploads_in_a_row(grader, &track, &expected)?;
    given_back(grader, || -> Result<(), Finding> {
        let upload = part(FUNCTION, || track.upload(&expected)).map_err(returned_error)?;
        // When nothing runs there any more, all of it may go.
        track.uploaded(&upload).map(|_| ())
    })
}

/// How many calls of a function there are in a row, before anybody waits.
const IN_A_ROW: usize = 4;

/// Uploads that are under way at the same time are the same as one.
fn uploads_in_a_row<T: Track>(
    grader: &mut Grader,
    track: &T,
    expected: &[f32],
) -> Result<(), Finding> {
    let all: [Vec<f32>; IN_A_ROW] =
        std::array::from_fn(|call| expected.iter().map(|value| value + call as f32).collect());
    let run = grader.run(|| -> Result<Vec<T::Upload>, Finding> {
        track.spin(BUSY)?;
        let uploads: Vec<_> = all.iter().map(|values| track.upload(values)).collect();
        // Who gives the memory back without a wait for the copy may do so later, on another thread.
        std::thread::sleep(4 * BUSY);
        uploads.into_iter().map(|upload| upload.map_err(returned_error)).collect()
    })?;
    let uploads = run.value.map_err(in_a_row)?;
    for (expected, upload) in all.iter().zip(&uploads) {
        let values = check_values(expected, &track.uploaded(upload)?);
        check_races(grader, &run.trace, &values).and(values).map_err(in_a_row)?;
    }
    Ok(())
}

fn in_a_row(finding: Finding) -> Finding {
    let calls = format!(
        "here the function was called {IN_A_ROW} times in a row, and the waits came after that"
    );
    finding.note(calls)
}

fn download<T: Track>(grader: &mut Grader, track: T) -> Result<(), Finding> {
    let count = grader.rng().usize(4_000..40_000);
    let expected = values(grader, count);
    let source = track.source(&expected)?;
    let run = || -> Result<(T::Download, Vec<f32>), Finding> {
        track.spin(BUSY)?;
        let download = part(FUNCTION, || track.download(&source)).map_err(returned_error)?;
        track.spin(BUSY)?;
        let values = part(WAIT, || T::wait(&download)).map_err(returned_error)?;
        Ok((download, values))
    };
    runs(grader, run, |grader, mut run| {
        let function = region(&run.trace, FUNCTION)?;
        check_memory(grader, &run.trace, &function)?;
        let (_download, values) = run.value?;
        returned_after(grader, &run.trace, &function);
        let copy = check_started(&run.trace, &function, |src, dst| {
            src == MemoryKind::Device && dst != MemoryKind::Device
        })?;
        check_unblocked(grader, &run.trace, &function)?;
        let wait = region(&run.trace, WAIT)?;
        let values = check_values(&expected, &values);
        check_races(grader, &run.trace, &values)?;
        // Whatever memory it is in: once `wait` has returned, the host has read it.
        read_at_the_end(&mut run.trace, &wait, &copy);
        check_races(grader, &run.trace, &values)?;
        check_waits_for_no_more(grader, &run.trace, &wait, &copy)?;
        values
    })?;
    downloads_in_a_row(grader, &track, count)?;
    given_back(grader, || {
        let download = part(FUNCTION, || track.download(&source)).map_err(returned_error)?;
        T::wait(&download).map(|_| ()).map_err(returned_error)
    })
}

/// Downloads that are under way at the same time are the same as one.
fn downloads_in_a_row<T: Track>(
    grader: &mut Grader,
    track: &T,
    count: usize,
) -> Result<(), Finding> {
    let expected: [Vec<f32>; IN_A_ROW] = std::array::from_fn(|_| values(grader, count));
    let sources: Vec<T::Source> =
        expected.iter().map(|values| track.source(values)).collect::<Result<_, _>>()?;
    let run = grader.run(|| -> Result<Vec<Vec<f32>>, String> {
        track.spin(BUSY).map_err(|finding| finding.message)?;
        let downloads: Vec<T::Download> =
            sources.iter().map(|source| track.download(source)).collect::<Result<_, _>>()?;
        downloads.iter().map(T::wait).collect()
    })?;
    let got = run.value.map_err(returned_error).map_err(in_a_row)?;
    let mut pairs = expected.iter().zip(&got);
    let values = pairs.try_for_each(|(expected, got)| check_values(expected, got));
    check_races(grader, &run.trace, &values).and(values).map_err(in_a_row)
}

/// Of the first run: the others are held up.
fn returned_after(grader: &mut Grader, trace: &Trace, function: &Region) {
    if trace.header.seed.is_none() {
        grader.figure("function returned after", function.host() as f64 / 1e6, "ms");
    }
}

fn returned_error(error: String) -> Finding {
    Finding::new(d::RETURNED_ERROR, format!("the function returned an error: {error}"))
}

/// The host's side of every copy has to be pinned.
fn check_memory(grader: &Grader, trace: &Trace, region: &Region) -> Result<(), Finding> {
    let all = blocks(trace);
    let during = trace.calls().filter(|call| region.spans(call.seq, call.left));
    for call in during.filter(|call| call.succeeded()) {
        let Op::Copy { src, dst, .. } = &call.op else { continue };
        if ![src.memory, dst.memory].contains(&MemoryKind::Pageable) {
            continue;
        }
        let upload = dst.memory == MemoryKind::Device;
        let (what, side) = if upload { ("upload", "from") } else { ("download", "to") };
        let size = format!("{:.1} KiB", src.range.len() as f64 / 1024.0);
        let at = grader.at(trace, call);
        let block = all.iter().find(|block| block.seq == call.seq);
        return Err(match block {
            Some(block) => {
                let message = format!("the {what} of {size} {side} pageable memory waits");
                Finding::new(d::PAGEABLE_COPY, message)
                    .at(at, format!("held the host for {}", ms(block.left - block.entered)))
                    .note(block.reason.sentence())
            }
            None => {
                let message =
                    format!("the {what} of {size} {side} pageable memory did not have to wait");
                Finding::new(d::PAGEABLE_BY_LUCK, message)
                    .at(at, "this copy")
                    .note(Reason::LargePageableUpload.sentence())
            }
        });
    }
    Ok(())
}

/// How often a function is called until it has all the memory that it uses again and again.
const CALLS: usize = 8;

/// Calls the function again and again, which `call` does as a part of the run, and drops what it returned:
/// what the last call pinned is pinned no more.
fn given_back(
    grader: &mut Grader,
    mut call: impl FnMut() -> Result<(), Finding>,
) -> Result<(), Finding> {
    let run = grader.run(|| (0..CALLS).try_for_each(|_| call()))?;
    run.value?;
    let last = regions(&run.trace).into_iter().rfind(|region| region.name == FUNCTION);
    last.map_or(Ok(()), |last| check_given_back(grader, &run.trace, &last))
}

/// What owned the memory that was pinned in a region is gone, and the memory with it.
fn check_given_back(grader: &Grader, trace: &Trace, region: &Region) -> Result<(), Finding> {
    let during = trace.calls().filter(|call| region.spans(call.seq, call.left));
    for call in during.filter(|call| call.succeeded()) {
        let (Op::HostAlloc { range } | Op::HostRegister { range }) = call.op else { continue };
        // Another thread may be about to give it back.
        let until = Instant::now() + Duration::from_millis(500);
        while is_pinned(range.start) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        if is_pinned(range.start) {
            let bytes = range.len() as f64 / 1024.0;
            let message = format!("{bytes:.1} KiB are still pinned, and nothing owns them");
            return Err(Finding::new(d::PINNED_LEAKED, message)
                .at(grader.at(trace, call), "pinned here, and never given back"));
        }
    }
    Ok(())
}

/// The copy that the function is to start.
fn check_started(
    trace: &Trace,
    region: &Region,
    wanted: impl Fn(MemoryKind, MemoryKind) -> bool,
) -> Result<Call, Finding> {
    let is_wanted = |call: &&Call| match &call.op {
        Op::Copy { src, dst, .. } => call.succeeded() && wanted(src.memory, dst.memory),
        _ => false,
    };
    region.calls(trace).filter(is_wanted).last().cloned().ok_or_else(|| {
        Finding::new(d::COPY_NOT_STARTED, "the driver saw no such copy before it returned")
    })
}

fn check_unblocked(grader: &Grader, trace: &Trace, region: &Region) -> Result<(), Finding> {
    let all = blocks(trace);
    let Some(block) = blocks_during(&all, region).next() else {
        let asked = polls(trace);
        let poll = asked.iter().find(|poll| region.spans(poll.seq, poll.left));
        return poll.map_or(Ok(()), |poll| Err(host_polls(grader, poll)));
    };
    Err(Finding::new(d::HOST_HELD, format!("`{}` waits", block.function))
        .at(frame_at(grader, &block.at), held(block))
        .note(block.reason.sentence()))
}

fn held(block: &Block) -> String {
    format!("held the host for {}", ms(block.left - block.entered))
}

/// Nothing that was enqueued after the copy may be waited for.
fn check_waits_for_no_more(
    grader: &Grader,
    trace: &Trace,
    wait: &Region,
    copy: &Call,
) -> Result<(), Finding> {
    let all = blocks(trace);
    // Whoever asks until it is over has waited for it, too.
    let begun = |work: &Call| wait.begin < work.seq;
    let mut asked = trace
        .calls()
        .filter(|work| copy.seq < work.seq && !begun(work))
        .filter_map(|work| Some((work, learned(trace, work.seq).filter(|_| work.op.is_work())?)));
    let is_query = |call: &Call| matches!(call.op, Op::StreamQuery { .. } | Op::EventQuery { .. });
    if let Some((work, query)) =
        asked.find(|(_, call)| is_query(call) && wait.spans(call.seq, call.left))
    {
        let what = Names::of(trace).operation(work);
        let message = format!("{what}, enqueued after the copy, was waited for, too");
        return Err(Finding::new(d::WAITED_FOR_THE_STREAM, message)
            .at(grader.at(trace, query), "asks here until it is over")
            .at(grader.at(trace, copy), "the copy was enqueued here"));
    }
    let later = |block: &&Block| block.behind.as_ref().is_some_and(|work| work.seq > copy.seq);
    let Some(block) = blocks_during(&all, wait).find(later) else { return Ok(()) };
    let what = block.behind.as_ref().map_or("", |work| &work.operation);
    let message = format!("{what}, enqueued after the copy, was waited for, too");
    Err(Finding::new(d::WAITED_FOR_THE_STREAM, message)
        .at(frame_at(grader, &block.at), held(block))
        .at(grader.at(trace, copy), "the copy was enqueued here")
        .note(block.reason.sentence()))
}

/// Adds to the record that the host read the target of a copy just before a region ended.
fn read_at_the_end(trace: &mut Trace, region: &Region, copy: &Call) {
    let (Op::Copy { dst, .. }, Some(end)) = (&copy.op, region.end) else { return };
    let is_end = |item: &Item| matches!(item, Item::Mark(mark) if mark.seq == end);
    let Some(place) = trace.items.iter().position(is_end) else { return };
    let read = Mark {
        seq: end,
        thread: region.thread,
        at: region.left,
        kind: MarkKind::HostRead { range: dst.range },
        stack: None,
    };
    trace.items.insert(place, Item::Mark(read));
}

fn check_values(expected: &[f32], got: &[f32]) -> Result<(), Finding> {
    if expected.len() != got.len() {
        let message = format!("{} values came out, and {} went in", got.len(), expected.len());
        return Err(Finding::new(d::WRONG_VALUE, message));
    }
    let wrong = |index: &usize| expected[*index].to_bits() != got[*index].to_bits();
    match (0..expected.len()).find(wrong) {
        None => Ok(()),
        Some(index) => {
            let (got, expected) = (got[index], expected[index]);
            let message = format!("element {index} is {got}, and has to be {expected}");
            Err(Finding::new(d::WRONG_VALUE, message))
        }
    }
}

/// `values` is whether they came out right: what a race did, if not.
fn check_races(
    grader: &Grader,
    trace: &Trace,
    values: &Result<(), Finding>,
) -> Result<(), Finding> {
    let Some(race) = races(trace).into_iter().next() else { return Ok(()) };
    let seen = values.as_ref().err().map(|finding| finding.message.clone());
    Err(race_finding(grader, &race).seen(seen))
}

fn race_finding(grader: &Grader, race: &Race) -> Finding {
    let (first, second) = (&race.earlier, &race.later);
    let by_host = second.stream().is_none();
    let (code, deed) = match (&first.what, &second.what) {
        (What::Upload, What::Host) if by_host => (d::REFILLED_DURING_COPY, "written"),
        (What::Download, What::Host) if by_host && !second.kind.writes() => {
            (d::READ_BEFORE_READY, "read")
        }
        (What::Upload | What::Download, What::Free) if by_host => {
            (d::FREED_DURING_COPY, "given back")
        }
        _ => (d::UNORDERED_ACCESS, "used"),
    };
    let buffer = match &race.buffer {
        Some(name) => format!("`{name}`"),
        None => "the memory".to_owned(),
    };
    let copy = match &first.what {
        What::Upload => "its upload",
        What::Download => "its download",
        _ => "its earlier user",
    };
    let message = format!("{buffer} was {deed}, and nothing had waited for {copy}");
    Finding::new(code, message)
        .at(frame_at(grader, &second.at), format!("{deed} here"))
        .at(frame_at(grader, &first.at), format!("{copy} was enqueued here"))
        .note(missing_edge(race))
}
