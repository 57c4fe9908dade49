//! Calls that hold the host, and what they keep from running side by side.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use cust::memory::{AsyncCopyDestination, CopyDestination, DeviceBuffer, LockedBuffer};
use streamlings::trace::overlap::overlap;
use streamlings::trace::{Call, DeviceKind, Trace};

use crate::support::{Lab, N, cust_stream, watched};
use crate::verdict::{watched_blocks, work_at};
use crate::{Outcome, Program};

pub fn programs() -> Vec<Program> {
    vec![
        Program {
            name: "four_bytes_each_step",
            run: four_bytes_each_step,
            published: &["block: PageableDownload on main [item]"; STEPS],
            corrected: &[],
            times: all_held,
        },
        Program {
            name: "cust_synchronous_download_between_streams",
            run: cust_synchronous_download_between_streams,
            published: &["block: SynchronousCopy on the legacy default stream [download]"; CHUNKS],
            corrected: &[],
            times: overlapped,
        },
        Program {
            name: "download_in_another_thread",
            run: download_in_another_thread,
            published: &["block: PageableDownload on shared [download] in another thread"],
            corrected: &[],
            times: ordered_behind,
        },
    ]
}

const STEPS: usize = 4;

/// The loss of each step is fetched to be printed, and each time the queue runs dry.
fn four_bytes_each_step(lab: &Lab, corrected: bool) -> Outcome {
    let main = lab.gpu.new_stream("main")?;
    let x = main.clone_htod(&[1.0_f32])?;
    let mut loss = main.alloc_zeros::<f32>(1)?;

    watched("steps", || -> Outcome {
        for _ in 0..STEPS {
            lab.spin(&main, 2)?;
            lab.scale(&main, &mut loss, &x)?;
            if !corrected {
                let loss = main.clone_dtoh(&loss)?; // [item]
                assert_eq!(loss, [2.0]);
            }
        }
        Ok(())
    })?;
    assert_eq!(main.clone_dtoh(&loss)?, [2.0]);
    Ok(())
}

const CHUNKS: usize = 4;
const CHUNK: usize = 1 << 19;

/// Two streams for two chunks at a time; but a copy without a stream waits for all blocking streams, as
/// all of cust's are.
fn cust_synchronous_download_between_streams(lab: &Lab, corrected: bool) -> Outcome {
    let streams = [cust_stream("even")?, cust_stream("odd")?];
    let source = LockedBuffer::new(&1.0_f32, CHUNK)?;
    let mut targets = [LockedBuffer::new(&0.0_f32, CHUNK)?, LockedBuffer::new(&0.0_f32, CHUNK)?];
    let mut chunks = [DeviceBuffer::<f32>::zeroed(CHUNK)?, DeviceBuffer::<f32>::zeroed(CHUNK)?];

    watched("chunks", || -> Outcome {
        for index in 0..CHUNKS {
            let (stream, x) = (&streams[index % 2], &mut chunks[index % 2]);
            let target = &mut targets[index % 2];
            // SAFETY: all of it lives until the device is synchronized.
            unsafe { x.async_copy_from(&source, stream)? };
            lab.cust_spin(stream, 2)?;
            if corrected {
                // SAFETY: as above.
                unsafe { x.async_copy_to(target, stream)? };
            } else {
                x.copy_to(target)?; // [download]
            }
        }
        Ok(())
    })?;
    lab.gpu.context.synchronize()?;
    assert!(targets.iter().all(|target| target[CHUNK - 1] == 1.0));
    Ok(())
}

/// One thread's pageable download holds that thread alone. What another thread launches on the same
/// stream is held up all the same, by its place in the stream; on a stream of its own it is not.
fn download_in_another_thread(lab: &Lab, corrected: bool) -> Outcome {
    let shared = lab.gpu.new_stream("shared")?;
    let own = lab.gpu.new_stream("own")?;
    let x = shared.clone_htod(&[1.0_f32; N])?;
    let mut plain = vec![0.0_f32; N];
    // SAFETY: written before it is read.
    let mut target = unsafe { lab.gpu.context.alloc_pinned_with_flags::<f32>(N, 0)? };

    lab.spin(&shared, 10)?;
    let (began, begins) = mpsc::channel();
    thread::scope(|scope| -> Outcome {
        let download = scope.spawn(|| {
            watched("download", || {
                let _ = began.send(());
                if corrected {
                    shared.memcpy_dtoh(&x, &mut target)
                } else {
                    shared.memcpy_dtoh(&x, &mut plain) // [download]
                }
            })
        });
        begins.recv()?;
        // Long enough for the other thread to be in its call, well within the kernel ahead of it.
        thread::sleep(Duration::from_millis(2));
        watched("launches", || -> Outcome {
            lab.spin(&shared, 1)?; // [behind]
            lab.spin(&own, 1) // [beside]
        })?;
        download.join().map_err(|_| "the thread panicked")??;
        Ok(())
    })?;
    let read = if corrected { target.as_slice()?[N - 1] } else { plain[N - 1] };
    assert_eq!(read, 1.0);
    lab.gpu.context.synchronize()?;
    Ok(())
}

/// As published, each call waited for work.
fn all_held(trace: &Trace, _: bool) -> Result<(), String> {
    let blocks = watched_blocks(trace);
    if blocks.iter().all(|block| block.held) { Ok(()) } else { Err(format!("{blocks:?}")) }
}

/// As published, nothing runs beside anything; corrected, much does.
fn overlapped(trace: &Trace, corrected: bool) -> Result<(), String> {
    let overlap = overlap(trace);
    let as_expected = match overlap.share() {
        Some(share) if corrected => share > 0.3,
        Some(share) => share < 0.01,
        None => false,
    };
    if as_expected { Ok(()) } else { Err(format!("{:?}, {overlap:?}", overlap.share())) }
}

/// As published, the launch on the download's stream ran after the download. On the emulated device,
/// which has no lock that one thread's call could keep from another's, the launch on a stream of its own
/// ran before it, and neither launch held its thread.
fn ordered_behind(trace: &Trace, corrected: bool) -> Result<(), String> {
    if corrected {
        return Ok(());
    }
    let [download, behind, beside] =
        ["download", "behind", "beside"].map(|mark| work_at(trace, mark));
    let ([download], [behind], [beside]) = (&download[..], &behind[..], &beside[..]) else {
        return Err(format!("{} {} {}", download.len(), behind.len(), beside.len()));
    };
    let within = |call: &Call| download.entered < call.entered && call.left < download.left;
    let (Some(copied), Some(after), Some(meanwhile)) = (download.ran, behind.ran, beside.ran)
    else {
        return Err("no times".into());
    };
    let emulated = trace.header.device.kind == DeviceKind::Emulated;
    let unhindered = [behind, beside].iter().all(|call| within(call) && call.waited == Some(0))
        && meanwhile.end <= copied.start;
    if after.start >= copied.end && (unhindered || !emulated) {
        Ok(())
    } else {
        Err(format!("{download:?}\n{behind:?}\n{beside:?}"))
    }
}
