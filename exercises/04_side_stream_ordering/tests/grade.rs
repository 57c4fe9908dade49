//! Grades this exercise: `cargo test -p side_stream_ordering`, or `cargo xtask check 04`.

extern crate side_stream_ordering as exercise;

mod cases;

fn main() -> std::process::ExitCode {
    streamlings::grade::main(env!("CARGO_MANIFEST_DIR"), cases::cases())
}
