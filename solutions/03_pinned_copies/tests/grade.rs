//! Grades the reference solution with the exercise's own cases.

extern crate pinned_copies_solution as exercise;

#[path = "../../../exercises/03_pinned_copies/tests/cases.rs"]
mod cases;

fn main() -> std::process::ExitCode {
    streamlings::grade::main(env!("CARGO_MANIFEST_DIR"), cases::cases())
}
