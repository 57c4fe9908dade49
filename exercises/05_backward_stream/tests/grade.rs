//! Grades this exercise: `cargo test -p backward_stream`, or `cargo xtask check 05`.

extern crate backward_stream as exercise;

mod cases;

fn main() -> std::process::ExitCode {
    streamlings::grade::main(env!("CARGO_MANIFEST_DIR"), cases::cases())
}
