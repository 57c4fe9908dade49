//! Legal delays on a GPU: a spin kernel of ours before some operations, drawn from a seed.
//!
//! It goes to the operation's own stream and is not in the record, so that it adds no edge to the order: a
//! correct program gives the same answer. The emulated device has delays of its own (`engine.rs`).

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::driver;
use crate::backend::{Backend, backend};
use crate::sys::*;

/// A delay is shorter than this, in nanoseconds: hundreds of launches.
const LONGEST: u64 = 1_000_000;

/// The recording's seed; with 0 nothing is delayed.
static SEED: AtomicU64 = AtomicU64::new(0);
/// How many operations there were in this recording.
static OPERATIONS: AtomicU64 = AtomicU64::new(0);
/// `spin` in each context.
static SPIN: Mutex<Option<HashMap<Handle, Handle>>> = Mutex::new(None);

/// Starts or stops, with the device idle; whether it is on now.
pub fn set(seed: Option<u64>) -> bool {
    let seed = match (seed, backend()) {
        // Loaded now: loading a module in the middle of a run would hold the host.
        (Some(seed), Backend::Gpu(_)) if spin().is_some() => seed.max(1),
        _ => 0,
    };
    OPERATIONS.store(0, Ordering::Relaxed);
    SEED.store(seed, Ordering::Relaxed);
    seed != 0
}

/// Delays the operation that comes next on `stream`, if the seed says so.
pub fn before(stream: Handle) {
    let seed = SEED.load(Ordering::Relaxed);
    if seed == 0 {
        return;
    }
    let delay = drawn(seed, OPERATIONS.fetch_add(1, Ordering::Relaxed), LONGEST);
    if delay > 0
        && let Some(spin) = known_spin()
    {
        // Where this fails the program's own call fails, too, and tells.
        let _ = driver::launch(spin, stream, delay);
    }
}

/// The delay of an operation in nanoseconds, by its number: none for most, up to `longest` for some.
pub fn drawn(seed: u64, operation: u64, longest: u64) -> u64 {
    let mut x = seed ^ operation.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^= x >> 31;
    if x.is_multiple_of(3) { (x >> 8) % longest } else { 0 }
}

fn current() -> Option<Handle> {
    let mut context = 0;
    (driver::current(&mut context) == CUDA_SUCCESS && context != 0).then_some(context)
}

fn known_spin() -> Option<Handle> {
    let context = current()?;
    let known = SPIN.lock().unwrap_or_else(PoisonError::into_inner);
    known.as_ref()?.get(&context).copied()
}

/// `spin` in the current context; the lock is not held while the driver loads it.
fn spin() -> Option<Handle> {
    if let Some(spin) = known_spin() {
        return Some(spin);
    }
    let context = current()?;
    let (mut module, mut spin) = (0, 0);
    let image = CString::new(spin_alone()?).ok()?;
    if driver::load(&mut module, image.as_ptr()) != CUDA_SUCCESS
        || driver::function(&mut spin, module, c"spin".as_ptr()) != CUDA_SUCCESS
    {
        return None;
    }
    let mut known = SPIN.lock().unwrap_or_else(PoisonError::into_inner);
    known.get_or_insert_default().insert(context, spin);
    Some(spin)
}

/// The PTX of `spin` alone: the driver compiles it in a moment, which it does not do with all kernels.
fn spin_alone() -> Option<String> {
    let all = streamlings_kernels::PTX;
    let head = &all[all.find(".version")?..];
    let directives: Vec<&str> = head.lines().take_while(|line| line.starts_with('.')).collect();
    let entry = &all[all.find(".visible .entry spin(")?..];
    let entry = &entry[..entry.find("\n}")? + 2];
    Some(format!("{}\n{entry}\n", directives.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_of_the_operations_is_delayed() {
        let delays: Vec<u64> = (0..3000).map(|operation| drawn(7, operation, 1000)).collect();
        let delayed = delays.iter().filter(|delay| **delay > 0).count();
        assert!((900..1100).contains(&delayed), "{delayed}");
        assert!(delays.iter().all(|delay| *delay < 1000));
        assert_ne!(delays, (0..3000).map(|n| drawn(8, n, 1000)).collect::<Vec<_>>());
    }

    #[test]
    fn spin_stands_alone() {
        let alone = spin_alone().expect("the kernels have it");
        assert_eq!(alone.matches(".entry").count(), 1);
        for directive in [".version", ".target", ".address_size"] {
            assert_eq!(alone.matches(directive).count(), 1, "{alone}");
        }
        assert_eq!(alone.matches('{').count(), alone.matches('}').count());
    }
}
