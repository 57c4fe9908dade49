//! The grading cases of exercise 01.

use std::time::Duration;

use super::exercise;
use streamlings::cudarc::driver::{CudaSlice, DevicePtr};
use streamlings::driver::recording;
use streamlings::grade::diagnosis as d;
use streamlings::grade::{Cases, Finding, Grader, Run};
use streamlings::trace::blocks::{Block, blocks_in};
use streamlings::trace::regions::{Region, regions};
use streamlings::trace::{Call, MarkKind, Op, Seq, Trace};
use streamlings::{Gpu, LaunchConfig, PushKernelArg};

pub fn cases() -> Cases {
    Cases::new()
        .case("enqueue_and_wait", enqueue_and_wait)
        .case("overlap_host_work", overlap_host_work)
        .case("which_launch_failed_first", |grader| which_launch_failed(grader, Some(0)))
        .case("which_launch_failed_middle", |grader| which_launch_failed(grader, Some(2)))
        .case("which_launch_failed_last", |grader| which_launch_failed(grader, Some(LAUNCHES - 1)))
        .case("which_launch_failed_none", |grader| which_launch_failed(grader, None))
}

/// A clock that is read beside another one differs by what lies between the two readings.
const CLOCKS_APART: Duration = Duration::from_micros(50);

/// What the record says of the learner's run.
struct Record {
    region: Region,
    /// The last launch in it.
    launch: Call,
    /// What held the host in it, or would have.
    blocks: Vec<Block>,
}

impl Record {
    fn of(trace: &Trace) -> Result<Record, Finding> {
        let region = regions(trace)
            .into_iter()
            .find(|region| region.name == Grader::RUN)
            .ok_or_else(|| Finding::new(d::SETUP_FAILED, "the trace has no region of the run"))?;
        let launch = trace
            .calls()
            .filter(|call| region.holds(call.thread, call.seq))
            .filter(|call| matches!(call.op, Op::Launch { .. }) && call.succeeded())
            .last()
            .cloned()
            .ok_or_else(|| Finding::new(d::NOTHING_LAUNCHED, "the run launched no kernel"))?;
        let all = streamlings::trace::blocks::blocks(trace);
        let blocks = blocks_in(&all, &region).cloned().collect();
        Ok(Record { region, launch, blocks })
    }

    fn blocks_after_launch(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter().filter(|block| block.seq > self.launch.seq)
    }
}

fn nanos(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

/// A duration as a sentence has it.
fn ms(duration: Duration) -> String {
    format!("{:.3} ms", duration.as_secs_f64() * 1e3)
}

/// Opens the device and runs each kernel once, so that nothing of a first use is in what is graded.
fn open() -> Result<Gpu, Finding> {
    let gpu = Gpu::new()?;
    let (spin, nothing) = (gpu.kernel("spin")?, 0_u64);
    // SAFETY: `spin` takes one unsigned 64-bit integer.
    unsafe {
        let mut launch = gpu.stream.launch_builder(&spin);
        launch.arg(&nothing).launch(LaunchConfig::for_num_elems(1))?
    };
    gpu.stream.synchronize()?;
    Ok(gpu)
}

fn enqueue_and_wait(grader: &mut Grader) -> Result<(), Finding> {
    let gpu = open()?;
    let spin = Duration::from_micros(grader.rng().u64(10_000..20_000));
    let run = grader.run(|| exercise::enqueue_and_wait(&gpu, spin.as_nanos() as u64))?.ok()?;
    let Run { value: times, trace } = run;
    grader.figure("launch came back after", times.launched.as_secs_f64() * 1e3, "ms");
    grader.figure("work was done after", times.done.as_secs_f64() * 1e3, "ms");

    let record = Record::of(&trace)?;
    let launch_at = grader.at(&trace, &record.launch);
    let Some(wait) = record.blocks_after_launch().next() else {
        let message = format!("the kernel takes {}, and nothing waits for it", ms(spin));
        return Err(Finding::new(d::LAUNCH_NOT_WAITED_FOR, message)
            .at(launch_at, "launched here, and never waited for"));
    };
    let wait_at = wait.at.as_ref().and_then(|frame| grader.frame_at(frame));

    // Read before the wait was over, or after?
    let wait_over = nanos(wait.left - record.launch.entered);
    if times.launched + CLOCKS_APART >= wait_over && times.done >= wait_over {
        let message = format!(
            "the first reading says {}, and the launch itself took {}",
            ms(times.launched),
            ms(nanos(record.launch.held()))
        );
        return Err(Finding::new(d::BLOCKED_BEFORE_FIRST_READING, message)
            .at(wait_at, format!("held the host for {}", ms(nanos(wait.left - wait.entered))))
            .note(wait.reason.sentence()));
    }
    if let Some(extra) = record.blocks.iter().find(|block| block.seq != wait.seq) {
        let message = format!("{} calls hold the host, and one does", record.blocks.len());
        return Err(Finding::new(d::WAITED_TOO_OFTEN, message)
            .at(extra.at.as_ref().and_then(|frame| grader.frame_at(frame)), "one of them")
            .note(extra.reason.sentence()));
    }
    check_spin(grader, &trace, &record, spin)?;
    // Each figure has to fit between what the record says must be in it and what can be at most.
    let run_took = nanos(record.region.host());
    let before_launch = nanos(record.launch.entered - record.region.entered);
    let launched = nanos(record.launch.held())
        ..=nanos(wait.entered - record.launch.entered) + before_launch + CLOCKS_APART;
    let done = wait_over..=run_took + CLOCKS_APART;
    let figures = [("first", times.launched, launched), ("second", times.done, done)];
    for (which, figure, recorded) in figures {
        if figure + CLOCKS_APART < *recorded.start() || figure > *recorded.end() {
            let message = format!(
                "the {which} reading says {}, and the record says {} to {}",
                ms(figure),
                ms(*recorded.start()),
                ms(*recorded.end())
            );
            return Err(Finding::new(d::FIGURE_DISAGREES_WITH_RECORD, message)
                .at(launch_at, "of this launch"));
        }
    }
    Ok(())
}

fn overlap_host_work(grader: &mut Grader) -> Result<(), Finding> {
    let gpu = open()?;
    let spin = Duration::from_micros(grader.rng().u64(40_000..50_000));
    let answer = grader.rng().u32(..);
    let mut calls = 0_u32;
    // Timed, so that a GPU tells how long the kernel ran, too.
    let run = grader.run_timed(|| {
        exercise::overlap_host_work(&gpu, spin.as_nanos() as u64, || {
            recording::mark(MarkKind::Begin { region: CLOSURE.to_owned() });
            calls += 1;
            std::thread::sleep(spin);
            recording::mark(MarkKind::End { region: CLOSURE.to_owned() });
            answer
        })
    })?;
    let Run { value, trace } = run.ok()?;
    let record = Record::of(&trace)?;
    grader.figure("kernel and closure, each", spin.as_secs_f64() * 1e3, "ms");
    grader.figure("both together", nanos(record.region.host()).as_secs_f64() * 1e3, "ms");

    let launch_at = grader.at(&trace, &record.launch);
    let closure = regions(&trace).into_iter().find(|region| region.name == CLOSURE);
    let Some(closure) = closure.filter(|_| calls == 1 && value == answer) else {
        let message = format!("the closure ran {calls} times, and its result was {answer}");
        return Err(Finding::new(d::CLOSURE_NOT_RUN, message));
    };
    let closed = closure.end.unwrap_or(Seq(u64::MAX));
    if closed < record.launch.seq {
        let message = format!("the device had nothing to do during its {}", ms(spin));
        return Err(Finding::new(d::CLOSURE_BEFORE_LAUNCH, message)
            .at(launch_at, "launched here, after the closure"));
    }
    let early = record
        .blocks_after_launch()
        .find(|block| block.seq < closure.begin && block.left <= closure.entered);
    if let Some(wait) = early {
        let message = format!(
            "kernel and closure take {} each, and together they took {}",
            ms(spin),
            ms(nanos(record.region.host()))
        );
        return Err(Finding::new(d::CLOSURE_AFTER_WAIT, message)
            .at(
                wait.at.as_ref().and_then(|frame| grader.frame_at(frame)),
                format!("held the host for {}", ms(nanos(wait.left - wait.entered))),
            )
            .note(wait.reason.sentence()));
    }
    if !record.blocks_after_launch().any(|block| block.seq > closed) {
        let message = format!("the kernel takes {}, and nothing waits for it", ms(spin));
        return Err(Finding::new(d::RETURNED_BEFORE_DONE, message)
            .at(launch_at, "launched here, and never waited for"));
    }
    check_spin(grader, &trace, &record, spin)
}

/// The kernel has to have run for the time that it was given, where the device tells.
fn check_spin(
    grader: &Grader,
    trace: &Trace,
    record: &Record,
    spin: Duration,
) -> Result<(), Finding> {
    let ran = record.launch.ran.map(|span| nanos(span.end - span.start));
    match ran.filter(|ran| *ran < spin.mul_f64(0.9)) {
        Some(ran) => {
            let message =
                format!("the kernel was to run for {}, and it ran for {}", ms(spin), ms(ran));
            Err(Finding::new(d::KERNEL_TOO_SHORT, message)
                .at(grader.at(trace, &record.launch), "launched here"))
        }
        None => Ok(()),
    }
}

/// The region in which the closure runs.
const CLOSURE: &str = "closure";

/// How many launches one of which faults.
const LAUNCHES: usize = 4;

/// An address that no allocation has.
const BAD: u64 = 0x10;

fn which_launch_failed(grader: &mut Grader, faulty: Option<usize>) -> Result<(), Finding> {
    let gpu = open()?;
    let buffer: CudaSlice<f32> = gpu.stream.alloc_zeros(LAUNCHES)?;
    let start = buffer.device_ptr(&gpu.stream).0;
    let targets: Vec<u64> = (0..LAUNCHES)
        .map(|index| if Some(index) == faulty { BAD } else { start + 4 * index as u64 })
        .collect();
    // What the device is busy with when the first launch comes: no launch can have faulted before the
    // last one has returned, unless somebody waits.
    let busy = Duration::from_millis(30).as_nanos() as u64;
    let spin = gpu.kernel("spin")?;
    gpu.stream.synchronize()?;
    let run = grader.run(|| {
        // SAFETY: `spin` takes one unsigned 64-bit integer.
        let queued = unsafe {
            let mut launch = gpu.stream.launch_builder(&spin);
            launch.arg(&busy).launch(LaunchConfig::for_num_elems(1))
        };
        queued.and_then(|_| exercise::which_launch_failed(&gpu, &targets))
    })?;
    // After a fault every call of the context fails, the buffer's drop included.
    std::mem::forget(buffer);

    let blamed = run.ok()?;
    let Run { value: answer, trace } = blamed;
    let launches: Vec<&Call> = trace.calls().filter(|call| is_poke(&trace, call)).collect();
    if launches.is_empty() {
        return Err(Finding::new(d::NOTHING_LAUNCHED, "`poke` was never launched"));
    }
    if answer == faulty {
        return Ok(());
    }
    let name = |index: Option<usize>| match index {
        Some(index) => format!("launch {index}"),
        None => "none".to_owned(),
    };
    let message = format!("the answer is {}, and it was {}", name(answer), name(faulty));
    let run_region = regions(&trace).into_iter().find(|region| region.name == Grader::RUN);
    let in_run = |call: &&Call| {
        run_region.as_ref().is_some_and(|region| region.holds(call.thread, call.seq))
    };
    let reporting = trace.calls().filter(in_run).find(|call| !call.succeeded());
    let Some(reporting) = reporting else {
        if faulty.is_none() {
            return Err(Finding::new(d::WRONG_LAUNCH_BLAMED, message));
        }
        let last = launches.last().copied();
        return Err(Finding::new(d::FAULT_NOT_SEEN, message)
            .at(last.and_then(|call| grader.at(&trace, call)), "returned CUDA_SUCCESS each time"));
    };
    let before = launches.iter().filter(|call| call.seq <= reporting.seq).count();
    let code = if answer.is_some() && answer == before.checked_sub(1) {
        d::BLAMED_THE_REPORTING_CALL
    } else {
        d::WRONG_LAUNCH_BLAMED
    };
    let function = trace.name(reporting.function);
    Err(Finding::new(code, message)
        .at(grader.at(&trace, reporting), format!("`{function}` is the first call with an error")))
}

fn is_poke(trace: &Trace, call: &Call) -> bool {
    matches!(call.op, Op::Launch { kernel, .. } if trace.name(kernel) == "poke")
}
