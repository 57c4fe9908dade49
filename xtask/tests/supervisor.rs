//! Programs that must not pass, must not hang the supervisor, and must leave nothing behind.
//!
//! The endings of a grade binary are tested where it is made (harness/grade); here the whole program is
//! hostile, and may know all that the protocol says. Called with `--case NAME`, this binary is such a
//! program; otherwise it is the test that supervises it.

#![forbid(unsafe_code)]

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use nix::sys::signal::{Signal, kill, raise};
use nix::unistd::getppid;
use streamlings_grade::supervise::{CaseRun, Confinement, Limits, Supervisor};
use streamlings_grade::{Finding, Job, Verdict, diagnosis};

/// A hostile program, and what its run must look like: `outcome: message`, `*` for any rest.
type Row = (&'static str, fn(), &'static str);

const LIMIT: Duration = Duration::from_secs(1);

const ROWS: &[Row] = &[
    ("does_as_told", || pass(job()), "passed"),
    ("panics", || panic!("there"), NOT_JUDGED_101),
    ("aborts", || std::process::abort(), "crashed: the process died of SIGABRT"),
    (
        "overflows_its_stack",
        || println!("{}", endless(0)),
        "crashed: it overflowed its stack (SIGABRT)",
    ),
    ("segfaults", || die_of(Signal::SIGSEGV), "crashed: the process died of SIGSEGV"),
    ("is_killed", || die_of(Signal::SIGKILL), "crashed: the process died of SIGKILL"),
    ("exits_0", || std::process::exit(0), NOT_JUDGED),
    ("talks_like_libtest", || println!("test result: ok. 1 passed; 0 failed"), NOT_JUDGED),
    ("prints_a_verdict", || println!("{}", json(&told(&job()))), NOT_JUDGED),
    ("closes_its_input", closes_its_input, NOT_JUDGED),
    (
        "writes_garbage",
        || write(&job(), b"passed\n"),
        "no verdict: the verdict file cannot be read (expected value at line 1 column 1)",
    ),
    (
        "writes_half_a_verdict",
        || write(&job(), &json(&told(&job())).into_bytes()[..20]),
        "no verdict: the verdict file cannot be read (*",
    ),
    ("writes_nothing", || write(&job(), b""), "no verdict: the verdict file cannot be read (*"),
    ("writes_a_folder", writes_a_folder, "no verdict: the verdict file cannot be read (*"),
    ("guesses_the_nonce", || pass(Job { nonce: "0".repeat(32), ..job() }), NOT_OURS),
    ("passes_another_case", || pass_as(&job(), "does_as_told", |_| {}), NOT_OURS),
    (
        "passes_of_another_version",
        || pass_as(&job(), CASE, |verdict| verdict.schema += 1),
        NOT_OURS,
    ),
    ("passes_with_a_diagnosis", passes_with_a_diagnosis, NOT_OURS),
    ("invents_a_diagnosis", invents_a_diagnosis, NOT_OURS),
    (
        "passes_and_fails",
        || {
            pass(job());
            std::process::exit(3)
        },
        "crashed: the process ended with exit status: 3 after the case was judged",
    ),
    (
        "passes_and_dies",
        || {
            pass(job());
            std::process::abort()
        },
        "crashed: the process died of SIGABRT",
    ),
    ("loops_for_ever", sleeps_for_ever, "hung: it was still running after 1 s"),
    ("passes_and_stays", passes_and_stays, "hung: it was still running after 1 s"),
    ("stops_itself", || die_of(Signal::SIGSTOP), "hung: it was still running after 1 s"),
    ("floods_its_output", || flood(&mut std::io::stdout()), FLOOD),
    ("floods_its_errors", || flood(&mut std::io::stderr()), FLOOD),
    ("leaves_a_child", leaves_a_child, "passed"),
    ("leaves_a_daemon", leaves_a_daemon, "passed"),
    ("fills_a_pipe_that_a_child_holds", fills_a_pipe, "passed"),
    ("takes_memory_without_end", takes_memory, MEMORY),
    ("lets_its_children_take_memory", children_take_memory, MEMORY),
    ("writes_a_large_file", writes_a_file, "crashed: it wrote a file of more than 8 MiB (SIGXFSZ)"),
    ("starts_processes_without_end", multiplies, "crashed: it ran more than 16 processes"),
    (
        "kills_its_guard",
        || kill(getppid(), Signal::SIGKILL).expect("it is one's own"),
        "no verdict: the process that watched over the case was killed before the case had ended",
    ),
];

const NOT_JUDGED: &str =
    "no verdict: the process ended itself (exit status: 0) before the case was judged";
const NOT_JUDGED_101: &str =
    "no verdict: the process ended itself (exit status: 101) before the case was judged";
const NOT_OURS: &str = "no verdict: the verdict file is not the grader's own of this run";
const MEMORY: &str = "crashed: it used more than 256 MiB of memory";
const FLOOD: &str = "crashed: it wrote more than 1 MiB of output";

/// Stands for the case's own name.
const CASE: &str = "";

fn main() -> ExitCode {
    if let Some(code) = streamlings_grade::supervise::main_of_guard() {
        return code;
    }
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, flag, name] = &arguments[..]
        && flag == "--case"
    {
        let Some((_, program, _)) = ROWS.iter().find(|(row, ..)| row == name) else {
            return ExitCode::FAILURE;
        };
        program();
        return ExitCode::SUCCESS;
    }
    let mut trials: Vec<Trial> = ROWS
        .iter()
        .map(|(name, _, wanted)| Trial::test(*name, move || check(&run(name)?, wanted)))
        .collect();
    for case in ["leaves_a_child", "leaves_a_daemon"] {
        trials.push(Trial::test(format!("{case}_that_ends"), move || child_ends(case)));
    }
    trials.push(Trial::test("nothing_multiplies_behind_its_end", nothing_multiplies));
    trials.push(Trial::test("a_flood_shows_its_first_lines", || {
        let text = run("floods_its_errors")?.output.text();
        require(text.starts_with("line 0\nline 1\n"), &text)
    }));
    trials.push(Trial::test("a_missing_program_is_not_the_learners_fault", || {
        let run = Supervisor::default().run_case(Path::new("/nonexistent"), "does_as_told");
        check(&run, "grader error: /nonexistent could not be run: No such file*")
    }));
    for confined in [false, true] {
        let name = format!("a_program_that_cannot_start_is_not_the_learners_fault_{confined}");
        trials.push(Trial::test(name, move || cannot_start(confined)));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Runs this binary as the program of that name; however it ends, it may not take much longer than
/// its limit.
fn run(case: &str) -> Result<CaseRun, Failed> {
    let hangs = |row: &&Row| row.0 == case && row.2.starts_with("hung");
    // What does not hang is not to be measured against a clock on a busy machine.
    let time_limit = if ROWS.iter().any(|row| hangs(&row)) { LIMIT } else { 20 * LIMIT };
    let limits = Limits { memory: 256 << 20, processes: 16, file: 8 << 20 };
    let supervisor =
        Supervisor { time_limit, output_limit: 1 << 20, limits, ..Supervisor::default() };
    let began = Instant::now();
    let run = supervisor.run_case(&std::env::current_exe()?, case);
    require(began.elapsed() < time_limit + 20 * LIMIT, "the supervisor waited too long")?;
    Ok(run)
}

/// A file that may not be run, and one whose interpreter is not there.
fn cannot_start(confined: bool) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let program = folder.path().join("program");
    std::fs::write(&program, "#!/nonexistent\n")?;
    let confinement = confined.then(Confinement::system);
    let supervisor = Supervisor { confinement, ..Supervisor::default() };
    let shown = program.display();
    for (mode, why) in [(0o644, "Permission denied*"), (0o755, "No such file*")] {
        std::fs::set_permissions(&program, PermissionsExt::from_mode(mode))?;
        let run = supervisor.run_case(&program, "does_as_told");
        check(&run, &format!("grader error: {shown} could not be run: {why}"))?;
    }
    Ok(())
}

fn require(holds: bool, text: &str) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(text.into()) }
}

fn check(run: &CaseRun, wanted: &str) -> Result<(), Failed> {
    let verdict = &run.verdict;
    let colon = if verdict.message.is_empty() { "" } else { ": " };
    let got = format!("{}{colon}{}", verdict.outcome, verdict.message);
    let right = match wanted.strip_suffix('*') {
        Some(start) => got.starts_with(start),
        None => got == wanted,
    };
    require(right, &format!("wanted {wanted}\ngot    {got}\n{}", run.text()))
}

fn child_ends(case: &str) -> Result<(), Failed> {
    let run = run(case)?;
    let text = run.output.text();
    let pid = text.trim().strip_prefix("child ").ok_or_else(|| format!("no child: {text}"))?;
    // It has been ended, and its end been taken in, before the supervisor returns.
    require(!Path::new("/proc").join(pid).exists(), "the child is still running")
}

/// Every process of this run has this word among its arguments.
const MARK: &str = "1000.825";

fn nothing_multiplies() -> Result<(), Failed> {
    run("starts_processes_without_end")?;
    let left = std::fs::read_dir("/proc")?.flatten().filter(|entry| {
        let line = std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        line.split('\0').any(|argument| argument == MARK)
    });
    match left.count() {
        0 => Ok(()),
        count => Err(format!("{count} processes are still running").into()),
    }
}

// The programs.

/// What the supervisor says on standard input. Read again it says nothing, so that each program reads
/// it once.
fn job() -> Job {
    static JOB: std::sync::OnceLock<Job> = std::sync::OnceLock::new();
    let read = || {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).expect("standard input can be read");
        serde_json::from_str(&text).expect("it is a job")
    };
    JOB.get_or_init(read).clone()
}

/// The case that this process runs.
fn own_case() -> String {
    std::env::args().nth(2).expect("called with --case NAME")
}

fn told(job: &Job) -> Verdict {
    Verdict { nonce: job.nonce.clone(), ..Verdict::passed(&own_case()) }
}

fn json(verdict: &Verdict) -> String {
    serde_json::to_string(verdict).expect("a verdict can be written")
}

fn write(job: &Job, bytes: &[u8]) {
    std::fs::write(&job.verdict, bytes).expect("the verdict's file can be written");
}

fn pass(job: Job) {
    pass_as(&job, CASE, |_| {});
}

fn pass_as(job: &Job, case: &str, change: impl FnOnce(&mut Verdict)) {
    let mut verdict = told(job);
    if case != CASE {
        verdict.case = case.to_owned();
    }
    change(&mut verdict);
    write(job, json(&verdict).as_bytes());
}

fn passes_with_a_diagnosis() {
    pass_as(&job(), CASE, |verdict| verdict.diagnosis = Some("panicked".to_owned()));
}

fn invents_a_diagnosis() {
    let failed = Verdict::failed(&own_case(), Finding::new(diagnosis::PANICKED, "it panicked"));
    let nonce = job().nonce;
    let failed = Verdict { nonce, diagnosis: Some("all-is-well".to_owned()), ..failed };
    write(&job(), json(&failed).as_bytes());
}

fn writes_a_folder() {
    std::fs::create_dir(job().verdict).expect("it can be made");
}

fn closes_its_input() {
    // Its job is larger than nothing, and never read.
    drop(std::io::stdin().lock());
}

fn endless(depth: u64) -> u64 {
    let on_the_stack = std::hint::black_box([depth; 64]);
    if depth == u64::MAX { 0 } else { on_the_stack[1] + endless(std::hint::black_box(depth + 1)) }
}

fn die_of(signal: Signal) {
    // The standard library's handler takes the first SIGSEGV for a stack overflow that it is not.
    loop {
        raise(signal).expect("a process may signal itself");
    }
}

fn sleeps_for_ever() {
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn passes_and_stays() {
    pass(job());
    sleeps_for_ever();
}

fn flood(out: &mut dyn Write) {
    for line in 0_u64.. {
        if writeln!(out, "line {line}").is_err() {
            break;
        }
    }
}

/// A child that has the program's pipes, and outlives it if nobody ends it.
#[expect(clippy::zombie_processes, reason = "that is what it is for")]
fn leaves_a_child() {
    let child = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().expect("it starts");
    println!("child {}", child.id());
    pass(job());
}

/// A child in a session of its own, whose parent has ended.
fn leaves_a_daemon() {
    let script = "echo child $$; exec sleep 1000";
    let status = Command::new("setsid").args(["--fork", "sh", "-c", script]).status();
    assert!(status.expect("it starts").success());
    // It has said who it is before this process ends.
    std::thread::sleep(Duration::from_millis(200));
    pass(job());
}

fn takes_memory() {
    let mut taken = Vec::new();
    loop {
        taken.push(vec![1_u8; 1 << 20]);
        // The test's own machine is not to suffer where the limit does not hold.
        assert!(taken.len() < 4096, "it has 4 GiB");
    }
}

/// None of them takes too much alone.
#[expect(clippy::zombie_processes, reason = "that is what it is for")]
fn children_take_memory() {
    for _ in 0..3 {
        // The shell keeps the text: 100 MB in each.
        let script = "x=$(head -c 100000000 /dev/zero | tr '\\0' x); sleep 1000";
        Command::new("sh").args(["-c", script]).stdin(Stdio::null()).spawn().expect("it starts");
    }
    sleeps_for_ever();
}

fn writes_a_file() {
    let file = job().verdict.with_extension("large");
    let mut file = std::fs::File::create(file).expect("it can be made");
    while file.write_all(&[0; 1 << 16]).is_ok() {}
    panic!("the file cannot be written");
}

/// Each in a session of its own.
fn multiplies() {
    for _ in 0..40 {
        let sleep = ["--fork", "sleep", MARK];
        assert!(Command::new("setsid").args(sleep).status().expect("it starts").success());
    }
    sleeps_for_ever();
}

/// More than a pipe holds, so that somebody must read it, and a child that keeps the pipe open.
#[expect(clippy::zombie_processes, reason = "that is what it is for")]
fn fills_a_pipe() {
    Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().expect("it starts");
    print!("{}", "x".repeat(200_000));
    pass(job());
}
