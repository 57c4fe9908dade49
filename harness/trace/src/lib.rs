//! The record of driver calls and the analyses that judge it.
//!
//! Pure: no GPU, no threads, and no I/O but reading and writing a trace. A trace comes from the
//! driver (`harness/driver`), from a file, or from a test that writes one down.
//!
//! | module | answers |
//! |---|---|
//! | [`model`] | what a trace holds |
//! | [`format`] | how it lies in a file |

#![forbid(unsafe_code)]

pub mod blocks;
pub mod build;
pub mod case;
pub mod format;
pub mod model;
pub mod names;
pub mod order;
pub mod overlap;
pub mod regions;
pub mod timing;
pub mod workload;

pub use model::*;
