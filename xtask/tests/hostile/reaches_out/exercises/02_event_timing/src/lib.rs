//! Reads the solution while it is compiled.

include!("{CHECKOUT}/solutions/02_event_timing/src/lib.rs");
