//! Grades this exercise: `cargo test -p event_timing`, or `cargo xtask check 02`.

extern crate event_timing as exercise;

mod cases;

fn main() -> std::process::ExitCode {
    streamlings::grade::main(env!("CARGO_MANIFEST_DIR"), cases::cases())
}
