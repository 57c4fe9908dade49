//! Grades the reference solution with the exercise's own cases.

extern crate side_stream_ordering_solution as exercise;

#[path = "../../../exercises/04_side_stream_ordering/tests/cases.rs"]
mod cases;

fn main() -> std::process::ExitCode {
    streamlings::grade::main(env!("CARGO_MANIFEST_DIR"), cases::cases())
}
