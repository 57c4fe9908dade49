//! The record of driver calls and the analyses that judge it.
//!
//! Pure: no GPU, no threads, and no I/O but reading and writing a trace. A trace comes from the
//! driver (`harness/driver`), from a file, or from a test that writes one down.
//!
//! | module | what it is for |
//! |---|---|
//! | [`model`] | what a trace holds |
//! | [`mod@format`] | how it lies in a file |
//! | [`names`], [`regions`] | what things are called; the stretches that a grading case watches |
//! | [`blocks`] | which calls held the host, or would have, and behind what |
//! | [`polls`] | which threads asked again and again how far the device is |
//! | [`timing`] | what an event pair or a bare clock really measured |
//! | [`order`] | which accesses nothing orders |
//! | [`threads`] | what host threads may have told each other |
//! | [`overlap`] | how much of each copy ran beside kernels |
//! | [`case`] | short programs with what must be found in them, as text |
//! | [`build`], [`workload`] | traces written by hand, and made up for measuring |
//!
//! The analyses take a trace and give back what they found; they print nothing and never panic,
//! whatever the trace holds. [`blocks`] and [`order`] can also be fed item by item, while a file is
//! read.
//!
//! ```
//! use streamlings_trace::format::{Reader, Writer};
//! use streamlings_trace::order::Order;
//! use streamlings_trace::{case, blocks::Blocks};
//!
//! let trace = case::trace(
//!     "stream side
//!      host h 4096 pinned
//!      alloc x 4096
//!      upload h to x on side
//!      host write h          # while the copy may still be reading
//!      sync side
//!      expect races 1",
//! )?;
//! let mut writer = Writer::new(Vec::new(), &trace.header)?;
//! for item in &trace.items {
//!     writer.write(item)?;
//! }
//! let file = writer.finish()?;
//!
//! let (mut order, mut blocks) = (Order::new(), Blocks::new());
//! for item in Reader::new(file.as_slice())? {
//!     let item = item?;
//!     order.item(&item);
//!     blocks.item(&item);
//! }
//! let edge = order.races()[0].missing_edge();
//! assert_eq!(edge, "the host never waited for `side` after (1)");
//! assert_eq!(blocks.finish().len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub mod blocks;
pub mod build;
pub mod case;
pub mod format;
pub mod model;
pub mod names;
pub mod order;
pub mod overlap;
pub mod polls;
pub mod regions;
pub mod threads;
pub mod timing;
pub mod workload;

pub use model::*;
