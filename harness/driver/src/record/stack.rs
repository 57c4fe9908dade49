//! Who called: return addresses, found by walking frame pointers.
//!
//! `.cargo/config.toml` builds everything with frame pointers, which makes a walk cost nanoseconds,
//! so that launches can have their line too. The walk never leaves the thread's stack, so a broken
//! chain ends it early and never faults. Built without frame pointers, nothing is captured here.

use super::local::local;

/// How many return addresses a record holds at most.
pub const DEPTH: usize = 16;

/// The frame pointer of the function that this is inlined into.
#[inline(always)]
pub fn frame_pointer() -> usize {
    let frame: usize;
    // SAFETY: reads one register.
    unsafe {
        std::arch::asm!("mov {}, rbp", out(reg) frame, options(nomem, nostack, preserves_flags))
    };
    frame
}

/// A frame and its return address in one word: another function in its place has another.
#[inline]
fn key(frame: usize, back: u64) -> u64 {
    (frame as u64).rotate_left(32) ^ back
}

/// From now on this thread's walks end at the function that called the one that `frame` is of.
pub fn end_at_caller_of(frame: usize) {
    end_nowhere();
    let mut keys = Vec::new();
    walk_frames(frame, |frame, back| keys.push(key(frame, back)));
    local(|local| local.outermost.set(keys.get(1).copied().unwrap_or(0)));
}

/// From now on this thread's walks end where its stack does.
pub fn end_nowhere() {
    local(|local| local.outermost.set(0));
}

/// Calls `each` with the return addresses from the frame at `frame` outwards: [`DEPTH`] at most, and up
/// to the function that began the recording. Every further one costs: the outer part of the stack is in no
/// cache when the driver is done with a launch.
#[inline]
pub fn walk(frame: usize, mut each: impl FnMut(u64)) {
    walk_frames(frame, |_, back| each(back));
}

#[inline]
fn walk_frames(frame: usize, mut each: impl FnMut(usize, u64)) {
    if !cfg!(frame_pointers) {
        return;
    }
    let ((low, high), outermost) = local(|local| {
        if local.stack.get() == (0, 0) {
            local.stack.set(stack_bounds());
        }
        (local.stack.get(), local.outermost.get())
    });
    let mut frame = frame;
    let mut depth = 0;
    while depth < DEPTH && frame >= low && frame + 16 <= high && frame.is_multiple_of(8) {
        // SAFETY: both words lie within this thread's stack, which is mapped and only this thread
        // changes.
        let (next, back) = unsafe { (*(frame as *const usize), *((frame + 8) as *const usize)) };
        if back == 0 || key(frame, back as u64) == outermost {
            break;
        }
        each(frame, back as u64);
        depth += 1;
        if next <= frame {
            break;
        }
        frame = next;
    }
}

/// The addresses of the calling thread's stack; an empty range where they can't be had.
#[cold]
fn stack_bounds() -> (usize, usize) {
    let mut low = std::ptr::null_mut();
    let mut size = 0;
    // SAFETY: the attributes are initialised by pthread_getattr_np before they are read and
    // destroyed after; on failure they are not touched.
    unsafe {
        let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return (1, 1);
        }
        let got = libc::pthread_attr_getstack(attributes.as_ptr(), &mut low, &mut size);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        if got != 0 {
            return (1, 1);
        }
    }
    (low as usize, low as usize + size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn callers() -> Vec<u64> {
        let mut callers = Vec::new();
        walk(frame_pointer(), |back| callers.push(back));
        callers
    }

    #[inline(never)]
    fn begin() {
        end_at_caller_of(frame_pointer());
    }

    /// Called after `begin` has returned to it, and from a helper that has returned itself.
    #[inline(never)]
    fn inside() -> Vec<u64> {
        begin();
        std::hint::black_box(callers())
    }

    #[inline(never)]
    fn helper() {
        begin();
        std::hint::black_box(());
    }

    #[test]
    fn a_walk_ends_at_the_function_that_began() {
        if !cfg!(frame_pointers) {
            assert_eq!(callers(), []);
            return;
        }
        end_nowhere();
        let whole = callers();
        assert!(whole.len() > 3, "{whole:?}");
        let shortened = inside();
        // Only the place in `inside`, or, where `callers` was inlined into it, nothing.
        assert!(shortened.len() <= 1, "{shortened:?}");
        end_nowhere();
        assert_eq!(callers()[1..], whole[1..]);
        // Who began has returned: nothing is cut off.
        helper();
        assert_eq!(callers()[1..], whole[1..]);
        end_nowhere();
    }
}
