//! When operations ran is known on either device, where a recording asks for it.

use std::error::Error;

use streamlings::driver::recording;
use streamlings::trace::overlap::overlap;
use streamlings::trace::{Op, Span};
use streamlings::{Gpu, LaunchConfig, PushKernelArg};

#[test]
fn every_operation_of_a_timed_recording_has_its_span() -> Result<(), Box<dyn Error>> {
    let gpu = Gpu::new()?;
    let side = gpu.new_stream("side")?;
    let spin = gpu.kernel("spin")?;
    let one = LaunchConfig::for_num_elems(1);
    // SAFETY: write-only staging memory of the test's own.
    let mut source = unsafe { gpu.context.alloc_pinned::<f32>(4 << 20)? };
    source.as_mut_slice()?.fill(1.0);
    let mut x = side.alloc_zeros::<f32>(4 << 20)?;
    gpu.context.synchronize()?;

    recording::begin(recording::Options { timestamps: true, ..Default::default() });
    // SAFETY: `spin` takes one unsigned 64-bit integer.
    unsafe { gpu.stream.launch_builder(&spin).arg(&30_000_000_u64).launch(one)? };
    side.memcpy_htod(&source, &mut x)?;
    // SAFETY: as above.
    unsafe { gpu.stream.launch_builder(&spin).arg(&5_000_000_u64).launch(one)? };
    gpu.context.synchronize()?;
    let trace = recording::finish();

    let spans: Vec<(&Op, Span)> = trace
        .calls()
        .filter(|call| call.op.is_work())
        .map(|call| (&call.op, call.ran.expect("a span")))
        .collect();
    let [(Op::Launch { .. }, first), (Op::Copy { .. }, copy), (Op::Launch { .. }, second)] =
        spans[..]
    else {
        panic!("{spans:?}");
    };
    let near = |span: Span, ms: u64| (ms * 990_000..ms * 1_010_000 + 100_000).contains(&span.len());
    assert!(near(first, 30) && near(second, 5), "{first:?} {second:?}");
    assert!(second.start >= first.end, "one stream: {first:?} {second:?}");
    assert!(copy.start < first.end && copy.end > first.start, "side by side: {spans:?}");
    // Both clocks begin with the recording, within what a wake-up takes.
    let launched = trace.calls().find(|call| call.op.is_work()).map(|call| call.entered);
    let apart = launched.map_or(u64::MAX, |launched| first.start.abs_diff(launched));
    assert!(apart < 10_000_000, "{apart} ns");
    let overlap = overlap(&trace);
    assert!(overlap.share() > Some(0.5), "{overlap:?}");
    Ok(())
}
