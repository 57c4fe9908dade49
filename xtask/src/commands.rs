//! The commands, one file each with one `run`.

pub mod bench;
pub mod bundle;
pub mod check;
pub mod completions;
pub mod doctor;
pub mod explain;
pub mod hint;
pub mod judge;
pub mod list;
pub mod new;
pub mod next;
pub mod ptx;
pub mod quiz;
pub mod reset;
pub mod solution;
pub mod trace;
pub mod unpacked;
pub mod verify;
pub mod watch;
