//! The record of driver calls and the analyses that judge it.
//!
//! Pure: no GPU, no threads, and no I/O but reading and writing a trace. A trace comes from the
//! driver (`harness/driver`), from a file, or from a test that writes one down.

#![forbid(unsafe_code)]

pub mod model;

pub use model::*;
