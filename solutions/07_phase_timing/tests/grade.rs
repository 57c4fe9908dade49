//! Grades the reference solution with the exercise's own cases.

extern crate phase_timing_solution as exercise;

#[path = "../../../exercises/07_phase_timing/tests/cases.rs"]
mod cases;

fn main() -> std::process::ExitCode {
    streamlings::grade::main(env!("CARGO_MANIFEST_DIR"), cases::cases())
}
