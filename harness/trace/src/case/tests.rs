//! The folder of cases, and what is said of one that cannot be read or does not agree.

use std::path::PathBuf;

use rstest::rstest;

use super::*;

#[rstest]
fn as_expected(#[files("cases/*.case")] path: PathBuf) {
    let text = std::fs::read_to_string(&path).unwrap();
    let verdict = judge(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(verdict.is_ok(), "{}:\n{verdict}", path.display());
}

#[rstest]
#[case::nothing_expected("stream s1\n", 1, 1, "the case expects nothing")]
#[case::statement("stream s1\nlaunch x on s1\n", 2, 1, "expected stream, host, alloc")]
#[case::unknown_stream("alloc x 64\nwrite x on s9\nexpect clean", 2, 12, "none is called `s9`")]
#[case::unknown_buffer("write y on null\nexpect clean", 1, 7, "nothing is called `y`")]
#[case::no_stream("alloc x 64\nwrite x\nexpect clean", 2, 8, "expected `on`, but the line ends")]
#[case::no_size("alloc x\nexpect clean", 1, 8, "expected its size in bytes, but the line ends")]
#[case::size("alloc x many\nexpect clean", 1, 9, "expected its size in bytes, found `many`")]
#[case::rest("sync all now\nexpect clean", 1, 10, "expected the end of the line, found `now`")]
#[case::range("alloc x 64\nread x[0..65] on null\nexpect clean", 2, 6, "which has 64 bytes")]
#[case::empty_range("alloc x 64\nread x[9..9] on null\nexpect clean", 2, 11, "the range is empty")]
#[case::sign("sync s1;\nexpect clean", 1, 8, "`;` has no meaning here")]
#[case::host_memory("alloc x 64\nalloc y 64\nupload x to y\nexpect clean", 3, 8, "a host buffer")]
#[case::memory_kind("host h 64 paged\nexpect clean", 1, 11, "one of: pinned, pageable")]
#[case::twice("stream s\nstream s\nexpect clean", 2, 8, "which is taken")]
#[case::expectation("expect nothing", 1, 8, "one of: clean, races, race, reuse, blocks")]
#[case::race("alloc x 64\nexpect race x: write s2, read s1", 2, 24, "expected `/`, found `,`")]
#[case::expected_stream("stream s1\nexpect blocks s2 line 1", 2, 1, "none is called `s2`")]
#[case::outcome("query e maybe\nexpect clean", 1, 9, "one of: done, pending")]
fn unreadable(#[case] text: &str, #[case] line: u32, #[case] column: u32, #[case] message: &str) {
    let error = judge(text).unwrap_err();
    assert!(error.message.contains(message), "{error}");
    assert_eq!((error.line, error.column), (line, column), "{error}");
}

const RACY: &str = "stream s1\nstream s2\nalloc x 64\nwrite x on s1\nread x on s2\n";

#[rstest]
#[case::clean("expect clean", "line 6: expected no race, but 1 was found")]
#[case::count("expect races 2", "line 6: expected 2 races, but 1 was found")]
#[case::other(
    "expect race x: write s2 / read s1",
    "line 6: expected race x: write s2 / read s1, but"
)]
#[case::reuse("expect reuse x", "line 6: expected `x` handed out again too early")]
#[case::blocks(
    "expect blocks s1 line 4",
    "line 6: expected line 4 to hold the host, but it does not"
)]
fn differing(#[case] expect: &str, #[case] message: &str) {
    let verdict = judge(&format!("{RACY}{expect}")).unwrap();
    assert!(verdict.to_string().starts_with(message), "{verdict}");
    assert!(verdict.to_string().contains("race on `x`, bytes 0..64"), "{verdict}");
}

#[test]
fn a_comment_and_an_empty_line_say_nothing() {
    let verdict = judge("# a race, no\n\nstream s1 # one stream\nexpect clean\n").unwrap();
    assert_eq!(verdict.to_string(), "ok");
}
