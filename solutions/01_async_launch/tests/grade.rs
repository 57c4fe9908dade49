//! Grades the reference solution with the exercise's own cases.

extern crate async_launch_solution as exercise;

#[path = "../../../exercises/01_async_launch/tests/cases.rs"]
mod cases;

fn main() -> std::process::ExitCode {
    streamlings::grade::main(env!("CARGO_MANIFEST_DIR"), cases::cases())
}
