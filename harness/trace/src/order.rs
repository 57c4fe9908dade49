//! Happens-before: who is ordered after what.

pub mod clock;
pub mod edges;
