//! Grades this exercise: `cargo test -p pinned_copies`, or `cargo xtask check 03`.

extern crate pinned_copies as exercise;

mod cases;

fn main() -> std::process::ExitCode {
    streamlings::grade::main(env!("CARGO_MANIFEST_DIR"), cases::cases())
}
