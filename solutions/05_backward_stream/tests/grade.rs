//! Grades the reference solution with the exercise's own cases.

extern crate backward_stream_solution as exercise;

#[path = "../../../exercises/05_backward_stream/tests/cases.rs"]
mod cases;

fn main() -> std::process::ExitCode {
    streamlings::grade::main(env!("CARGO_MANIFEST_DIR"), cases::cases())
}
