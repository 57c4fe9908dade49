//! `cargo xtask trace` on exercises: which case is drawn, which of its runs, and what is beside it.

use std::path::Path;
use std::process::Output;

use streamlings_trace::build::Builder;
use streamlings_trace::format::Writer;
use streamlings_trace::{DeviceKind, Op, StreamId, Trace};

use crate::new::copy;
use crate::terminal::Terminal;
use crate::workspace::{RIGHT, command, package, said, target, workspace, write, xtask};

/// A stand-in for a grade binary. Its cases are in RUNS: name, outcome, diagnosis, how many traces it leaves;
/// those after the first are runs with delays. It writes down which case it ran with which seed.
const GRADE: &str = r###"//! A stand-in for a grade binary that leaves traces.
const RUNS: &[(&str, &str, &str, usize)] = &[CASES];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments[1].as_str() {
        "--describe" => {
            let cases: Vec<String> =
                RUNS.iter().map(|run| format!(r##"{{"name":"{}","expect":null}}"##, run.0)).collect();
            println!(r##"{{"cases":[{}]}}"##, cases.join(","));
        }
        _ => judge(&arguments[2], &std::io::read_to_string(std::io::stdin()).unwrap()),
    }
}

fn judge(case: &str, job: &str) {
    let field = |name: &str| {
        let from = job.split(&format!("\"{name}\":")).nth(1).unwrap();
        from.split([',', '}']).next().unwrap().trim_matches('"').to_owned()
    };
    let (_, outcome, diagnosis, traces) = RUNS.iter().find(|run| run.0 == case).unwrap();
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let ran = format!("{case} {}\n", field("seed"));
    std::fs::write(here.join("ran"), std::fs::read_to_string(here.join("ran")).unwrap_or_default() + &ran).unwrap();
    for run in 1..=*traces {
        let file = here.join(if run == 1 { "plain.trace" } else { "delayed.trace" });
        std::fs::copy(file, format!("{}/{run}.trace", field("traces"))).unwrap();
    }
    let (nonce, path) = (field("nonce"), field("verdict"));
    let diagnosis = if diagnosis.is_empty() { "null".into() } else { format!("\"{diagnosis}\"") };
    let verdict = format!(
        r##"{{"schema":1,"nonce":"{nonce}","case":"{case}","outcome":"{outcome}",
        "diagnosis":{diagnosis},"message":"it is not 42","spots":[],"notes":[],
        "figures":[{{"what":"answer","value":41.0,"unit":"of 42"}}],"device":null}}"##
    );
    std::fs::write(path, verdict).unwrap();
}
"###;

/// A launch at a line of that file, in a run with delays or without.
fn run(file: &Path, kernel: &str, seed: Option<u64>) -> Trace {
    let mut b = Builder::new();
    b.file(&file.display().to_string());
    b.line(7);
    let kernel = b.name(kernel);
    let (stream, accesses) = (StreamId(1), Vec::new());
    b.call("cuLaunchKernel", Op::Launch { stream, kernel, accesses, assumed: false, blocks: 1 });
    b.call("cuStreamSynchronize", Op::StreamSync { stream });
    let mut trace = b.trace();
    trace.header.seed = seed;
    trace.header.device.kind = DeviceKind::Emulated;
    trace
}

/// A grade binary and its two traces.
fn graded(root: &Path, folder: &str, whose: &str, cases: &str) {
    write(root, &format!("{folder}/tests/grade.rs"), GRADE.replace("CASES", cases).as_bytes());
    for (name, seed) in [("plain", None), ("delayed", Some(5))] {
        let file = root.join(folder).join("src/lib.rs");
        let trace = run(&file, &format!("{whose}_{name}"), seed);
        let mut writer = Writer::new(Vec::new(), &trace.header).expect("a header");
        trace.items.iter().for_each(|item| writer.write(item).expect("an item"));
        let bytes = writer.finish().expect("an end mark");
        write(root, &format!("{folder}/{name}.trace"), &bytes);
    }
}

/// A workspace of one exercise and its solution.
fn course(yours: &str, solutions: &str) -> tempfile::TempDir {
    let root = workspace(["exercises", "solutions"], &[("sum", RIGHT)]);
    graded(root.path(), "exercises/01_sum", "yours", yours);
    write(root.path(), "solutions/01_sum/src/lib.rs", RIGHT);
    package(root.path(), "solutions/01_sum", "sum_solution", &["grade"]);
    graded(root.path(), "solutions/01_sum", "solution", solutions);
    root
}

/// The cases that were run, each with its seed.
fn ran(root: &Path, folder: &str) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(root.join(folder).join("ran")).unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.map(|(case, seed)| (case.to_owned(), seed.to_owned())).collect()
}

const PASSES: &str =
    r#"("first", "passed", "", 3), ("second", "passed", "", 3), ("third", "passed", "", 3)"#;

#[test]
fn the_first_case_that_does_not_pass_is_drawn_with_the_solution_below() {
    let cases = r#"("first", "passed", "", 3), ("second", "wrong", "wrong-value", 2),
        ("third", "wrong", "wrong-value", 1)"#;
    let root = course(cases, PASSES);
    let root = root.path();
    let (text, code) = said(root, &["trace", "1", "--format", "text"]);
    assert_eq!(code, Some(0), "{text}");
    let (yours, solution) = text.split_once("\nthe solution's run: passed").expect("there are two");
    assert!(yours.starts_with("01 sum: second\n\n"), "{text}");
    assert!(yours.contains("\nyour run: wrong, on written by hand\n"), "{text}");
    assert!(yours.contains("\nIt is not 42.\n"), "{text}");
    let compared = yours.lines().find_map(|line| line.trim_start().strip_prefix("answer "));
    assert_eq!(compared.map(|line| line.matches("41 of 42").count()), Some(2), "{text}");
    // What failed shows in its last run; the solution's nearest one like it is beside it.
    assert!(
        yours.contains("kernel yours_delayed on stream 1  exercises/01_sum/src/lib.rs:7\n"),
        "{text}"
    );
    assert!(yours.contains("This is run 2 of the 2 that the case made"), "{text}");
    assert!(solution.contains("kernel solution_delayed on stream 1\n"), "{text}");
    assert!(solution.contains("This is run 2 of the 3 that the case made"), "{text}");
    assert!(!solution.contains("lib.rs") && solution.contains("Its source lines are left out"));

    let (mine, theirs) = (ran(root, "exercises/01_sum"), ran(root, "solutions/01_sum"));
    let names: Vec<&str> = mine.iter().map(|(case, _)| case.as_str()).collect();
    assert_eq!(names, ["first", "second"]);
    // The same sizes and data.
    assert_eq!(theirs, mine[1..]);
}

#[test]
fn its_text_fits_a_narrow_terminal() {
    let root = course(PASSES, PASSES);
    let arguments = ["trace", "1", "--format", "text"];
    let mut terminal = Terminal::start_sized(root.path(), &arguments, (60, 60));
    assert_eq!(terminal.end(), 0, "{}", terminal.screen());
    let written = terminal.written();
    // Before it, what was going on stood in the same place.
    let (_, text) = written.rsplit_once("01 sum: first").expect("that is its first line");
    assert!(text.contains("key: K kernel"), "{text}");
    assert!(text.lines().all(|line| line.trim_end().chars().count() <= 60), "{text}");
}

#[test]
fn a_case_and_a_format_can_be_asked_for() {
    let root = course(PASSES, PASSES);
    let root = root.path();
    let (out, code) = said(root, &["trace", "sum", "--case", "third", "--seed", "12"]);
    assert_eq!(code, Some(0), "{out}");
    let path = root.join("target/trace/sum-third.html");
    assert_eq!(Path::new(out.trim()), path.canonicalize().expect("it is there"));
    let page = std::fs::read_to_string(&path).expect("it can be read");
    // Of runs that went well the first one, which is without delays.
    assert!(page.contains("kernel yours_plain") && page.contains("kernel solution_plain"));
    assert!(!page.contains("delayed") && !page.contains("solutions/01_sum"));
    let third = [("third".to_owned(), "12".to_owned())];
    assert_eq!(
        (&ran(root, "exercises/01_sum")[..], &ran(root, "solutions/01_sum")[..]),
        (&third[..], &third[..])
    );

    // Another case has another file.
    assert_eq!(said(root, &["trace", "sum", "--case", "first"]).1, Some(0));
    assert!(root.join("target/trace/sum-first.html").is_file());
    assert_eq!(std::fs::read_to_string(path).expect("it can be read"), page);
    std::fs::remove_file(root.join("exercises/01_sum/ran")).expect("it is there");

    let (text, code) = said(root, &["trace", "1", "--solutions", "--format", "text"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("\nthe solution's run: passed") && !text.contains("your run"), "{text}");
    assert!(
        text.contains("kernel solution_plain on stream 1  solutions/01_sum/src/lib.rs:7\n"),
        "{text}"
    );

    let output = xtask(root, &["trace", "1", "--case", "thrid"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        complaint(&output),
        "error: 01 sum has no case `thrid`; it has first, second, third\n"
    );
}

fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn what_cannot_be_drawn_says_why() {
    let root = course(r#"("first", "wrong", "wrong-value", 0)"#, PASSES);
    let root = root.path();
    let (text, code) = said(root, &["trace", "1", "--format", "text"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.starts_with("01 sum: first ended without a trace\n"), "{text}");
    assert!(text.contains("wrong [wrong-value]"), "{text}");

    // Without the solution's run one's own is drawn.
    graded(root, "exercises/01_sum", "yours", r#"("other", "wrong", "wrong-value", 1)"#);
    write(root, "solutions/01_sum/src/lib.rs", b"//! Nothing that compiles.\nfn\n");
    let output = xtask(root, &["trace", "1", "--format", "text"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("your run: wrong") && !text.contains("the solution's run"), "{text}");
    assert!(
        complaint(&output).contains("warning: the solution's run is not drawn: "),
        "{output:?}"
    );

    write(root, "exercises/01_sum/src/lib.rs", b"//! Nothing that compiles.\nfn\n");
    let (text, code) = said(root, &["trace", "1"]);
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("does not compile"), "{text}");
}

/// The whole way, with a real exercise: its starter as the learner gets it, on the emulated device.
#[test]
fn the_first_exercise_is_drawn() {
    let copy = copy();
    let arguments = ["trace", "1", "--device", "emulated", "--format", "text"];
    let mut command = command(copy.path(), &arguments);
    let output = command.env("CARGO_TARGET_DIR", target()).output().expect("xtask runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", complaint(&output));
    let (yours, solution) = text.split_once("\nthe solution's run: passed").expect("there are two");
    assert!(yours.contains("your run: blocked, on emulated device (no GPU)\n"), "{text}");
    let source = copy.path().join("exercises/01_async_launch/src/lib.rs");
    let source = std::fs::read_to_string(source).expect("it can be read");
    // Of the first function's calls.
    let line =
        |call: &str| source.lines().position(|line| line.contains(call)).expect("a line") + 1;
    let place = |call: &str| format!("  exercises/01_async_launch/src/lib.rs:{}", line(call));
    let launch = format!("kernel spin on stream gpu.stream{}\n", place("launch_builder(&spin)"));
    assert!(yours.contains(&launch), "{text}");
    assert!(yours.contains(&format!("cuStreamSynchronize{}", place(".synchronize()"))), "{text}");
    assert!(solution.contains("cuStreamSynchronize  Held the host for "), "{text}");
    assert!(!solution.contains("lib.rs"), "{text}");
    // What sets the two apart is the learner's own reading, which is not in the record. The kernel takes 10 ms
    // at least, and the starter waits for it first.
    let figures: Vec<f64> = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix("launch came back after "))
        .expect("it is a figure")
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    assert!(figures.len() == 2 && figures[0] >= 10.0, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}
