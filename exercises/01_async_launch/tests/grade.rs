//! Grades this exercise: `cargo test -p async_launch`, or `cargo xtask check 01`.

extern crate async_launch as exercise;

mod cases;

fn main() -> std::process::ExitCode {
    streamlings::grade::main(env!("CARGO_MANIFEST_DIR"), cases::cases())
}
