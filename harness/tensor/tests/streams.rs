//! The current stream, and which calls hold the host.

use std::panic::{AssertUnwindSafe, catch_unwind};

use streamlings_tensor::{
    Device, Error, HostTensor, PinnedTensor, Result, Stream, Tensor, current_stream, spin,
    with_stream,
};

#[test]
fn the_innermost_stream_is_current_and_restored_also_on_panic() -> Result<()> {
    let default = Device::get()?.default_stream();
    let (outer, inner) = (Stream::new("outer")?, Stream::new("inner")?);
    assert_eq!(current_stream()?, *default);
    let result = with_stream(&outer, || -> Result<u32> {
        assert_eq!(current_stream()?, outer);
        with_stream(&inner, || -> Result<()> {
            assert_eq!(current_stream()?, inner);
            assert_eq!(*Tensor::zeros([3])?.stream(), inner);
            Ok(())
        })?;
        assert_eq!(current_stream()?, outer);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            with_stream(&inner, || panic!("within the inner stream"));
        }));
        assert!(panicked.is_err());
        assert_eq!(current_stream()?, outer);
        Ok(7)
    })?;
    assert_eq!(result, 7);
    assert_eq!(current_stream()?, *default);
    Ok(())
}

#[test]
fn the_current_stream_is_of_one_thread() -> Result<()> {
    let side = Stream::new("side")?;
    with_stream(&side, || {
        let other = std::thread::spawn(current_stream).join().expect("no panic")?;
        assert_eq!(other, *Device::get()?.default_stream());
        assert_eq!(current_stream()?, side);
        Ok(())
    })
}

#[test]
fn waits_order_streams_without_holding_the_host() -> Result<()> {
    let (producer, consumer) = (Stream::new("producer")?, Stream::new("consumer")?);
    let x = with_stream(&producer, || -> Result<Tensor> {
        spin(200_000_000)?;
        Tensor::full([1000], 2.0)
    })?;
    consumer.wait_stream(&producer)?;
    let done = consumer.record_event()?;
    assert!(!producer.query()? && !consumer.query()? && !done.query()?, "200 ms are not over");
    let sum = with_stream(&consumer, || x.sum()?.item())?;
    assert_eq!(sum, 2000.0);
    assert!(producer.query()? && done.query()?);
    done.synchronize()?;
    consumer.synchronize()
}

#[test]
fn an_event_recorded_again_is_somewhere_else_for_later_waits_only() -> Result<()> {
    let (busy, idle) = (Stream::new("busy")?, Stream::new("idle")?);
    let (before, after) = (Stream::new("before")?, Stream::new("after")?);
    with_stream(&busy, || spin(200_000_000))?;
    let event = busy.record_event()?;
    before.wait_event(&event)?;
    event.record(&idle)?;
    after.wait_event(&event)?;
    after.synchronize()?;
    assert!(event.query()? && !busy.query()? && !before.query()?, "200 ms are not over");
    before.synchronize()?;
    assert!(busy.query()?);
    Ok(())
}

#[test]
fn timed_events_read_what_lies_between() -> Result<()> {
    let stream = Stream::new("timed")?;
    // While the stream is busy, nothing that holds the host comes to lie between the two.
    with_stream(&stream, || spin(200_000_000))?;
    let start = stream.record_timed_event()?;
    with_stream(&stream, || spin(20_000_000))?;
    let end = stream.record_timed_event()?;
    let early = start.elapsed_ms(&end);
    assert!(matches!(early, Err(Error::Driver(_))), "{early:?}");
    assert!(!start.query()?, "200 ms are not over");
    stream.synchronize()?;
    let ms = start.elapsed_ms(&end)?;
    assert!((20.0..30.0).contains(&ms), "{ms}");
    Ok(())
}

/// Whether `body` returns only after so many milliseconds of work that is ahead of it on its stream.
fn holds(ms: u64, body: impl FnOnce() -> Result<()>) -> Result<bool> {
    let stream = Stream::new("busy")?;
    with_stream(&stream, || {
        spin(ms * 1_000_000)?;
        let ahead = stream.record_event()?;
        body()?;
        let held = ahead.query()?;
        stream.synchronize()?;
        Ok(held)
    })
}

#[test]
fn what_holds_the_host_and_what_does_not() -> Result<()> {
    let x = Tensor::full([1000], 1.0)?;
    let one = Tensor::full([1], 1.0)?;
    let host = HostTensor::new(vec![1.0; 1000], [1000])?;
    let pinned = host.pin()?;
    drop(PinnedTensor::empty([1000])?);
    Device::get()?.synchronize()?;

    let holding: [(&str, &dyn Fn() -> Result<()>); 8] = [
        ("item", &|| one.item().map(drop)),
        ("to_host", &|| x.to_host().map(drop)),
        ("Display", &|| {
            let _text = x.to_string();
            Ok(())
        }),
        ("nonzero", &|| x.nonzero().map(drop)),
        ("masked_select", &|| x.masked_select(&x).map(drop)),
        ("pageable", &|| host.to_device(false).map(drop)),
        ("pinned, blocking", &|| pinned.to_device(false).map(drop)),
        ("wait", &|| x.to_host_pinned()?.wait().map(drop)),
    ];
    for (name, body) in holding {
        assert!(holds(20, body)?, "{name} did not hold the host");
    }
    // Long enough that a busy machine gets through `body` meanwhile.
    let free: [(&str, &dyn Fn() -> Result<()>); 7] = [
        ("pinned", &|| pinned.to_device(true).map(drop)),
        ("small pageable", &|| host.to_device(true).map(drop)),
        ("is_ready", &|| x.to_host_pinned()?.is_ready().map(|ready| assert!(!ready))),
        ("dropped download", &|| x.to_host_pinned().map(drop)),
        ("copy", &|| x.copy().map(drop)),
        ("gt and sum", &|| x.gt(0.5)?.sum().map(drop)),
        ("select", &|| Tensor::select(&x, &x, &x).map(drop)),
    ];
    for (name, body) in free {
        assert!(!holds(200, body)?, "{name} held the host");
    }
    Ok(())
}
