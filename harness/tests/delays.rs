//! A seed's legal delays, on either device: they show what a missing wait allows, and change nothing in
//! a program that waits, nor in its record.

use std::error::Error;

use streamlings::driver::recording;
use streamlings::trace::Trace;
use streamlings::trace::order::races;
use streamlings::{Gpu, LaunchConfig, PushKernelArg};

const LEN: usize = 1000;

/// What a side stream copies of memory that the default stream fills with 2 after 1, and the record.
fn read_on_a_side_stream(
    gpu: &Gpu,
    seed: Option<u64>,
    wait: bool,
) -> Result<(Vec<f32>, Trace), Box<dyn Error>> {
    let side = gpu.new_stream("side")?;
    let fill = gpu.kernel("fill")?;
    // SAFETY: kept until both streams are done.
    let [mut x, mut y] = unsafe { [gpu.stream.alloc(LEN)?, side.alloc(LEN)?] };
    let mut launch = |value: f32| {
        let config = LaunchConfig::for_num_elems(LEN as u32);
        let mut launch = gpu.stream.launch_builder(&fill);
        // SAFETY: `fill` writes as many floats as `x` has.
        unsafe { launch.arg(&mut x).arg(&value).arg(&(LEN as u32)).launch(config) }.map(|_| ())
    };
    launch(1.0)?;
    gpu.context.synchronize()?;
    recording::begin(recording::Options { seed, ..Default::default() });
    launch(2.0)?;
    if wait {
        side.wait(&gpu.stream.record_event(None)?)?;
    }
    side.memcpy_dtod(&x, &mut y)?;
    gpu.context.synchronize()?;
    let trace = recording::finish();
    let read = side.clone_dtoh(&y)?;
    side.synchronize()?;
    Ok((read, trace))
}

fn operations(trace: &Trace) -> Vec<String> {
    let work = trace.calls().filter(|call| call.op.is_work());
    work.map(|call| format!("{:?}", std::mem::discriminant(&call.op))).collect()
}

#[test]
fn delays_show_a_missing_wait_and_leave_no_trace() -> Result<(), Box<dyn Error>> {
    let gpu = Gpu::new()?;
    // SAFETY: the test orders what it means to order.
    unsafe { gpu.context.disable_event_tracking() };
    let (_, undelayed) = read_on_a_side_stream(&gpu, None, false)?;
    assert_eq!(operations(&undelayed).len(), 2);
    let mut shown = false;
    // A third of the producers is delayed, and two thirds of these readers are not; a host that is kept
    // from enqueueing the reader hides it, so that there is no telling which seed shows it.
    for seed in 1..=500 {
        let (read, trace) = read_on_a_side_stream(&gpu, Some(seed), false)?;
        assert_eq!(operations(&trace), operations(&undelayed));
        assert_eq!(races(&trace).len(), 1, "the verdict does not depend on the delays");
        shown |= read != [2.0; LEN];

        let (read, trace) = read_on_a_side_stream(&gpu, Some(seed), true)?;
        assert_eq!(operations(&trace), operations(&undelayed));
        assert_eq!(races(&trace), []);
        assert_eq!(read, [2.0; LEN]);
        if shown && seed >= 20 {
            return Ok(());
        }
    }
    panic!("no run read what was there before");
}
