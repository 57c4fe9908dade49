//! Copies: what of them their call waits for.

use crate::model::{MemoryKind, Place};

/// What of a copy its calling thread has waited for when the call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyWait {
    /// Nothing.
    Nothing,
    /// What was on the stream before it, but not the copy itself.
    Before,
    /// The copy too.
    Whole,
}

/// The rule for copies.
///
/// | form | from | to | the host has waited for |
/// |---|---|---|---|
/// | any | any | pageable | the copy |
/// | without a stream | pageable | device | what was before it: the last bytes may still be under way |
/// | without a stream | pinned | device | the copy |
/// | without a stream | device | pinned | the copy |
/// | any other | | | nothing |
pub fn copy_wait(asynchronous: bool, src: &Place, dst: &Place) -> CopyWait {
    match (asynchronous, src.memory, dst.memory) {
        (_, _, MemoryKind::Pageable) => CopyWait::Whole,
        (true, _, _) | (false, MemoryKind::Device, MemoryKind::Device) => CopyWait::Nothing,
        (false, MemoryKind::Pageable, _) => CopyWait::Before,
        (false, _, _) => CopyWait::Whole,
    }
}
