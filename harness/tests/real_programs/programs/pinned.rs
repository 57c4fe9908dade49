//! Page-locked memory that the host uses while a copy does, and downloads that are read at once.

use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use streamlings::trace::Trace;

use super::no_times;
use crate::support::{
    Lab, N, Pinned, address, cust_stream, name_device, name_locked, name_slice, watched,
};
use crate::verdict::watched_blocks;
use crate::{Outcome, Program};

pub fn programs() -> Vec<Program> {
    vec![
        Program {
            name: "pinned_source_refilled",
            run: pinned_source_refilled,
            published: &["race on source: upload reads on main [upload], \
                 then code writes on the host [refill]: HostWait"],
            corrected: &[],
            times: no_times,
        },
        Program {
            name: "pinned_source_freed",
            run: pinned_source_freed,
            published: &["race on source: upload reads on main [upload], \
                 then free on the host [free]: HostWait"],
            corrected: &[],
            times: no_times,
        },
        Program {
            name: "cust_locked_buffer_dropped",
            run: cust_locked_buffer_dropped,
            published: &["race on source: upload reads on main [upload], \
                 then free on the host [drop]: HostWait"],
            corrected: &[],
            times: no_times,
        },
        Program {
            name: "download_into_a_vec",
            run: download_into_a_vec,
            // The read is safe, and for a reason that costs: the call has waited for the stream.
            published: &["block: PageableDownload on main [download]"],
            corrected: &[],
            times: held,
        },
        Program {
            name: "cust_download_into_a_vec",
            run: cust_download_into_a_vec,
            published: &["block: PageableDownload on main [download]"],
            corrected: &[],
            times: held,
        },
        Program {
            name: "pinned_download_read_at_once",
            run: pinned_download_read_at_once,
            published: &["race on target: download writes on main [download], \
                 then code reads on the host [read]: HostWait"],
            corrected: &[],
            times: no_times,
        },
    ]
}

/// An upload from page-locked memory reads its source when its turn comes, not when it is called.
fn pinned_source_refilled(lab: &Lab, corrected: bool) -> Outcome {
    let main = lab.gpu.new_stream("main")?;
    let x = main.alloc_zeros(N)?;
    let mut source = Pinned::new("source", N)?;

    lab.spin(&main, 2)?;
    source.upload(&main, address(&x))?; // [upload]
    if corrected {
        main.synchronize()?;
    }
    source.fill(2.0); // [refill]
    lab.gpu.context.synchronize()?;
    Ok(())
}

/// cuMemFreeHost happens to wait for the device, which CUDA does not promise. cudarc's own type does
/// not rely on it: it waits for the event behind its last copy.
fn pinned_source_freed(lab: &Lab, corrected: bool) -> Outcome {
    let main = lab.gpu.new_stream("main")?;
    let mut x = main.alloc_zeros::<f32>(N)?;

    lab.spin(&main, 2)?;
    if corrected {
        // SAFETY: written before it is read.
        let mut source = unsafe { lab.gpu.context.alloc_pinned::<f32>(N)? };
        source.as_mut_slice()?.fill(1.0);
        main.memcpy_htod(&source, &mut x)?;
        drop(source);
    } else {
        let source = Pinned::new("source", N)?;
        source.upload(&main, address(&x))?; // [upload]
        drop(source); // [free]
    }
    lab.gpu.context.synchronize()?;
    Ok(())
}

/// cust's does rely on it.
fn cust_locked_buffer_dropped(lab: &Lab, corrected: bool) -> Outcome {
    let main = cust_stream("main")?;
    let mut x = DeviceBuffer::<f32>::zeroed(N)?;
    name_device("x", &x);
    let source = LockedBuffer::new(&1.0_f32, N)?;
    name_locked("source", &source);

    lab.cust_spin(&main, 2)?;
    // SAFETY: that the source must outlive the copy is the program's point.
    unsafe { x.async_copy_from(&source, &main)? }; // [upload]
    if corrected {
        main.synchronize()?;
    }
    drop(source); // [drop]
    lab.gpu.context.synchronize()?;
    Ok(())
}

/// It says async, and returns when the stream is through with all its work.
fn download_into_a_vec(lab: &Lab, corrected: bool) -> Outcome {
    let main = lab.gpu.new_stream("main")?;
    let x = main.clone_htod(&[1.0_f32; N])?;
    name_slice("x", &x);
    let mut plain = vec![0.0_f32; N];
    // SAFETY: written before it is read.
    let mut target = unsafe { lab.gpu.context.alloc_pinned_with_flags::<f32>(N, 0)? };

    lab.spin(&main, 5)?;
    watched("download", || {
        if corrected {
            main.memcpy_dtoh(&x, &mut target)
        } else {
            main.memcpy_dtoh(&x, &mut plain) // [download]
        }
    })?;
    let read = if corrected { target.as_slice()?[N - 1] } else { plain[N - 1] };
    assert_eq!(read, 1.0);
    lab.gpu.context.synchronize()?;
    Ok(())
}

fn cust_download_into_a_vec(lab: &Lab, corrected: bool) -> Outcome {
    let main = cust_stream("main")?;
    let x = DeviceBuffer::from_slice(&[1.0_f32; N])?;
    name_device("x", &x);
    let mut plain = vec![0.0_f32; N];
    let mut target = LockedBuffer::new(&0.0_f32, N)?;

    lab.cust_spin(&main, 5)?;
    if corrected {
        // SAFETY: the target lives until the stream is synchronized.
        watched("download", || unsafe { x.async_copy_to(&mut target, &main) })?;
        main.synchronize()?;
        plain.copy_from_slice(&target);
    } else {
        // SAFETY: the call itself waits for a copy to pageable memory.
        watched("download", || unsafe { x.async_copy_to(&mut plain, &main) })?; // [download]
    }
    assert_eq!(plain[N - 1], 1.0);
    lab.gpu.context.synchronize()?;
    Ok(())
}

/// Into page-locked memory the same call really is asynchronous, and so is the read.
fn pinned_download_read_at_once(lab: &Lab, corrected: bool) -> Outcome {
    let main = lab.gpu.new_stream("main")?;
    let x = main.clone_htod(&[2.0_f32; N])?;
    let mut target = Pinned::new("target", N)?;

    lab.spin(&main, 5)?;
    target.download(&main, address(&x))?; // [download]
    if corrected {
        main.synchronize()?;
    }
    let read = target.first(); // [read]
    if corrected {
        assert_eq!(read, 2.0);
    }
    lab.gpu.context.synchronize()?;
    Ok(())
}

/// As published, the download was held up by the kernel ahead of it.
fn held(trace: &Trace, corrected: bool) -> Result<(), String> {
    let blocks = watched_blocks(trace);
    let behind = |kernel: &str| {
        blocks.iter().all(|block| {
            block.held && block.behind.as_ref().is_some_and(|work| work.operation == kernel)
        })
    };
    if corrected || behind("kernel `spin`") { Ok(()) } else { Err(format!("{blocks:?}")) }
}
