//! Synchronous uploads, and who may read what they wrote.

use cust::memory::DeviceBuffer;
use streamlings::cudarc::driver::result;

use super::no_times;
use crate::support::{Lab, N, RawStream, address, cust_stream, name_device, name_slice};
use crate::{Outcome, Program};

pub fn programs() -> Vec<Program> {
    vec![
        Program {
            name: "synchronous_upload_then_a_kernel",
            run: synchronous_upload_then_a_kernel,
            published: &["race on x: upload writes on the legacy default stream [upload], \
                 then scale reads on side [kernel]: StreamWait"],
            corrected: &[],
            times: no_times,
        },
        Program {
            // cust makes its streams blocking, whatever it is asked for, so the launch waits for the
            // default stream's uploads: there is no fault.
            name: "three_cust_uploads_then_a_launch_on_its_stream",
            run: three_cust_uploads_then_a_launch_on_its_stream,
            published: &[],
            corrected: &[],
            times: no_times,
        },
        Program {
            name: "three_cust_uploads_then_a_launch_on_a_nonblocking_stream",
            run: three_cust_uploads_then_a_launch_on_a_nonblocking_stream,
            // Each upload first waits for the default stream, and so for the upload before it: only the
            // last one is left to race.
            published: &["race on out: upload writes on the legacy default stream [out], \
                 then add writes on side [launch]: LaterStreamWait"],
            corrected: &[],
            times: no_times,
        },
    ]
}

/// The call returns when its source may be used again; its last bytes may still be under way to the
/// device, on the default stream, for which a non-blocking stream does not wait.
fn synchronous_upload_then_a_kernel(lab: &Lab, corrected: bool) -> Outcome {
    let side = lab.gpu.new_stream("side")?;
    let host = vec![1.0_f32; 1 << 20];
    let mut x = side.alloc_zeros(host.len())?;
    name_slice("x", &x);
    let mut y = side.alloc_zeros(host.len())?;
    side.synchronize()?;

    if corrected {
        side.memcpy_htod(&host, &mut x)?;
    } else {
        // SAFETY: `x` has as many floats.
        unsafe { result::memcpy_htod_sync(address(&x), &host)? }; // [upload]
    }
    lab.scale(&side, &mut y, &x)?; // [kernel]
    lab.gpu.context.synchronize()?;
    Ok(())
}

fn three_cust_uploads_then_a_launch_on_its_stream(lab: &Lab, corrected: bool) -> Outcome {
    let stream = cust_stream("stream")?;
    let [x, y, out] = three_uploads()?;
    if corrected {
        lab.gpu.context.synchronize()?;
    }
    lab.cust_add(stream.as_inner().cast(), &out, [&x, &y])?;
    lab.gpu.context.synchronize()?;
    Ok(())
}

fn three_cust_uploads_then_a_launch_on_a_nonblocking_stream(lab: &Lab, corrected: bool) -> Outcome {
    let side = RawStream::new("side")?;
    let [x, y, out] = three_uploads()?;
    if corrected {
        lab.gpu.context.synchronize()?;
    }
    lab.cust_add(side.0, &out, [&x, &y])?; // [launch]
    lab.gpu.context.synchronize()?;
    Ok(())
}

fn three_uploads() -> cust::error::CudaResult<[DeviceBuffer<f32>; 3]> {
    let x = DeviceBuffer::from_slice(&[1.0; N])?; // [x]
    let y = DeviceBuffer::from_slice(&[2.0; N])?; // [y]
    let out = DeviceBuffer::from_slice(&[0.0; N])?; // [out]
    name_device("x", &x);
    name_device("y", &y);
    name_device("out", &out);
    Ok([x, y, out])
}
