//! What `cargo xtask check` says of functions that are not as the starter has them.

use serde_json::Value;

use crate::workspace::{RIGHT, said, workspace, write, xtask};

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
