//! The allocator's rules, on whatever device there is.

use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rstest::rstest;
use streamlings_tensor::allocator::{Allocator, Memory, Stats};
use streamlings_tensor::{Device, Error, Result, Stream, spin, with_stream};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

thread_local! {
    static TURN: RefCell<Option<MutexGuard<'static, ()>>> = const { RefCell::new(None) };
}

/// An allocator of its own for each test, and two streams. One test at a time, until its thread ends:
/// a cuMemFree of one would hold up the driver for all, and with it the work that another counts on.
fn set_up() -> Result<(Allocator, Stream, Stream)> {
    static TURNS: Mutex<()> = Mutex::new(());
    TURN.with_borrow_mut(|turn| {
        // Let go first, where one thread runs all tests.
        *turn = None;
        *turn = Some(TURNS.lock().unwrap_or_else(PoisonError::into_inner));
    });
    let allocator = Allocator::new(Device::get()?.context());
    Ok((allocator, Stream::new("main")?, Stream::new("side")?))
}

#[rstest]
#[case::the_least(1, 512, 2 * MIB)]
#[case::nothing(0, 512, 2 * MIB)]
#[case::rounded(513, 1024, 2 * MIB)]
#[case::largest_small(MIB, MIB, 2 * MIB)]
// More than 1 MiB is left of 20, so it is split off.
#[case::smallest_large(MIB + 1, MIB + 512, 20 * MIB)]
#[case::shares_a_segment(10 * MIB - 512, 10 * MIB - 512, 20 * MIB)]
#[case::own_segment(10 * MIB, 10 * MIB, 10 * MIB)]
#[case::own_segment_split(10 * MIB + 1, 10 * MIB + 512, 12 * MIB)]
#[case::own_segment_rounded(11 * MIB, 12 * MIB, 12 * MIB)]
fn sizes(#[case] bytes: u64, #[case] block: u64, #[case] segment: u64) -> Result<()> {
    let (allocator, main, _) = set_up()?;
    let memory = allocator.allocate(&main, bytes)?;
    let stats = allocator.stats();
    assert_eq!((stats.allocated, stats.reserved, stats.driver_allocations), (block, segment, 1));
    assert_eq!((memory.bytes(), memory.start() % 512), (bytes, 0));
    drop(memory);
    assert_eq!(allocator.stats().allocated, 0);
    assert_eq!(allocator.stats().reserved, segment);
    Ok(())
}

#[rstest]
#[case::small(4 * KIB)]
#[case::large(3 * MIB)]
#[case::own_segment(16 * MIB)]
fn a_block_goes_to_its_own_stream_at_once_and_to_no_other(#[case] bytes: u64) -> Result<()> {
    let (allocator, main, side) = set_up()?;
    // The stream is still at it, and the block comes back all the same: what is next is behind.
    with_stream(&main, || spin(20_000_000))?;
    let first = allocator.allocate(&main, bytes)?.start();
    assert_eq!(allocator.allocate(&main, bytes)?.start(), first);
    assert_ne!(allocator.allocate(&side, bytes)?.start(), first);
    main.synchronize()?;
    assert_ne!(allocator.allocate(&side, bytes)?.start(), first);
    let stats = allocator.stats();
    assert_eq!((stats.driver_allocations, stats.reuses), (2, 2));
    Ok(())
}

#[test]
fn the_smallest_block_that_fits_is_taken() -> Result<()> {
    let (allocator, main, _) = set_up()?;
    let sizes = [8, 1, 3, 1, 5, 1].map(|units| units * 512);
    let blocks: Vec<Memory> =
        sizes.iter().map(|size| allocator.allocate(&main, *size)).collect::<Result<_>>()?;
    let starts: Vec<u64> = blocks.iter().map(Memory::start).collect();
    let mut blocks: Vec<Option<Memory>> = blocks.into_iter().map(Some).collect();
    for free in [0, 2, 4] {
        blocks[free] = None;
    }
    assert_eq!(allocator.allocate(&main, 5 * 512)?.start(), starts[4]);
    assert_eq!(allocator.allocate(&main, 2 * 512)?.start(), starts[2]);
    assert_eq!(allocator.allocate(&main, 6 * 512)?.start(), starts[0]);
    assert_eq!(allocator.stats().driver_allocations, 1);
    Ok(())
}

/// Four blocks that fill a segment are dropped in every order; then the whole is there again.
#[rstest]
fn neighbours_merge(
    #[values([0, 1, 2, 3], [3, 2, 1, 0], [0, 2, 1, 3], [1, 3, 0, 2], [1, 2, 3, 0], [2, 0, 3, 1])]
    order: [usize; 4],
    #[values((512 * KIB, 2 * MIB), (5 * MIB, 20 * MIB))] sizes: (u64, u64),
) -> Result<()> {
    let (allocator, main, _) = set_up()?;
    let mut blocks = Vec::new();
    for quarter in 0..4 {
        let block = allocator.allocate(&main, sizes.0)?;
        let first: &Memory = blocks.first().and_then(Option::as_ref).unwrap_or(&block);
        assert_eq!(block.start(), first.start() + quarter * sizes.0);
        blocks.push(Some(block));
    }
    for index in order {
        allocator.trim()?;
        assert_eq!(allocator.stats().reserved, sizes.1, "a part is still in use");
        blocks[index] = None;
    }
    // As a whole it can be trimmed, and only as a whole.
    allocator.trim()?;
    let stats = allocator.stats();
    assert_eq!((stats.reserved, stats.driver_allocations, stats.driver_frees), (0, 1, 1));
    Ok(())
}

#[test]
fn large_blocks_are_not_split_for_a_mebibyte_or_less() -> Result<()> {
    let (allocator, main, _) = set_up()?;
    drop(allocator.allocate(&main, 12 * MIB)?);
    let whole = allocator.allocate(&main, 11 * MIB)?;
    assert_eq!(allocator.stats().allocated, 12 * MIB);
    drop(whole);
    let split = allocator.allocate(&main, 11 * MIB - 512)?;
    assert_eq!(allocator.stats().allocated, 11 * MIB - 512);
    let rest = allocator.allocate(&main, MIB + 512)?;
    assert_eq!(rest.start(), split.start() + split.bytes());
    assert_eq!(allocator.stats().driver_allocations, 1);
    Ok(())
}

#[test]
fn a_recorded_use_is_waited_for() -> Result<()> {
    let (allocator, main, side) = set_up()?;
    let block = allocator.allocate(&main, 1024)?;
    let start = block.start();
    block.record_stream(&side);
    with_stream(&side, || spin(100_000_000))?;
    drop(block);
    assert_eq!(allocator.stats().waiting, 1024);
    // On its own stream neither, while the other is at it.
    let other = allocator.allocate(&main, 1024)?;
    assert_ne!(other.start(), start);
    assert_eq!(allocator.stats().waiting, 1024, "waits for 100 ms of work");
    side.synchronize()?;
    assert_eq!(allocator.allocate(&main, 1024)?.start(), start);
    let stats = allocator.stats();
    assert_eq!((stats.waiting, stats.driver_allocations), (0, 1));
    Ok(())
}

#[test]
fn every_recorded_stream_is_waited_for() -> Result<()> {
    let (allocator, main, quick) = set_up()?;
    let slow = Stream::new("slow")?;
    let block = allocator.allocate(&main, 1024)?;
    let start = block.start();
    block.record_stream(&quick);
    block.record_stream(&slow);
    block.record_stream(&slow);
    with_stream(&slow, || spin(100_000_000))?;
    drop(block);
    quick.synchronize()?;
    assert_ne!(allocator.allocate(&main, 1024)?.start(), start);
    slow.synchronize()?;
    assert_eq!(allocator.allocate(&main, 1024)?.start(), start);
    Ok(())
}

#[test]
fn its_own_stream_needs_no_recording_and_what_comes_after_the_drop_is_not_waited_for() -> Result<()>
{
    let (allocator, main, side) = set_up()?;
    let block = allocator.allocate(&main, 1024)?;
    let start = block.start();
    block.record_stream(&main);
    drop(block);
    assert_eq!(allocator.stats().waiting, 0);

    let block = allocator.allocate(&main, 1024)?;
    assert_eq!(block.start(), start);
    block.record_stream(&side);
    side.synchronize()?;
    let event = {
        drop(block);
        side.record_event()?
    };
    with_stream(&side, || spin(100_000_000))?;
    event.synchronize()?;
    assert_eq!(allocator.allocate(&main, 1024)?.start(), start);
    side.synchronize()
}

#[test]
fn trim_waits_for_recorded_uses_and_frees_whole_segments() -> Result<()> {
    let (allocator, main, side) = set_up()?;
    let kept = allocator.allocate(&main, 1024)?;
    let waits = allocator.allocate(&side, 3 * MIB)?;
    waits.record_stream(&main);
    with_stream(&main, || spin(20_000_000))?;
    drop(waits);
    allocator.trim()?;
    assert!(main.query()?, "trim waits");
    let stats = allocator.stats();
    assert_eq!(
        stats,
        Stats {
            allocated: 1024,
            peak_allocated: 1024 + 3 * MIB,
            waiting: 0,
            reserved: 2 * MIB,
            peak_reserved: 22 * MIB,
            driver_allocations: 2,
            driver_frees: 1,
            reuses: 0,
        }
    );
    drop(kept);
    Ok(())
}

#[test]
fn out_of_memory_trims_first_and_says_what_there_is() -> Result<()> {
    let (allocator, main, side) = set_up()?;
    allocator.set_limit(Some(22 * MIB));
    drop(allocator.allocate(&side, 12 * MIB)?);
    // The other stream's cached segment has to go for this one.
    let block = allocator.allocate(&main, 12 * MIB)?;
    let stats = allocator.stats();
    assert_eq!((stats.reserved, stats.driver_frees), (12 * MIB, 1));
    let error = allocator.allocate(&main, 12 * MIB).err();
    let Some(Error::OutOfMemory { requested, allocated, reserved, .. }) = error else {
        panic!("{error:?}");
    };
    assert_eq!((requested, allocated, reserved), (12 * MIB, 12 * MIB, 12 * MIB));
    let message = error.map(|error| error.to_string()).unwrap_or_default();
    assert!(
        message.starts_with("out of device memory: 12582912 bytes were asked for"),
        "{message}"
    );
    drop(block);
    allocator.allocate(&main, 12 * MIB)?;
    Ok(())
}

#[rstest]
#[case(1 << 50)]
#[case(u64::MAX - 600)]
#[case(u64::MAX)]
fn more_than_any_device_has_is_out_of_memory(#[case] bytes: u64) -> Result<()> {
    let (allocator, main, _) = set_up()?;
    let error = allocator.allocate(&main, bytes).err();
    assert!(matches!(error, Some(Error::OutOfMemory { .. })), "{error:?}");
    assert_eq!(allocator.stats().driver_allocations, 0);
    Ok(())
}

#[test]
fn threads_never_get_the_same_block() -> Result<()> {
    let (allocator, main, side) = set_up()?;
    let streams = [&main, &side];
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4_usize)
            .map(|worker| {
                let allocator = allocator.clone();
                let streams = streams.map(Stream::clone);
                scope.spawn(move || -> Result<Vec<Memory>> {
                    let mut held = Vec::new();
                    for round in 0..500_usize {
                        let stream = &streams[(worker + round) % 2];
                        let block = allocator.allocate(stream, (round as u64 * 97) % 5000)?;
                        if round % 7 == 0 {
                            block.record_stream(&streams[worker % 2]);
                        }
                        if round % 3 == 0 {
                            held.push(block);
                        }
                        if held.len() > 20 {
                            held.swap_remove(round % 20);
                        }
                    }
                    Ok(held)
                })
            })
            .collect();
        let mut held = Vec::new();
        for worker in workers {
            held.extend(worker.join().expect("no panic")?);
        }
        held.sort_by_key(Memory::start);
        for pair in held.windows(2) {
            assert!(pair[0].start() + pair[0].bytes() <= pair[1].start(), "{pair:?}");
        }
        drop(held);
        allocator.trim()?;
        let stats = allocator.stats();
        assert_eq!((stats.allocated, stats.waiting, stats.reserved), (0, 0, 0));
        Ok(())
    })
}
