//! Grades the reference solution with the exercise's own cases.

extern crate accidental_syncs_solution as exercise;

#[path = "../../../exercises/06_accidental_syncs/tests/cases.rs"]
mod cases;

fn main() -> std::process::ExitCode {
    streamlings::grade::main(env!("CARGO_MANIFEST_DIR"), cases::cases())
}
