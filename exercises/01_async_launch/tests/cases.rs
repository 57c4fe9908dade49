//! The grading cases of exercise 01.

use std::time::Duration;

use super::exercise;
use streamlings::cudarc::driver::sys::CUresult;
use streamlings::cudarc::driver::{CudaSlice, DevicePtr};
use streamlings::driver::recording;
use streamlings::grade::checks::{held_run, host_polls, region, stream_named, unhurried};
use streamlings::grade::diagnosis::{self as d, Diagnosis};
use streamlings::grade::{At, Cases, Finding, Grader, Run};
use streamlings::trace::blocks::{Block, blocks, blocks_during};
use streamlings::trace::order::waits::learned;
use streamlings::trace::polls::{Poll, polls};
use streamlings::trace::regions::{Region, regions};
use streamlings::trace::{Call, MarkKind, Nanos, Op, Seq, Trace};
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

/// A clock that is started right before a call, and read right after another, shows no more than this
/// beside the two: a busy machine may keep the host for longer, but not in each of several runs.
const LATE: Duration = Duration::from_millis(1);

/// The same in a run with calls that are held, which is not made again: whoever asks for the kernel
/// when the clock runs has a call more.
const HELD_LATE: Duration = Duration::from_millis(100);

/// What the record says of the learner's run.
struct Record {
    region: Region,
    /// When the first launch in it was made.
    first: Seq,
    /// The last launch in it.
    launch: Call,
    /// The call with which the host learned, while the run lasted, that its kernel is done.
    learned: Option<Call>,
    /// What held the host in it, or would have, whatever thread it was.
    blocks: Vec<Block>,
    /// Who asked the device again and again while it lasted.
    polls: Vec<Poll>,
}

impl Record {
    fn of(trace: &Trace) -> Result<Record, Finding> {
        let region = region(trace, Grader::RUN)?;
        let launches: Vec<&Call> = region
            .calls(trace)
            .filter(|call| matches!(call.op, Op::Launch { .. }) && call.succeeded())
            .collect();
        let (Some(first), Some(launch)) = (launches.first(), launches.last()) else {
            return Err(Finding::new(d::NOTHING_LAUNCHED, "the run launched no kernel"));
        };
        let (first, launch) = (first.seq, Call::clone(launch));
        let lasted = |seq, left| region.spans(seq, left);
        let learned =
            learned(trace, launch.seq).filter(|call| lasted(call.seq, call.left)).cloned();
        let blocks = blocks_during(&blocks(trace), &region).cloned().collect();
        let polls = polls(trace).into_iter().filter(|poll| lasted(poll.seq, poll.left)).collect();
        Ok(Record { region, first, launch, learned, blocks, polls })
    }

    /// The wait for the kernel. Somebody who polls did not wait, and somebody who slept did not learn.
    fn wait(&self) -> Option<&Block> {
        let learned = self.learned.as_ref()?;
        self.blocks.iter().find(|block| block.seq == learned.seq)
    }

    /// What there is instead of a wait for the kernel.
    fn no_wait(
        &self,
        grader: &Grader,
        trace: &Trace,
        spin: Duration,
        code: &'static Diagnosis,
    ) -> Finding {
        if let (Some(poll), Some(_)) = (self.polls.first(), &self.learned) {
            return host_polls(grader, poll);
        }
        let message = format!("the kernel takes {}, and no call waits for it", ms(spin));
        let finding = Finding::new(code, message)
            .at(grader.at(trace, &self.launch), "launched here, and never waited for");
        match self.blocks.iter().find(|block| block.seq > self.launch.seq) {
            Some(block) => finding.at(frame_at(grader, block), "this waits for something else"),
            None => finding,
        }
    }
}

fn frame_at(grader: &Grader, block: &Block) -> Option<At> {
    block.at.as_ref().and_then(|frame| grader.frame_at(frame))
}

/// For how long a block held the host, as the label of its line.
fn held(block: &Block) -> String {
    format!("held the host for {}", ms(nanos(block.left - block.entered)))
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
    let mut read = None;
    let judged = unhurried(&[d::FIGURE_DISAGREES_WITH_RECORD], || {
        let spin = any_spin(grader);
        let run = grader.run(|| exercise::enqueue_and_wait(&gpu, spin.as_nanos() as u64))?.ok()?;
        let times = [run.value.launched, run.value.done];
        read = Some(times);
        check_times(grader, &run.trace, times, spin, LATE)
    });
    if let Some([launched, done]) = read {
        grader.figure("launch came back after", launched.as_secs_f64() * 1e3, "ms");
        grader.figure("work was done after", done.as_secs_f64() * 1e3, "ms");
    }
    judged?;
    // Calls that take longer than they do: a reading that was made up is now too short.
    let hold = Duration::from_micros(grader.rng().u64(2_000..3_000));
    let spin = any_spin(grader);
    let run = grader.run_held(hold, || exercise::enqueue_and_wait(&gpu, spin.as_nanos() as u64))?;
    let Run { value: times, trace } = run.ok()?;
    held_run(hold, check_times(grader, &trace, [times.launched, times.done], spin, HELD_LATE))
}

fn any_spin(grader: &mut Grader) -> Duration {
    Duration::from_micros(grader.rng().u64(10_000..20_000))
}

/// `read` is what the two readings say, and `late` how much more that may be than what the calls took.
fn check_times(
    grader: &Grader,
    trace: &Trace,
    read: [Duration; 2],
    spin: Duration,
    late: Duration,
) -> Result<(), Finding> {
    let [read_launched, read_done] = read;
    let record = Record::of(trace)?;
    let launch_at = grader.at(trace, &record.launch);
    let Some(wait) = record.wait() else {
        return Err(record.no_wait(grader, trace, spin, d::LAUNCH_NOT_WAITED_FOR));
    };

    // Read before the wait began, or after? The clock was not started before the function was.
    let wait_over = nanos(wait.left - record.launch.entered);
    let before_launch = nanos(record.launch.entered - record.region.entered);
    let wait_began = before_launch + nanos(wait.entered - record.launch.entered);
    if read_launched > wait_began + CLOCKS_APART && read_done >= wait_over {
        let message = format!(
            "the first reading says {}, and the launch itself took {}",
            ms(read_launched),
            ms(nanos(record.launch.held()))
        );
        return Err(Finding::new(d::BLOCKED_BEFORE_FIRST_READING, message)
            .at(frame_at(grader, wait), held(wait))
            .note(wait.reason.sentence()));
    }
    if let Some(extra) = record.blocks.iter().find(|block| block.seq != wait.seq) {
        let message = format!("{} calls hold the host, and one is needed", record.blocks.len());
        return Err(Finding::new(d::WAITED_TOO_OFTEN, message)
            .at(frame_at(grader, extra), "one of them")
            .note(extra.reason.sentence()));
    }
    if let Some(poll) = record.polls.first() {
        return Err(host_polls(grader, poll));
    }
    check_spin(grader, trace, &record, spin)?;
    // Each figure has to be what the calls took, and little more.
    let held = nanos(record.launch.held());
    let launched = held..=held + late;
    let done = wait_over..=wait_over + late;
    let figures = [("first", read_launched, launched), ("second", read_done, done)];
    for (which, figure, recorded) in figures {
        if figure + CLOCKS_APART < *recorded.start() || figure > *recorded.end() {
            let bound = match figure > *recorded.end() {
                true => format!("at most {}", ms(*recorded.end())),
                false => format!("at least {}", ms(*recorded.start())),
            };
            let message =
                format!("the {which} reading says {}, and by the record it is {bound}", ms(figure));
            return Err(Finding::new(d::FIGURE_DISAGREES_WITH_RECORD, message)
                .at(launch_at, "of this launch"));
        }
    }
    Ok(())
}

fn overlap_host_work(grader: &mut Grader) -> Result<(), Finding> {
    let gpu = open()?;
    let mut took = None;
    let judged = unhurried(&[d::CLOSURE_AFTER_WAIT], || overlapped(grader, &gpu, &mut took));
    if let Some([each, both]) = took {
        grader.figure("kernel and closure, each", each.as_secs_f64() * 1e3, "ms");
        grader.figure("both together", both.as_secs_f64() * 1e3, "ms");
    }
    judged
}

/// `took` becomes the time of the kernel, and that of the whole.
fn overlapped(
    grader: &mut Grader,
    gpu: &Gpu,
    took: &mut Option<[Duration; 2]>,
) -> Result<(), Finding> {
    let spin = Duration::from_micros(grader.rng().u64(40_000..50_000));
    let answer = grader.rng().u32(..);
    let mut calls = 0_u32;
    // Timed, so that a GPU tells how long the kernel ran, too.
    let run = grader.run_timed(|| {
        exercise::overlap_host_work(gpu, spin.as_nanos() as u64, || {
            recording::mark(MarkKind::Begin { region: CLOSURE.to_owned() });
            calls += 1;
            std::thread::sleep(spin);
            recording::mark(MarkKind::End { region: CLOSURE.to_owned() });
            answer
        })
    })?;
    let Run { value, trace } = run.ok()?;
    let record = Record::of(&trace)?;
    let whole = nanos(record.region.host());
    *took = Some([spin, whole]);

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
    let too_late = |message: String| Finding::new(d::CLOSURE_AFTER_WAIT, message);
    let together = || {
        format!("kernel and closure take {} each, and together they took {}", ms(spin), ms(whole))
    };
    let before = |seq: Seq, left: Nanos| {
        record.first < seq && seq < closure.begin && left <= closure.entered
    };
    if let Some(wait) = record.blocks.iter().find(|block| before(block.seq, block.left)) {
        return Err(too_late(together())
            .at(frame_at(grader, wait), held(wait))
            .note(wait.reason.sentence()));
    }
    if let Some(poll) = record.polls.iter().find(|poll| before(poll.seq, poll.left)) {
        return Err(too_late(together()).at(
            poll.at.as_ref().and_then(|at| grader.frame_at(at)),
            "asks here until it is done",
        ));
    }
    // The host has learned that the kernel is over, by whatever call. One of this thread's that comes
    // before the end of the closure is one that the closure made.
    let known = record
        .learned
        .as_ref()
        .is_some_and(|call| call.thread != closure.thread || call.seq > closed);
    if !known {
        return Err(record.no_wait(grader, &trace, spin, d::RETURNED_BEFORE_DONE));
    }
    check_spin(grader, &trace, &record, spin)?;
    // Whatever else the host, or the device, did with the time.
    if whole > spin.mul_f64(TOGETHER) {
        let waited = nanos(closure.entered.saturating_sub(record.launch.left));
        let message = format!("{}; the closure began {} after the launch", together(), ms(waited));
        return Err(too_late(message).at(launch_at, "launched here"));
    }
    Ok(())
}

/// How much longer than each of them the two may take: one after the other they take twice as long.
const TOGETHER: f64 = 1.5;

/// The kernel has to have run for the time that it was given, where the device tells, and on
/// `gpu.stream`.
fn check_spin(
    grader: &Grader,
    trace: &Trace,
    record: &Record,
    spin: Duration,
) -> Result<(), Finding> {
    let given = stream_named(trace, "gpu.stream");
    if given.is_some() && record.launch.op.stream() != given {
        let message = "the kernel runs on a stream of its own, and not on `gpu.stream`";
        return Err(Finding::new(d::ON_ANOTHER_STREAM, message)
            .at(grader.at(trace, &record.launch), "launched here"));
    }
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

/// What calls return once a kernel has used it.
const FAULT: u32 = CUresult::CUDA_ERROR_ILLEGAL_ADDRESS as u32;

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
    let needed = faulty.map_or(LAUNCHES, |index| index + 1);
    if answer == faulty && launches.len() < needed {
        let message =
            format!("`poke` was launched {} times, and the answer needs {needed}", launches.len());
        return Err(Finding::new(d::LAUNCH_LEFT_OUT, message)
            .at(launches.last().and_then(|call| grader.at(&trace, call)), "the last of them"));
    }
    let name = |index: Option<usize>| match index {
        Some(index) => format!("launch {index}"),
        None => "none".to_owned(),
    };
    let message = format!("the answer is {}, and {} faulted", name(answer), name(faulty));
    let run_region = region(&trace, Grader::RUN)?;
    let mut failed = trace
        .calls()
        .filter(|call| !call.succeeded() && run_region.spans(call.seq, call.left))
        .peekable();
    let reporting = failed.peek().copied();
    if answer == faulty && (faulty.is_none() || failed.any(|call| call.result == FAULT)) {
        return Ok(());
    }
    let fault = reporting.filter(|_| answer != faulty);
    let Some(reporting) = fault else {
        if faulty.is_none() {
            return Err(Finding::new(d::WRONG_LAUNCH_BLAMED, message));
        }
        // By whatever it knew: it did not hear of it from the device.
        let message = if answer == faulty {
            format!("{} is right, but no call had told of a fault when it was named", name(answer))
        } else {
            message
        };
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
