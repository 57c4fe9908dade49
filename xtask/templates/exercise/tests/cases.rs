//! The grading cases of exercise __NN__.

use super::exercise;
use streamlings::Gpu;
use streamlings::grade::diagnosis as d;
use streamlings::grade::{Cases, Finding, Grader};
use streamlings::trace::Op;
use streamlings::trace::blocks::{blocks, blocks_in};
use streamlings::trace::regions::regions_named;

// GAP: one case for each function of the task.
pub fn cases() -> Cases {
    Cases::new().case("run_and_wait", run_and_wait)
}

// GAP: what is judged. Sizes and data come from `grader.rng()`, the verdict from the record.
fn run_and_wait(grader: &mut Grader) -> Result<(), Finding> {
    let gpu = Gpu::new()?;
    let nanos = grader.rng().u64(5_000_000..10_000_000);
    let run = grader.run(|| exercise::run_and_wait(&gpu, nanos))?.ok()?;
    let trace = &run.trace;

    let region = regions_named(trace, Grader::RUN)
        .pop()
        .ok_or_else(|| Finding::new(d::SETUP_FAILED, "the trace has no region of the run"))?;
    let launch = region
        .calls(trace)
        .find(|call| matches!(call.op, Op::Launch { .. }) && call.succeeded())
        .ok_or_else(|| Finding::new(d::NOTHING_LAUNCHED, "the run launched no kernel"))?;
    let all = blocks(trace);
    let held: Vec<_> = blocks_in(&all, &region).collect();

    // A wait that names no stream is for the whole device, or for an event.
    let is_for_launch = |stream| stream == launch.op.stream();
    let waited = held.iter().any(|block| {
        block.seq > launch.seq && (block.stream.is_none() || is_for_launch(block.stream))
    });
    if !waited {
        let message =
            format!("the kernel takes {:.3} ms, and nothing waits for it", nanos as f64 / 1e6);
        return Err(Finding::new(d::RETURNED_BEFORE_DONE, message)
            .at(grader.at(trace, launch), "launched here, and never waited for"));
    }
    if let [_, again, ..] = &held[..] {
        let message = format!("{} calls hold the host, and one does", held.len());
        return Err(Finding::new(d::WAITED_TOO_OFTEN, message)
            .at(again.at.as_ref().and_then(|frame| grader.frame_at(frame)), "one of them")
            .note(again.reason.sentence()));
    }
    Ok(())
}
