//! What `cargo xtask check` says of functions that are not as the starter has them.

use serde_json::Value;

use crate::workspace::{RIGHT, said, stand_in, workspace, write, xtask};

/// Sources: name, text, and `outcome diagnosis at message` of the one case.
const SOURCES: &[(&str, &str, &str)] = &[
    (
        "parameter",
        "//! An answer.\n\npub fn answer(of: u32) -> u32 {\n    of\n}\n",
        "does not compile signature-changed lib.rs:3 `answer` is not as the grading cases use it",
    ),
    (
        "return_type",
        "//! An answer.\npub fn answer() -> String {\n    \"42\".to_owned()\n}\n",
        "does not compile signature-changed lib.rs:2 `answer` is not as the grading cases use it",
    ),
    (
        "return_type_alone",
        "//! An answer.\npub fn answer() -> Vec<u32> {\n    42\n}\n",
        "does not compile signature-changed lib.rs:2 `answer` is not as the grading cases use it",
    ),
    (
        "used_elsewhere",
        "//! An answer.\npub fn answer() -> u8 {\n    42\n}\npub fn again() -> u32 {\n    answer()\n}\n",
        "does not compile signature-changed lib.rs:2 `answer` is not as the grading cases use it",
    ),
    (
        "body",
        "//! An answer.\npub fn answer() -> u32 {\n    \"42\"\n}\n",
        "does not compile does-not-compile lib.rs:3 rustc: mismatched types",
    ),
    (
        "another_body",
        "//! An answer.\npub fn answer() -> u64 {\n    42\n}\nfn own() -> u8 {\n    \"1\"\n}\n",
        "does not compile does-not-compile lib.rs:6 rustc: mismatched types",
    ),
    (
        "alias",
        "//! An answer.\ntype Number = u32;\npub fn answer() -> Number {\n    \"42\"\n}\n",
        "does not compile does-not-compile lib.rs:4 rustc: mismatched types",
    ),
    ("missing", "//! No answer.\n", "not done function-missing - `answer` is not there"),
    (
        "private",
        "//! An answer.\nfn answer() -> u32 {\n    42\n}\n",
        "not done function-missing lib.rs:2 `answer` is not public",
    ),
];

#[test]
fn a_changed_signature_is_told_of_at_the_learners_own_line() {
    let exercises: Vec<(&str, &[u8])> =
        SOURCES.iter().map(|(name, text, _)| (*name, text.as_bytes())).collect();
    let root = workspace(["exercises"], &exercises);
    for (number, (name, ..)) in (1..).zip(SOURCES) {
        write(root.path(), &format!("solutions/{number:02}_{name}/starter/lib.rs"), RIGHT);
    }
    let report = xtask(root.path(), &["check", "--format", "json"]).stdout;
    let report: Value = serde_json::from_slice(&report).expect("it is JSON");
    for (number, (name, _, wanted)) in SOURCES.iter().enumerate() {
        let exercise = &report["exercises"][number];
        let case = &exercise["cases"][0];
        let text = |field: &str| case[field].as_str().unwrap_or("-").to_owned();
        let at = text("at").rsplit('/').next().map(str::to_owned).unwrap_or_default();
        let (outcome, diagnosis, message) = (text("outcome"), text("diagnosis"), text("message"));
        assert_eq!(format!("{outcome} {diagnosis} {at} {message}"), *wanted, "{name}");
        // rustc's words only where they are about the learner's own code.
        let rustc = exercise["rustc"].as_str().expect("it was not built");
        assert!(!rustc.contains("tests/grade.rs"), "{name}: {rustc}");
        let is_own = ["return_type_alone", "used_elsewhere", "body", "another_body", "alias"];
        assert_eq!(rustc.contains("E0308"), is_own.contains(name), "{name}: {rustc}");
    }
    for name in ["parameter", "private"] {
        insta::assert_snapshot!(name, said(root.path(), &["check", name]).0);
    }
}

/// A struct, and a function with generics.
const TIMES: &[u8] = b"//! An answer.\npub struct Times {\n    pub launched: u32,\n}\n\
    pub fn times<T>(of: impl FnOnce() -> T) -> (Times, T) {\n    (Times { launched: 42 }, of())\n}\n";

/// What is another there: name, the old text, the new one, and what the case gets: message, place and notes.
const CHANGES: &[(&str, &str, &str, &str)] = &[
    (
        "field_type",
        "launched: u32,\n}\npub fn times<T>(of: impl FnOnce() -> T) -> (Times, T) {\n    (Times { launched: 42 }",
        "launched: f64,\n}\npub fn times<T>(of: impl FnOnce() -> T) -> (Times, T) {\n    (Times { launched: 42.0 }",
        "signature-changed `Times` is not as the grading cases use it lib.rs:2
it is `pub struct Times { pub launched: f64 }`
it has to be `pub struct Times { pub launched: u32 }`",
    ),
    (
        "private_field",
        "    pub launched",
        "    launched",
        "signature-changed `Times` is not as the grading cases use it lib.rs:2
it is `pub struct Times { launched: u32 }`
it has to be `pub struct Times { pub launched: u32 }`",
    ),
    (
        "restricted",
        "pub fn",
        "pub(crate) fn",
        "function-missing `times` is not public lib.rs:5
it is `pub(crate) fn times<T>(of: impl FnOnce() -> T) -> (Times, T)`
it has to be `pub fn times<T>(of: impl FnOnce() -> T) -> (Times, T)`",
    ),
    (
        "with_unsafe",
        "pub fn",
        "pub unsafe fn",
        "signature-changed `times` is not as the grading cases use it lib.rs:5
it is `pub unsafe fn times<T>(of: impl FnOnce() -> T) -> (Times, T)`
it has to be `pub fn times<T>(of: impl FnOnce() -> T) -> (Times, T)`",
    ),
    (
        "with_async",
        "pub fn",
        "pub async fn",
        "signature-changed `times` is not as the grading cases use it lib.rs:5
it is `pub async fn times<T>(of: impl FnOnce() -> T) -> (Times, T)`
it has to be `pub fn times<T>(of: impl FnOnce() -> T) -> (Times, T)`",
    ),
    (
        "no_generics",
        "times<T>(of: impl FnOnce() -> T) -> (Times, T)",
        "times(of: impl FnOnce()) -> (Times, ())",
        "signature-changed `times` is not as the grading cases use it lib.rs:5
it is `pub fn times(of: impl FnOnce()) -> (Times, ())`
it has to be `pub fn times<T>(of: impl FnOnce() -> T) -> (Times, T)`",
    ),
    (
        "renamed",
        "pub fn times",
        "fn helper() {}\npub fn measured",
        "function-missing `times` is not there -
it has to be `pub fn times<T>(of: impl FnOnce() -> T) -> (Times, T)`
`measured` (exercises/07_renamed/src/lib.rs:6) has the same signature",
    ),
    (
        "misspelt",
        "pub fn times<T>(of: impl FnOnce() -> T)",
        "pub fn time<T>(of: &dyn Fn() -> T)",
        "function-missing `times` is not there -
it has to be `pub fn times<T>(of: impl FnOnce() -> T) -> (Times, T)`
`time` (exercises/08_misspelt/src/lib.rs:5) has a name like it",
    ),
    ("const_alone", "pub fn times", "pub const fn own() {}\npub fn times", "- - -"),
];

#[test]
fn a_change_that_no_error_names_is_told_of() {
    let starter = String::from_utf8(TIMES.to_vec()).expect("it is UTF-8");
    let changed: Vec<String> =
        CHANGES.iter().map(|(_, from, to, _)| starter.replace(from, to)).collect();
    let exercises: Vec<(&str, &[u8])> =
        CHANGES.iter().zip(&changed).map(|((name, ..), text)| (*name, text.as_bytes())).collect();
    let root = workspace(["exercises"], &exercises);
    for (number, (name, ..)) in (1..).zip(CHANGES) {
        write(root.path(), &format!("solutions/{number:02}_{name}/starter/lib.rs"), TIMES);
        let call = format!("{{ let got: (_, u8) = {name}::times(|| 1); got.0.launched }}");
        let path = format!("exercises/{number:02}_{name}/tests/grade.rs");
        stand_in(root.path(), &path, "answer", "null", &call);
    }
    let report = xtask(root.path(), &["check", "--format", "json"]).stdout;
    let report: Value = serde_json::from_slice(&report).expect("it is JSON");
    for (number, (name, _, _, wanted)) in CHANGES.iter().enumerate() {
        let case = &report["exercises"][number]["cases"][0];
        let text = |field: &str| case[field].as_str().unwrap_or("-").to_owned();
        let at = text("at").rsplit('/').next().map(str::to_owned).unwrap_or_default();
        let mut got = format!("{} {} {at}", text("diagnosis"), text("message"));
        for note in case["notes"].as_array().expect("they are listed") {
            got = got + "\n" + note.as_str().expect("it is text");
        }
        assert_eq!(
            got.replace("-  -", "- - -"),
            *wanted,
            "{name}: {}",
            report["exercises"][number]
        );
    }
}

#[test]
fn of_a_source_that_is_gone_or_empty_rustc_says_nothing() {
    let root = workspace(["exercises"], &[("gone", RIGHT), ("emptied", b"\n")]);
    std::fs::remove_file(root.path().join("exercises/01_gone/src/lib.rs")).expect("it was there");
    for (name, why) in [("gone", "is not there"), ("emptied", "is empty")] {
        let (text, code) = said(root.path(), &["check", name]);
        assert!(text.contains(&format!("[source-missing]: src/lib.rs {why}\n")), "{text}");
        assert!(!text.contains("error") && !text.contains("grade.rs"), "{text}");
        assert_eq!(code, Some(3), "{text}");
    }
}
