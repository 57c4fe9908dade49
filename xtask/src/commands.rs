//! The commands, one file each with one `run`.

pub mod bench;
pub mod check;
pub mod judge;
pub mod ptx;
pub mod verify;
