//! `cargo xtask`, run as a program on workspaces of its own.

mod bundle;
mod check;
mod clones;
mod columns;
mod interrupts;
mod learner;
mod new;
mod progress;
mod quiz;
mod signatures;
mod state;
mod submissions;
mod terminal;
mod trace;
mod verify;
mod watch;
mod workspace;
