//! Every way in which a case can end gets its own outcome, and takes nothing down with it.
//!
//! The binary is a grade binary for the cases below and, at the same time, the test that supervises
//! them.

#[path = "src/learner.rs"]
mod learner;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaContext, CudaFunction, CudaSlice, CudaStream};
use cudarc::nvrtc::Ptx;
use libtest_mimic::{Arguments, Failed, Trial};
use streamlings_grade::supervise::{CaseRun, Supervisor};
use streamlings_grade::{Cases, Finding, Grader, diagnosis};
use streamlings_trace::format::Reader;
use streamlings_trace::regions::regions;

/// What a run must look like: `outcome code at: message`, with `*` at its end for any rest.
type Row = (&'static str, fn(&mut Grader) -> Result<(), Finding>, &'static str);

const ROWS: &[Row] = &[
    ("passes", |grader| pass_if(grader.run(learner::returns)?.value == 42), "passed"),
    (
        "passes_twice",
        |grader| {
            grader.run(learner::returns)?;
            pass_if(grader.run_perturbed(7, learner::returns)?.value == 42)
        },
        "passed",
    ),
    (
        "finds",
        |_| Err(Finding::new(diagnosis::WRONG_VALUE, "41 is not 42")),
        "wrong wrong-value: 41 is not 42",
    ),
    (
        "fails_to_set_up",
        |_| pass_if("?".parse::<u32>()? == 1),
        "grader error setup-failed: the grading case failed: invalid digit*",
    ),
    (
        "not_done",
        |grader| grader.run(learner::is_not_done).map(drop),
        "not done not-done lib.rs:todo: the code says that it is not written yet",
    ),
    (
        "not_implemented",
        |grader| grader.run(learner::is_not_implemented).map(drop),
        "not done not-done lib.rs:unimplemented: the code says that it is not written yet",
    ),
    (
        "panics",
        |grader| grader.run(learner::panics).map(drop),
        "crashed panicked lib.rs:nothing.expect: it panicked: there is something",
    ),
    (
        "panics_below",
        |grader| grader.run(learner::panics_below).map(drop),
        "crashed panicked lib.rs:repeat: it panicked: capacity overflow",
    ),
    (
        "panics_in_a_thread",
        |grader| grader.run(learner::panics_in_a_thread).map(drop),
        "crashed panicked lib.rs:in a thread: it panicked: in a thread",
    ),
    (
        "panics_while_dropping",
        |grader| grader.run(learner::panics_while_dropping).map(drop),
        "crashed panicked lib.rs:while dropping: it panicked: while dropping",
    ),
    (
        "panics_in_the_case",
        |grader| grader.run(learner::returns_what_panics_later).map(drop),
        "crashed panicked lib.rs:while dropping: it panicked: while dropping",
    ),
    (
        "case_panics",
        |_| pass_if(Vec::<u32>::new()[std::hint::black_box(1)] == 0),
        "grader error grader-panicked: the grading case panicked at harness/grade/tests*",
    ),
    (
        "panics_twice",
        |grader| grader.run(learner::panics_twice).map(drop),
        "crashed crashed: it panicked while it dropped a value after another panic (SIGABRT)",
    ),
    (
        "overflows_its_stack",
        |grader| grader.run(|| learner::overflows_its_stack(0)).map(drop),
        "crashed crashed: it overflowed its stack (SIGABRT)",
    ),
    (
        "aborts",
        |grader| grader.run(learner::aborts).map(drop),
        "crashed crashed: the process died of SIGABRT",
    ),
    (
        "dereferences_null",
        |grader| grader.run(learner::dereferences_null).map(drop),
        "crashed crashed: the process died of SIGSEGV",
    ),
    (
        "exits_early",
        |grader| grader.run(learner::exits_early).map(drop),
        "no verdict no-verdict: the process ended itself (exit status: 0) before the case was judged",
    ),
    (
        "loops_for_ever",
        |grader| grader.run(learner::loops_for_ever).map(drop),
        "hung hung: it was still running after 2 s",
    ),
    (
        "floods_its_output",
        |grader| grader.run(learner::floods_its_output).map(drop),
        "crashed over-limit: it wrote more than 1 MiB of output",
    ),
    ("leaves_a_child", |grader| grader.run(learner::leaves_a_child).map(drop), "passed"),
    (
        "hides_the_verdict",
        |grader| pass_if(grader.run(learner::reads_the_environment)?.value.is_none()),
        "passed",
    ),
    ("leaves_all_well", |grader| on_device(grader, |_| ()), "passed"),
    (
        "leaves_a_fault",
        |grader| on_device(grader, |at| learner::faults(&at.stream, &at.poke)),
        "wrong left-an-error lib.rs:the fault: when the function had returned, a synchronize said CUDA_ERROR_ILLEGAL_ADDRESS",
    ),
    (
        "leaves_no_context_current",
        |grader| in_current_context(grader, learner::leaves_no_context_current),
        "wrong left-an-error: the context that was current*",
    ),
    (
        "leaves_no_context_current_for_its_caller",
        |grader| on_device(grader, |_| learner::leaves_no_context_current()),
        "wrong left-an-error: the context that was current*",
    ),
    (
        // It is the primary one, for which the driver refuses that.
        "may_not_destroy_its_context",
        |grader| on_device(grader, |_| learner::destroys_its_context()),
        "passed",
    ),
    (
        "resets_its_context",
        |grader| on_device(grader, |_| learner::resets_its_context()),
        "wrong left-an-error: *",
    ),
    (
        "gives_back_what_others_own",
        |grader| {
            let OnDevice { stream, memory, .. } = OnDevice::new()?;
            grader.run(|| learner::gives_back_what_others_own(&stream, &memory))?;
            // cudarc keeps a drop's error for the next call.
            drop(memory);
            Ok(stream.synchronize()?)
        },
        "wrong left-an-error lib.rs:sys::cuMemFreeAsync: what the function left or returned cannot be used",
    ),
    (
        "has_a_fault_before_it_runs",
        |grader| {
            let at = OnDevice::new()?;
            learner::faults(&at.stream, &at.poke);
            at.stream.synchronize()?;
            grader.run(learner::returns).map(drop)
        },
        "grader error setup-failed: *",
    ),
    (
        "returns_an_error",
        |grader| {
            let at = OnDevice::new()?;
            let run = grader.run(|| learner::returns_an_error(&at.stream))?;
            run.ok().map(drop)
        },
        "wrong returned-error lib.rs:too much: the function returned an error: CUDA_ERROR_OUT_OF_MEMORY",
    ),
];

/// What a case has on the device.
struct OnDevice {
    stream: Arc<CudaStream>,
    poke: CudaFunction,
    memory: CudaSlice<f32>,
}

impl OnDevice {
    fn new() -> Result<OnDevice, Finding> {
        let stream = CudaContext::new(0)?.new_stream()?;
        let module = stream.context().load_module(Ptx::from_src(streamlings_kernels::PTX))?;
        let poke = module.load_function("poke")?;
        let memory = stream.alloc_zeros(16)?;
        stream.synchronize()?;
        Ok(OnDevice { stream, poke, memory })
    }
}

/// A case that looks at its memory when the code has run.
fn on_device(grader: &mut Grader, code: impl FnOnce(&OnDevice)) -> Result<(), Finding> {
    let at = OnDevice::new()?;
    grader.run(|| code(&at))?;
    let values = at.stream.clone_dtoh(&at.memory);
    // Once the device is in an error, giving things back fails as well.
    let stream = at.stream.clone();
    std::mem::forget(at);
    pass_if(values?.len() == 16)?;
    Ok(stream.synchronize()?)
}

/// A case that takes the context to be current, as cudarc's own calls do not.
fn in_current_context(grader: &mut Grader, code: impl FnOnce()) -> Result<(), Finding> {
    let _at = OnDevice::new()?;
    grader.run(code)?;
    Ok(cudarc::driver::result::ctx::synchronize()?)
}

fn pass_if(right: bool) -> Result<(), Finding> {
    if right { Ok(()) } else { Err(Finding::new(diagnosis::WRONG_VALUE, "not right")) }
}

fn main() -> ExitCode {
    if let Some(code) = streamlings_grade::supervise::main_of_guard() {
        return code;
    }
    if std::env::args().nth(1).as_deref() == Some("--case") {
        let cases = ROWS.iter().fold(Cases::new(), |cases, (name, run, _)| cases.case(name, *run));
        let package = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/endings");
        return streamlings_grade::main(package, cases);
    }
    let arguments = Arguments::from_args();
    let mut trials: Vec<Trial> = ROWS
        .iter()
        .map(|(name, _, wanted)| Trial::test(*name, move || check(&run(name)?, wanted)))
        .collect();
    trials.push(Trial::test("a_child_that_is_left_ends", a_child_that_is_left_ends));
    trials.push(Trial::test("the_traces_are_kept", the_traces_are_kept));
    trials.push(Trial::test("a_flood_shows_its_first_lines", || {
        let text = run("floods_its_output")?.output.text();
        require(text.starts_with("line 0\nline 1\n"), &text)
    }));
    trials.push(Trial::test("another_program_has_no_verdict", || {
        let run = supervisor().run_case(Path::new("/bin/true"), "passes");
        check(&run, "no verdict no-verdict: the process ended itself (exit status: 0)*")
    }));
    trials.push(Trial::test("a_missing_program_is_the_graders_fault", || {
        let run = supervisor().run_case(Path::new("/nonexistent"), "passes");
        check(&run, "grader error setup-failed: /nonexistent could not be run: No such file*")
    }));
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn supervisor() -> Supervisor {
    Supervisor {
        output_limit: 1 << 20,
        device: Some("emulated".to_owned()),
        ..Supervisor::default()
    }
}

fn run(case: &str) -> Result<CaseRun, Failed> {
    let mut supervisor = supervisor();
    if case == "loops_for_ever" {
        supervisor.time_limit = Duration::from_secs(2);
    }
    Ok(supervisor.run_case(&std::env::current_exe()?, case))
}

fn require(holds: bool, text: &str) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(text.into()) }
}

/// Compares a run with what a row wants; `lib.rs:TEXT` stands for the line of the learner's code that
/// holds that text.
fn check(run: &CaseRun, wanted: &str) -> Result<(), Failed> {
    let verdict = &run.verdict;
    let mut got = verdict.outcome.to_string();
    if let Some(code) = &verdict.diagnosis {
        got += &format!(" {code}");
    }
    if let Some(at) = verdict.at() {
        require(at.path == "harness/grade/tests/endings/src/learner.rs", &at.to_string())?;
        got += &format!(" {}", at.line);
    }
    if !verdict.message.is_empty() {
        got += &format!(": {}", verdict.message);
    }
    let mut wanted = wanted.to_owned();
    if let Some((before, rest)) = wanted.clone().split_once(" lib.rs:") {
        let (text, after) = rest.split_once(": ").ok_or("a row with a line has a message")?;
        let source = include_str!("src/learner.rs");
        let text = if ["todo", "unimplemented"].contains(&text) {
            format!("    {text}!(")
        } else {
            text.to_owned()
        };
        let line = source.lines().position(|line| line.contains(&text)).ok_or("no such line")? + 1;
        wanted = format!("{before} {line}: {after}");
    }
    let right = match wanted.strip_suffix('*') {
        Some(start) => got.starts_with(start),
        None => got == wanted,
    };
    require(right, &format!("wanted {wanted}\ngot    {got}\n{}", run.text()))
}

fn the_traces_are_kept() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let supervisor = Supervisor { keep_traces: Some(folder.path().to_owned()), ..supervisor() };
    let run = supervisor.run_case(&std::env::current_exe()?, "passes_twice");
    check(&run, "passed")?;
    require(run.traces.len() == 2, &format!("{:?}", run.traces))?;
    for (path, seed) in run.traces.iter().zip([None, Some(7)]) {
        let trace = Reader::new(std::fs::File::open(path)?)?.into_trace()?;
        let regions: Vec<String> = regions(&trace).into_iter().map(|region| region.name).collect();
        require(regions == [Grader::RUN], &format!("{regions:?}"))?;
        require(trace.header.seed == seed, "a trace is of another run")?;
    }
    Ok(())
}

fn a_child_that_is_left_ends() -> Result<(), Failed> {
    let began = Instant::now();
    let run = run("leaves_a_child")?;
    check(&run, "passed")?;
    require(began.elapsed() < Duration::from_secs(20), "the child was waited for")?;
    let text = run.output.text();
    let pid = text.trim().strip_prefix("child ").ok_or_else(|| format!("no child: {text}"))?;
    // Once nobody reaps it any more it is a zombie at most: state Z, or gone.
    for _ in 0..100 {
        match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
            Err(_) => return Ok(()),
            Ok(stat) if stat.contains(") Z ") => return Ok(()),
            Ok(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
    Err("the child is still running".into())
}
