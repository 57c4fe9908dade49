//! Quizzes on demand: a seed a line on standard input, a quiz a line, as JSON, on standard output.
//!
//! `cargo xtask quiz` starts this and talks to the learner; it does not link the driver itself.

use std::error::Error;
use std::io::{BufRead, Write, stdin, stdout};

use streamlings_trace::DeviceKind;

fn main() -> Result<(), Box<dyn Error>> {
    let device = streamlings_driver::device()?;
    if device.kind != DeviceKind::Emulated {
        return Err("the quiz runs on the emulated device: set STREAMLINGS_DEVICE=emulated".into());
    }
    for line in stdin().lock().lines() {
        let (quiz, ..) = streamlings_quiz::quiz(line?.trim().parse()?)?;
        let mut out = stdout().lock();
        writeln!(out, "{}", serde_json::to_string(&quiz)?)?;
        out.flush()?;
    }
    Ok(())
}
