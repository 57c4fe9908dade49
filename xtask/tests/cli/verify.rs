//! `cargo xtask verify` on a course that is right, and on one that is not.

use std::path::Path;

use crate::workspace::{RIGHT, package, stand_in, workspace, write, xtask};

const WRONG: &[u8] = b"//! An answer.\npub fn answer() -> u32 { 41 }\n";

/// What verify prints, and its exit code.
fn verify(root: &Path) -> (String, Option<i32>) {
    let output = xtask(root, &["verify", "--only-exercises"]);
    let text = String::from_utf8(output.stdout).expect("it is UTF-8");
    (text, output.status.code())
}

#[test]
fn starters_solutions_and_mutants_are_held_to_what_they_must_get() {
    let root = workspace(["exercises", "solutions"], &[("sum", WRONG)]);
    let root = root.path();
    let solution = "solutions/01_sum";
    package(root, solution, "sum_solution", &["grade", "mutants"]);
    write(root, &format!("{solution}/src/lib.rs"), RIGHT);
    write(root, &format!("{solution}/mutants/off_by_one.rs"), WRONG);
    let grade = format!("{solution}/tests/grade.rs");
    stand_in(root, &grade, "answer", "null", "sum_solution::answer()");
    let mutants = format!("{solution}/tests/mutants.rs");
    let expected = "\"wrong-value\"";
    stand_in(root, &mutants, "off_by_one::answer", expected, "sum_solution::answer() - 1");

    let (text, code) = verify(root);
    let right = "\
starters   1 passed, 0 failed, 0 skipped
solutions  1 passed, 0 failed, 0 skipped
mutants    1 passed, 0 failed, 0 skipped
device     a stand-in
3 passed, 0 failed, 0 skipped
";
    assert_eq!((text.as_str(), code), (right, Some(0)));

    // One exercise alone, and one that there is not.
    let alone = xtask(root, &["verify", "sum"]);
    assert_eq!(String::from_utf8_lossy(&alone.stdout), right);
    assert_eq!(xtask(root, &["verify", "product"]).status.code(), Some(2));

    // A starter that passes, a solution that does not, a mutant that survives, one that nobody runs.
    write(root, "exercises/01_sum/src/lib.rs", RIGHT);
    write(root, &format!("{solution}/src/lib.rs"), WRONG);
    write(root, &format!("{solution}/mutants/forgotten.rs"), WRONG);
    stand_in(root, &mutants, "off_by_one::answer", expected, "sum_solution::answer() + 1");
    let (text, code) = verify(root);
    for complaint in [
        "FAILED starter 01 sum answer\n       wanted wrong-value, got passed\n",
        "FAILED solution 01 sum answer\n       wanted passed, got wrong-value\n",
        "FAILED mutant 01 sum off_by_one::answer\n       wanted wrong-value, got passed\n",
        "       mutants/forgotten.rs is not in tests/mutants.rs\n",
    ] {
        assert!(text.contains(complaint), "no {complaint:?} in:\n{text}");
    }
    assert!(text.ends_with("\n0 passed, 4 failed, 0 skipped\n"), "{text}");
    assert_eq!(code, Some(1));
}

#[test]
fn a_case_that_is_not_listed_is_a_failure_and_one_without_a_diagnosis_must_pass() {
    let root = workspace(["exercises", "solutions"], &[("sum", WRONG)]);
    let root = root.path();
    package(root, "solutions/01_sum", "sum_solution", &["grade"]);
    write(root, "solutions/01_sum/src/lib.rs", RIGHT);
    stand_in(root, "solutions/01_sum/tests/grade.rs", "answer", "null", "sum_solution::answer()");
    let list = |intended: &str| {
        let text = format!("title = \"an answer\"\nintended = [{intended}]\n");
        write(root, "exercises/01_sum/exercise.toml", text.as_bytes());
        verify(root)
    };
    // The stand-in takes any name, and calls its case `answer`.
    let (text, code) = list("{ case = \"other\", diagnosis = \"hung\" }");
    assert!(
        text.contains("FAILED starter 01 sum answer\n       exercise.toml must name"),
        "{text}"
    );
    assert_eq!(code, Some(1));

    let other = "{ case = \"other\", diagnosis = \"no-verdict\" }";
    let (text, code) = list(&format!("{{ case = \"answer\" }}, {other}"));
    let complaint = "FAILED starter 01 sum answer\n       wanted passed, got wrong-value\n";
    assert!(text.contains(complaint) && !text.contains("must name"), "{text}");
    assert_eq!(code, Some(1));
    write(root, "exercises/01_sum/src/lib.rs", RIGHT);
    let (text, _) = list(&format!("{{ case = \"answer\" }}, {other}"));
    assert!(text.contains("starters   2 passed, 0 failed"), "{text}");
}
