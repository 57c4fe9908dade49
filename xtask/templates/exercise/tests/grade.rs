//! Grades this exercise: `cargo test -p __NAME__`, or `cargo xtask check __NN__`.

extern crate __NAME__ as exercise;

mod cases;

fn main() -> std::process::ExitCode {
    streamlings::grade::main(env!("CARGO_MANIFEST_DIR"), cases::cases())
}
