//! Grades the reference solution with the exercise's own cases.

extern crate __NAME___solution as exercise;

#[path = "../../../exercises/__FOLDER__/tests/cases.rs"]
mod cases;

fn main() -> std::process::ExitCode {
    streamlings::grade::main(env!("CARGO_MANIFEST_DIR"), cases::cases())
}
