//! The order analysis on what this crate does: no race within the allocator or the tape, and every
//! one that their users make.

use std::sync::{Mutex, MutexGuard, PoisonError};

use streamlings_driver::recording;
use streamlings_tensor::nn::{Mlp, sgd_step, zero_grad};
use streamlings_tensor::{
    Device, PinnedTensor, Result, Stream, Tensor, current_stream, spin, with_stream,
};
use streamlings_trace::order::races;
use streamlings_trace::order::report::{Race, What};
use streamlings_trace::{MarkKind, Trace};

/// A recording is of the whole process, so one test at a time. The seed is a perturbation's.
fn record(seed: Option<u64>, body: impl FnOnce() -> Result<()>) -> Result<Trace> {
    static ONE: Mutex<()> = Mutex::new(());
    let _one: MutexGuard<()> = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    Device::get()?.synchronize()?;
    recording::begin(recording::Options { seed, ..Default::default() });
    let result = body().and_then(|()| Device::get()?.synchronize());
    let trace = recording::finish();
    result.map(|()| trace)
}

fn none(races: &[Race]) {
    let texts: Vec<String> = races.iter().map(Race::to_string).collect();
    assert!(races.is_empty(), "{}", texts.join("\n"));
}

#[test]
fn the_allocator_makes_no_race() -> Result<()> {
    let trace = record(None, || {
        let (main, side) = (Stream::new("main")?, Stream::new("side")?);
        for round in 0..200 {
            let x = with_stream(&main, || Tensor::full([1000 + 100 * (round % 7)], 1.0))?;
            side.wait_stream(&main)?;
            with_stream(&side, || x.sum())?;
            x.record_stream(&side);
        }
        Ok(())
    })?;
    let marks = |wanted: fn(&MarkKind) -> bool| trace.marks().filter(|m| wanted(&m.kind)).count();
    assert_eq!(marks(|kind| matches!(kind, MarkKind::BlockOut { .. })), 400);
    assert_eq!(marks(|kind| matches!(kind, MarkKind::BlockBack { .. })), 400);
    assert_eq!(marks(|kind| matches!(kind, MarkKind::BlockUse { .. })), 200);
    none(&races(&trace));
    Ok(())
}

#[test]
fn nor_does_it_when_a_block_goes_from_thread_to_thread() -> Result<()> {
    let trace = record(None, || {
        let (main, side) = (Stream::new("main")?, Stream::new("side")?);
        let x = with_stream(&main, || Tensor::full([1000], 1.0))?;
        let address = x.device_ptr();
        side.wait_stream(&main)?;
        with_stream(&side, || x.sum())?;
        x.record_stream(&side);
        // A thread that never saw it end takes the block; this one drops it, another one looks.
        drop(x);
        let work = |end: bool| {
            let (main, side) = (main.clone(), side.clone());
            std::thread::spawn(move || -> Result<u64> {
                if !end {
                    side.synchronize()?;
                    return with_stream(&side, || Tensor::zeros([1]).map(|_| 0));
                }
                with_stream(&main, || Ok(Tensor::full([1000], 2.0)?.device_ptr()))
            })
        };
        work(false).join().expect("no panic")?;
        assert_eq!(work(true).join().expect("no panic")?, address);
        Ok(())
    })?;
    none(&races(&trace));
    Ok(())
}

/// Three steps of training with a branch on each of two streams; the step is on the default one.
fn train(wait: bool) -> Result<()> {
    let (left, right) = (Stream::new("left")?, Stream::new("right")?);
    let default = current_stream()?;
    let model = Mlp::new(&[16, 32, 8], 1)?;
    let x = Tensor::full([64, 16], 0.5)?;
    let target = Tensor::full([64, 8], 1.0)?;
    for _ in 0..3 {
        left.wait_stream(&default)?;
        right.wait_stream(&default)?;
        let branch = |stream: &Stream| with_stream(stream, || model.forward(&x)?.mse(&target));
        let (a, b) = (branch(&left)?, branch(&right)?);
        with_stream(&right, || -> Result<()> {
            right.wait_stream(&left)?;
            a.record_stream(&right);
            let loss = a.add(&b)?;
            loss.backward()
        })?;
        if wait {
            default.wait_stream(&right)?;
        }
        for parameter in model.parameters() {
            parameter.grad().expect("there is one").record_stream(&default);
        }
        sgd_step(&model.parameters(), 0.1)?;
        zero_grad(&model.parameters())?;
    }
    Ok(())
}

#[test]
fn the_tape_makes_no_race_on_two_streams() -> Result<()> {
    for seed in [None, Some(1), Some(2)] {
        none(&races(&record(seed, || train(true))?));
    }
    Ok(())
}

#[test]
fn gradients_used_without_a_wait_are_a_race() -> Result<()> {
    let races = races(&record(None, || train(false))?);
    let axpy = What::Kernel("axpy".to_owned());
    let read_too_early = |race: &Race| race.later.what == axpy && race.reuse.is_none();
    assert!(races.iter().any(read_too_early), "{races:?}");
    Ok(())
}

/// A side stream sums `partials`, which is dropped at once.
fn consume_and_drop(recorded: bool) -> Result<()> {
    let side = Stream::new("side")?;
    let partials = Tensor::full([1000], 1.0)?.named("partials");
    let address = partials.device_ptr();
    side.wait_stream(&current_stream()?)?;
    let sum = with_stream(&side, || {
        spin(100_000_000)?;
        partials.sum()
    })?;
    if recorded {
        partials.record_stream(&side);
    }
    drop(partials);
    let next = Tensor::full([1000], 2.0)?.named("next");
    assert_eq!(next.device_ptr() == address, !recorded);
    let value = with_stream(&side, || sum.item())?;
    assert_eq!(value, if recorded { 1000.0 } else { 2000.0 });
    // And once the side stream is done, the memory is there again.
    let later = Tensor::full([1000], 3.0)?;
    assert_eq!(later.device_ptr() == address, recorded);
    Ok(())
}

#[test]
fn a_tensor_dropped_under_a_side_stream_is_a_reuse_race() -> Result<()> {
    let races = races(&record(None, || consume_and_drop(false))?);
    let [race] = &races[..] else { panic!("{races:?}") };
    let reuse = race.reuse.as_ref().expect("the block was handed out again");
    assert!(reuse.block && reuse.uses.is_empty());
    assert_eq!(reuse.former.as_deref(), Some("partials"));
    assert_eq!(race.earlier.what, What::Kernel("sum".to_owned()));
    assert_eq!(race.earlier.actor, "`side`");
    assert_eq!(race.later.what, What::Kernel("fill".to_owned()));
    Ok(())
}

#[test]
fn a_gradient_is_known_by_its_leafs_name() -> Result<()> {
    let side = Stream::new("side")?;
    let weight = Tensor::full([100], 1.0)?.with_grad()?;
    let trace = record(None, || {
        weight.name("weight");
        side.wait_stream(&current_stream()?)?;
        with_stream(&side, || weight.sum()?.backward())?;
        sgd_step(std::slice::from_ref(&weight), 0.5)
    })?;
    let races = races(&trace);
    let mut names: Vec<_> = races.iter().filter_map(|race| race.buffer.as_deref()).collect();
    names.sort_unstable();
    assert_eq!(names, ["weight", "weight.grad"], "{races:?}");
    Ok(())
}

#[test]
fn with_record_stream_there_is_none() -> Result<()> {
    none(&races(&record(None, || consume_and_drop(true))?));
    Ok(())
}

#[test]
fn pinned_memory_refilled_under_its_upload_is_a_race_and_dropped_is_none() -> Result<()> {
    let upload = |refill: bool| {
        move || -> Result<()> {
            spin(100_000_000)?;
            let mut batch = PinnedTensor::from_slice(&[1.0; 5000], [5000])?;
            let there = batch.to_device(true)?;
            if refill {
                batch.as_mut_slice().fill(2.0);
            }
            let address = batch.as_slice().as_ptr();
            drop(batch);
            // That buffer is still read, so another one is handed out.
            let next = PinnedTensor::from_slice(&[3.0; 5000], [5000])?;
            assert_ne!(next.as_slice().as_ptr(), address);
            let values = there.to_vec()?;
            assert_eq!(values, vec![if refill { 2.0 } else { 1.0 }; 5000]);
            let later = PinnedTensor::empty([5000])?;
            assert_eq!(later.as_slice().as_ptr(), address);
            Ok(())
        }
    };
    none(&races(&record(None, upload(false))?));
    let races = races(&record(None, upload(true))?);
    let [race] = &races[..] else { panic!("{races:?}") };
    assert_eq!((&race.earlier.what, &race.later.what), (&What::Upload, &What::Host));
    Ok(())
}
