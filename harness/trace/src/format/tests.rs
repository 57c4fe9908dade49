//! Round trips, cuts, foreign versions, and a snapshot that pins the encoding to its version.

use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::model::*;

fn header() -> Header {
    Header { device: Device { kind: DeviceKind::Emulated, name: "a name".into() }, seed: Some(7) }
}

/// Every variant once, so that the snapshot sees any change of the encoding.
fn sample() -> Trace {
    let range = Range::new(0x1000, 0x200);
    let (stream, event) = (StreamId(3), EventId(4));
    let place = |memory| Place { range, memory };
    let accesses = [AccessKind::Read, AccessKind::Write, AccessKind::Update];
    let accesses = accesses.map(|kind| Access { range, kind }).to_vec();
    let (src, dst) = (place(MemoryKind::Pinned), place(MemoryKind::Device));
    let ops = [
        Op::StreamCreate { stream, blocking: true },
        Op::StreamDestroy { stream },
        Op::Launch { stream, kernel: NameId(5), accesses, assumed: true, blocks: 300 },
        Op::Copy { stream, asynchronous: true, src, dst },
        Op::Copy { stream, asynchronous: false, src: dst, dst: place(MemoryKind::Pageable) },
        Op::Memset { stream, asynchronous: false, range },
        Op::HostFunc { stream },
        Op::EventCreate { event, timing: true },
        Op::EventDestroy { event },
        Op::EventRecord { event, stream },
        Op::StreamWait { event, stream },
        Op::EventSync { event },
        Op::EventQuery { event, done: false },
        Op::EventElapsed { start: event, end: EventId(9), ms: 4.125 },
        Op::StreamSync { stream },
        Op::StreamQuery { stream, done: true },
        Op::ContextSync,
        Op::Alloc { range, stream: Some(stream) },
        Op::Free { range, stream: None, stream_ordered: true },
        Op::HostAlloc { range },
        Op::HostFree { range },
        Op::HostRegister { range },
        Op::HostUnregister { range },
        Op::ModuleLoad,
        Op::ModuleUnload,
        Op::Other,
    ];
    let marks = [
        MarkKind::Begin { region: "r".into() },
        MarkKind::End { region: "r".into() },
        MarkKind::NameStream { stream, name: "s".into() },
        MarkKind::NameBuffer { range, name: "b".into() },
        MarkKind::NameEvent { event, name: "e".into() },
        MarkKind::HostRead { range },
        MarkKind::HostWrite { range },
        MarkKind::HostDrop { range },
        MarkKind::BlockOut { range, stream },
        MarkKind::BlockBack { range },
        MarkKind::BlockUse { range, stream },
        MarkKind::ThreadBegin { child: ThreadId(2) },
        MarkKind::ThreadJoin { child: ThreadId(2) },
        MarkKind::CameBefore { other: ThreadId(2) },
    ];
    let frame = Frame { function: "f".into(), file: Some("src/lib.rs".into()), line: 41 };
    let mut items = vec![
        Item::Name { id: NameId(5), text: "fill".into() },
        Item::Stack { id: StackId(1), stack: Stack { frames: vec![frame], learner: Some(0) } },
    ];
    let mut seq = 0;
    let mut next = || {
        seq += 1;
        seq
    };
    items.extend(ops.map(|op| {
        let seq = next();
        Item::Call(Call {
            seq: Seq(seq),
            thread: ThreadId(1),
            function: NameId(5),
            entered: seq * 1000,
            left: seq * 1000 + 250,
            result: if seq == 13 { 600 } else { 0 },
            op,
            stack: Some(StackId(1)),
            waited: Some(seq),
            ran: Some(Span { start: seq, end: seq + 1 }),
        })
    }));
    items.extend(marks.map(|kind| {
        let seq = next();
        Item::Mark(Mark { seq: Seq(seq), thread: ThreadId(1), at: seq * 1000, kind, stack: None })
    }));
    items.push(Item::Truncated { at: 99 });
    Trace { header: header(), items }
}

fn encode(trace: &Trace) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &trace.header).unwrap();
    for item in &trace.items {
        writer.write(item).unwrap();
    }
    writer.finish().unwrap()
}

fn read(bytes: &[u8]) -> Result<Trace, ReadError> {
    Reader::new(bytes)?.into_trace()
}

#[test]
fn comes_back_as_written() {
    let trace = sample();
    assert_eq!(read(&encode(&trace)).unwrap(), trace);
}

/// If this fails: raise [`FORMAT_VERSION`], then accept the new snapshot.
#[test]
fn encoding_is_pinned_to_its_version() {
    let bytes = encode(&sample());
    let mut hex = format!("version {FORMAT_VERSION}\n");
    for line in bytes.chunks(32) {
        hex.extend(line.iter().map(|byte| format!("{byte:02x}")));
        hex.push('\n');
    }
    insta::assert_snapshot!(hex);
}

#[test]
fn a_cut_names_the_item_and_keeps_what_came_before() {
    let trace = sample();
    let bytes = encode(&trace);
    let mut seen = Vec::new();
    for cut in 0..bytes.len() {
        let reader = match Reader::new(&bytes[..cut]) {
            Err(error) => {
                let expected = cut < MAGIC.len();
                assert_eq!(matches!(error, ReadError::NotATrace), expected, "cut at {cut}");
                assert!(expected || matches!(error, ReadError::CutOffInHeader), "cut at {cut}");
                continue;
            }
            Ok(reader) => reader,
        };
        let (prefix, error) = reader.into_prefix();
        let error = error.expect("a cut trace must say so");
        assert!(error.is_cut(), "cut at {cut}: {error}");
        let (ReadError::CutOff { item } | ReadError::NotClosed { items: item }) = error else {
            unreachable!()
        };
        assert_eq!(prefix.items, trace.items[..item as usize]);
        seen.push(item);
    }
    assert_eq!(seen.last(), Some(&(trace.items.len() as u64)));
}

#[rstest]
#[case::empty(b"", "not a streamlings trace")]
#[case::text(b"hello, world, and more of it", "not a streamlings trace")]
#[case::newer(b"STRMLING\xff\xff\0\0", "update and rebuild")]
#[case::older(b"STRMLING\0\0\0\0", "record the run again")]
#[case::no_header(b"STRMLING\x02\0\0\0", "cut off in its header")]
#[case::damaged_header(b"STRMLING\x02\0\0\0\x02\0\0\0\xff\xff", "header of the trace is damaged")]
#[case::absurd_length(b"STRMLING\x02\0\0\0\xff\xff\xff\xff", "a length of 4294967295 bytes")]
fn says_what_is_wrong(#[case] bytes: &[u8], #[case] expected: &str) {
    let message = read(bytes).unwrap_err().to_string();
    assert!(message.contains(expected), "{message}");
}

#[test]
fn trailing_bytes_in_a_frame_are_damage() {
    let mut bytes = encode(&Trace::new(header()));
    bytes.truncate(bytes.len() - 4);
    // `Item::Truncated { at: 0 }` and one byte too many.
    bytes.extend([3, 0, 0, 0, 4, 0, 0]);
    let message = read(&bytes).unwrap_err().to_string();
    assert!(message.starts_with("item 0 of the trace is damaged (1 bytes too many)"), "{message}");
}

proptest! {
    #[test]
    fn any_bytes_give_an_answer(tail in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut bytes = encode(&Trace::new(header()));
        bytes.truncate(bytes.len() - 4);
        let start = bytes.len();
        bytes.extend(&tail);
        let (trace, error) = Reader::new(&bytes[..]).unwrap().into_prefix();
        let closed = tail.starts_with(&[0; 4]);
        prop_assert!(error.is_some() || closed || !trace.items.is_empty(), "from byte {start}");
    }
}
