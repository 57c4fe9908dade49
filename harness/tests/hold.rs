//! A recording that keeps the host in calls that enqueue, on either device.

use std::error::Error;
use std::time::{Duration, Instant};

use streamlings::driver::recording;
use streamlings::trace::Op;
use streamlings::{Gpu, LaunchConfig, PushKernelArg};

const HOLD: Duration = Duration::from_millis(3);

#[test]
fn a_clock_around_a_held_launch_shows_it() -> Result<(), Box<dyn Error>> {
    let gpu = Gpu::new()?;
    let spin = gpu.kernel("spin")?;
    let launch = || -> Result<Duration, streamlings::DriverError> {
        let began = Instant::now();
        // SAFETY: `spin` takes one unsigned 64-bit integer.
        unsafe {
            let mut launch = gpu.stream.launch_builder(&spin);
            launch.arg(&0_u64).launch(LaunchConfig::for_num_elems(1))?
        };
        Ok(began.elapsed())
    };
    launch()?;
    gpu.stream.synchronize()?;

    recording::begin(recording::Options { hold: HOLD, ..Default::default() });
    let held = launch()?;
    let event = Instant::now();
    gpu.stream.record_event(None)?;
    let event = event.elapsed();
    let wait = Instant::now();
    gpu.stream.synchronize()?;
    let wait = wait.elapsed();
    let trace = recording::finish();

    let recorded = trace.calls().find(|call| matches!(call.op, Op::Launch { .. }));
    let recorded = Duration::from_nanos(recorded.map_or(0, streamlings::trace::Call::held));
    assert!(recorded >= HOLD && held >= recorded, "{held:?}, recorded {recorded:?}");
    assert!(wait >= HOLD, "{wait:?}");
    assert!(event < HOLD, "a record takes no time on the device: {event:?}");
    let launches: Vec<Duration> = (0..4).map(|_| launch()).collect::<Result<_, _>>()?;
    gpu.stream.synchronize()?;
    assert!(launches.iter().any(|took| *took < HOLD), "the recording is over: {launches:?}");
    Ok(())
}
