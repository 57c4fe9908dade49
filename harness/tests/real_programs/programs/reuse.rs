//! Device memory that is given back while another stream uses it.

use cust::memory::DeviceBuffer;
use streamlings::CudaContext;
use streamlings::driver::recording;

use super::no_times;
use crate::support::{Lab, N, cust_stream, name_device, name_slice};
use crate::{Outcome, Program};

pub fn programs() -> Vec<Program> {
    vec![
        Program {
            name: "two_readers_of_one_slice",
            run: two_readers_of_one_slice,
            published: &[
                "race on x: scale reads on first [first reader], \
                 then free on made [drop]: StreamWait",
                "race on x: scale reads on first [first reader], \
                 then alloc on made [handed out again]: StreamWait, memory reused",
            ],
            corrected: &[],
            times: no_times,
        },
        Program {
            name: "used_elsewhere_with_tracking_off",
            run: used_elsewhere_with_tracking_off,
            published: &["race on x: scale reads on b [use], then free on a [drop]: StreamWait"],
            corrected: &[],
            times: no_times,
        },
        Program {
            name: "side_stream_dropped_first",
            run: side_stream_dropped_first,
            published: &["race on x: scale reads on side [use], \
                 then free on the legacy default stream [drop]: StreamWait"],
            corrected: &[],
            times: no_times,
        },
        Program {
            name: "cust_drop_async_on_its_makers_stream",
            run: cust_drop_async_on_its_makers_stream,
            published: &["race on x: scale reads on b [use], then free on a [drop]: StreamWait"],
            corrected: &[],
            times: no_times,
        },
    ]
}

/// cudarc's slice keeps one read event: the second reader's record replaces the first's, so the drop
/// waits for the second alone.
fn two_readers_of_one_slice(lab: &Lab, corrected: bool) -> Outcome {
    let made = lab.gpu.new_stream("made")?;
    let first = lab.gpu.new_stream("first")?;
    let second = lab.gpu.new_stream("second")?;
    let x = made.clone_htod(&[1.0; N])?;
    name_slice("x", &x);
    let mut y = first.alloc_zeros(N)?;
    let mut z = second.alloc_zeros(N)?;

    lab.spin(&first, 2)?;
    lab.scale(&first, &mut y, &x)?; // [first reader]
    lab.scale(&second, &mut z, &x)?; // [second reader]
    if corrected {
        made.join(&first)?;
    }
    drop(x); // [drop]
    let again = made.alloc_zeros::<f32>(N)?; // [handed out again]
    name_slice("again", &again);
    lab.gpu.context.synchronize()?;
    Ok(())
}

/// Without cudarc's tracking a drop waits for nobody: it frees on the stream that made the buffer.
fn used_elsewhere_with_tracking_off(lab: &Lab, corrected: bool) -> Outcome {
    // A context of its own, with its own settings, on the same device.
    let context = CudaContext::new(0)?;
    // SAFETY: the program does its own ordering, or is meant not to.
    unsafe { context.disable_event_tracking() };
    let (a, b) = (context.new_stream()?, context.new_stream()?);
    recording::name_stream(a.cu_stream() as usize, "a");
    recording::name_stream(b.cu_stream() as usize, "b");
    let x = a.clone_htod(&[1.0; N])?;
    name_slice("x", &x);
    let mut y = b.alloc_zeros(N)?;

    b.join(&a)?;
    lab.spin(&b, 2)?;
    lab.scale(&b, &mut y, &x)?; // [use]
    if corrected {
        a.join(&b)?;
    }
    drop(x); // [drop]
    context.synchronize()?;
    Ok(())
}

/// cudarc's tracking is on only while a stream besides the default one exists. When the last is
/// dropped, with its work still pending, it goes off, and the drop of a slice waits for nobody.
fn side_stream_dropped_first(lab: &Lab, corrected: bool) -> Outcome {
    // A context of its own counts its own streams.
    let context = CudaContext::new(0)?;
    let main = context.default_stream();
    let side = context.new_stream()?;
    recording::name_stream(side.cu_stream() as usize, "side");
    let x = main.clone_htod(&[1.0; N])?;
    name_slice("x", &x);
    let mut y = main.alloc_zeros(N)?;

    lab.spin(&side, 2)?;
    lab.scale(&side, &mut y, &x)?; // [use]
    if corrected {
        drop(x);
        drop(side);
    } else {
        drop(side);
        drop(x); // [drop]
    }
    context.synchronize()?;
    Ok(())
}

/// The same on cust, where `drop_async` asks for the stream: the one that comes to mind is the one the
/// buffer was made on.
fn cust_drop_async_on_its_makers_stream(lab: &Lab, corrected: bool) -> Outcome {
    let (a, b) = (cust_stream("a")?, cust_stream("b")?);
    // SAFETY: the source is pageable and small, so the call itself takes a copy.
    let x = unsafe { DeviceBuffer::from_slice_async(&[1.0_f32; N], &a)? };
    name_device("x", &x);
    let y = DeviceBuffer::<f32>::zeroed(N)?;

    a.synchronize()?;
    lab.cust_spin(&b, 2)?;
    lab.cust_scale(&b, &y, &x)?; // [use]
    if corrected {
        b.synchronize()?;
    }
    x.drop_async(&a)?; // [drop]
    lab.gpu.context.synchronize()?;
    Ok(())
}
