//! The host's clock, read cheaply.
//!
//! A recorded call reads the clock twice. Where the processor's time stamp counter runs at a constant
//! rate and the kernel trusts it, that counter is read (25 ns on an H200's host) and turned into nanoseconds when
//! the record is decoded; elsewhere the monotonic clock is read.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

use streamlings_trace::Nanos;

/// Which clock is read: 0 until it is chosen, then [`COUNTER`] or [`MONOTONIC`].
static SOURCE: AtomicU8 = AtomicU8::new(0);
const COUNTER: u8 = 1;
const MONOTONIC: u8 = 2;

struct Base {
    instant: Instant,
    ticks: u64,
    counter: bool,
}

fn base() -> &'static Base {
    static BASE: OnceLock<Base> = OnceLock::new();
    BASE.get_or_init(|| {
        let counter = counter_is_trusted();
        SOURCE.store(if counter { COUNTER } else { MONOTONIC }, Ordering::Relaxed);
        Base { instant: Instant::now(), ticks: counter_now(), counter }
    })
}

fn counter_now() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and no kernel of ours forbids it.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Whether the counter runs at one rate on all processors.
fn counter_is_trusted() -> bool {
    let invariant = std::arch::x86_64::__cpuid(0x8000_0000).eax >= 0x8000_0007
        && std::arch::x86_64::__cpuid(0x8000_0007).edx & (1 << 8) != 0;
    let source =
        std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    // The kernel itself falls back to another source where the counters of the processors disagree.
    invariant && source.is_ok_and(|source| matches!(source.trim(), "tsc" | "kvm-clock"))
}

/// Nanoseconds since the process first asked.
pub fn now() -> Nanos {
    base().instant.elapsed().as_nanos() as Nanos
}

/// The clock in units of its own: see [`Rate`].
#[inline]
pub fn ticks() -> u64 {
    if SOURCE.load(Ordering::Relaxed) == COUNTER { counter_now() } else { slow_ticks() }
}

#[cold]
fn slow_ticks() -> u64 {
    if base().counter { counter_now() } else { now() }
}

/// Ticks since the process first asked.
#[inline]
pub fn since_start(ticks: u64) -> u64 {
    let base = base();
    if base.counter { ticks.saturating_sub(base.ticks) } else { ticks }
}

/// How ticks become nanoseconds, as measured from the process's start until now.
#[derive(Clone, Copy)]
pub struct Rate {
    start: u64,
    nanos_per_tick: f64,
}

impl Rate {
    /// Measures it; the longer the process has run, the more exact it is (some 100 ns over all).
    pub fn measure() -> Rate {
        let base = base();
        if !base.counter {
            return Rate { start: 0, nanos_per_tick: 1.0 };
        }
        let (nanos, ticks) = loop {
            let (nanos, ticks) = (now(), counter_now());
            // Two clocks read one after the other: over less than this the difference would show.
            if nanos > 1_000_000 {
                break (nanos, ticks);
            }
            std::hint::spin_loop();
        };
        let nanos_per_tick = nanos as f64 / ticks.saturating_sub(base.ticks).max(1) as f64;
        Rate { start: base.ticks, nanos_per_tick }
    }

    /// Nanoseconds since the process first asked for the time.
    pub fn nanos(self, ticks: u64) -> Nanos {
        (ticks.saturating_sub(self.start) as f64 * self.nanos_per_tick) as Nanos
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_and_nanoseconds_agree() {
        let before = now();
        let ticks = ticks();
        let after = now();
        let nanos = Rate::measure().nanos(ticks);
        // A preempted thread widens the bracket, never the error.
        assert!(nanos + 100_000 >= before && nanos <= after + 100_000, "{before} {nanos} {after}");
    }
}
