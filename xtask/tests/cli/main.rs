//! `cargo xtask`, run as a program on workspaces of its own.

mod check;
mod submissions;
mod verify;
mod workspace;
