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

/// Calls `each` with the return addresses from the frame at `frame` outwards, [`DEPTH`] at most.
#[inline]
pub fn walk(frame: usize, mut each: impl FnMut(u64)) {
    if !cfg!(frame_pointers) {
        return;
    }
    let (low, high) = local(|local| match local.stack.get() {
        (0, 0) => {
            local.stack.set(stack_bounds());
            local.stack.get()
        }
        known => known,
    });
    let mut frame = frame;
    let mut depth = 0;
    while depth < DEPTH && frame >= low && frame + 16 <= high && frame.is_multiple_of(8) {
        // SAFETY: both words lie within this thread's stack, which is mapped and only this thread
        // changes.
        let (next, back) = unsafe { (*(frame as *const usize), *((frame + 8) as *const usize)) };
        if back == 0 {
            break;
        }
        each(back as u64);
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
