//! Grades this exercise: `cargo test -p phase_timing`, or `cargo xtask check 07`.

extern crate phase_timing as exercise;

mod cases;

fn main() -> std::process::ExitCode {
    streamlings::grade::main(env!("CARGO_MANIFEST_DIR"), cases::cases())
}
