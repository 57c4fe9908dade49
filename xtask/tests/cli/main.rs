//! `cargo xtask`, run as a program on workspaces of its own.

mod check;
mod verify;
mod workspace;
