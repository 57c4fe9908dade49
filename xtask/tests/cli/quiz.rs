//! `cargo xtask quiz`, through a pipe: a whole sitting, and how one ends.

use std::io::{Read, Write};
use std::num::NonZero;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::terminal::Terminal;
use crate::workspace::{command, root, target};

fn quiz(arguments: &[&str]) -> Command {
    let mut command = command(root(), &[&["quiz"], arguments].concat());
    command.env("CARGO_TARGET_DIR", target()).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// What is said to somebody who types this and then ends the input, and the exit code.
fn sitting(arguments: &[&str], typed: &str) -> (String, Option<i32>) {
    let mut child = quiz(arguments).spawn().expect("xtask runs");
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(typed.as_bytes()).expect("it is read");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    (String::from_utf8(output.stdout).expect("it is UTF-8"), output.status.code())
}

#[test]
fn a_sitting_asks_explains_and_keeps_the_score() {
    let typed = "?\n1, 2\n1\n9\nnone\nwhat\n3\nnone\n";
    let (said, code) = sitting(&["--seed", "1", "--count", "4"], typed);
    assert_eq!(code, Some(0));
    insta::assert_snapshot!(said);
}

#[test]
fn every_line_fits() {
    let (said, code) = sitting(&["--seed", "500", "--count", "60"], &"?\nnone\n".repeat(60));
    let wide: Vec<&str> = said.lines().filter(|line| line.chars().count() > 100).collect();
    assert_eq!(wide, Vec::<&str>::new());
    assert!(said.contains("handed out again, before"), "no memory was handed out again too early");
    assert!(said.contains(" of 60 right. "), "{said}");
    assert_eq!(code, Some(0));
}

#[test]
fn snippets_fit_a_terminal_of_80_columns() {
    let size = [40, 80].map(|side| NonZero::new(side).expect("it is not 0"));
    let arguments = ["quiz", "--seed", "500", "--count", "20"];
    let folder = target().to_str().expect("it is UTF-8");
    let environment = [("CARGO_TARGET_DIR", folder)];
    let mut terminal = Terminal::start_in(size.into(), root(), &arguments, &environment);
    for number in 1..=20 {
        terminal.wait_for(&format!("Snippet {number}, seed"));
        terminal.press("none\r");
    }
    terminal.wait_for("Score: ");
    assert_eq!(terminal.end(), 0);
    let written = terminal.written();
    let said = written.get(written.find("Snippet 1,").expect("it has begun")..).expect("a text");
    let wide: Vec<&str> = said.lines().filter(|line| line.trim_end().len() > 80).collect();
    assert_eq!(wide, Vec::<&str>::new());
    assert!(said.contains("     | fn snippet(\r\n     |     "), "no head was too long: {said}");
}

#[test]
fn the_end_of_the_input_and_q_end_it_with_the_score() {
    let (said, code) = sitting(&["--seed", "1"], "");
    assert!(said.contains("Snippet 1, seed 1\n"), "{said}");
    assert!(
        said.ends_with("\nScore: 0 of 0 right. `cargo xtask quiz --seed 1` asks the same again.\n")
    );
    assert_eq!(code, Some(0));
    let (said, code) = sitting(&["--seed", "1"], "2 1\nq\nnone\n");
    assert!(said.contains("> 2 1\nRight.\n"), "{said}");
    assert!(
        said.ends_with(
            "> q\nScore: 1 of 1 right. `cargo xtask quiz --seed 1` asks the same again.\n"
        )
    );
    assert_eq!(code, Some(0));
}

#[test]
fn ctrl_c_ends_it_with_the_score() {
    let mut child: Child = quiz(&["--seed", "1"]).spawn().expect("xtask runs");
    let mut output = child.stdout.take().expect("it is piped");
    let mut said = String::new();
    while !said.ends_with("> ") {
        let mut byte = [0];
        output.read_exact(&mut byte).expect("it asks first");
        said.push(char::from(byte[0]));
    }
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("it is there");
    output.read_to_string(&mut said).expect("it is UTF-8");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert!(said.contains("Score: 0 of 0 right."), "{said}");
}
