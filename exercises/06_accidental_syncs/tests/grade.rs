//! Grades this exercise: `cargo test -p accidental_syncs`, or `cargo xtask check 06`.

extern crate accidental_syncs as exercise;

mod cases;

fn main() -> std::process::ExitCode {
    streamlings::grade::main(env!("CARGO_MANIFEST_DIR"), cases::cases())
}
