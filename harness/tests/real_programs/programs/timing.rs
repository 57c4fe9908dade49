//! A host clock around launches.

use std::time::{Duration, Instant};

use streamlings::cudarc::driver::sys::CUevent_flags;
use streamlings::trace::Trace;
use streamlings::trace::regions::regions_named;
use streamlings::trace::timing::{Timeline, pairs};

use crate::support::{Lab, watched};
use crate::{Outcome, Program};

pub fn programs() -> Vec<Program> {
    vec![Program {
        name: "instant_around_launches",
        run: instant_around_launches,
        published: &["clock: EnqueueOnly, of 3 operations"],
        corrected: &["events: 3 operations"],
        times,
    }]
}

/// The clock stops when the launches are enqueued, and is printed as what the kernels took.
fn instant_around_launches(lab: &Lab, corrected: bool) -> Outcome {
    let main = lab.gpu.new_stream("main")?;
    let launches = || -> Outcome {
        for _ in 0..3 {
            lab.spin(&main, 2)?;
        }
        Ok(())
    };
    // A warm-up, as everyone advises.
    lab.spin(&main, 0)?;
    main.synchronize()?;

    let kernels = if corrected {
        let timed = Some(CUevent_flags::CU_EVENT_DEFAULT);
        let start = main.record_event(timed)?;
        launches()?;
        let end = main.record_event(timed)?;
        Duration::from_secs_f32(start.elapsed_ms(&end)? / 1e3)
    } else {
        let began = Instant::now();
        watched("timed", launches)?;
        began.elapsed()
    };
    assert!(!kernels.is_zero());
    lab.gpu.context.synchronize()?;
    Ok(())
}

/// Three kernels of 2 ms each are not what the host clock showed; the events did.
fn times(trace: &Trace, corrected: bool) -> Result<(), String> {
    if corrected {
        let ms: Vec<Option<f32>> = pairs(trace).iter().map(|pair| pair.ms).collect();
        return match ms[..] {
            [Some(ms)] if (5.9..7.0).contains(&ms) => Ok(()),
            _ => Err(format!("{ms:?}")),
        };
    }
    let timeline = Timeline::new(trace);
    for region in regions_named(trace, "timed") {
        let clock = timeline.clock(&region);
        if clock.device.is_none_or(|device| clock.host * 2 > device) {
            return Err(format!(
                "{} ns on the host, {:?} ns on the device",
                clock.host, clock.device
            ));
        }
    }
    Ok(())
}
