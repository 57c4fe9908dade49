//! `cargo xtask`: grades exercises, proves that the course grades as it should, and measures.
//!
//! One file of [`commands`] for each command; the whole command line is in [`cli`], every exit code
//! in [`exit`]. The crate reads verdicts and never links the driver.

#![forbid(unsafe_code)]

mod build;
mod bundle;
mod cli;
mod commands;
mod course;
mod criterion;
mod exit;
mod grading;
mod points;
mod progress;
mod report;
mod sources;
mod state;
mod submission;
mod text;
mod timeline;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use cli::{BundledCheck, Cli, Command};
use exit::Exit;

/// How long the last word of an interrupted run may take.
const LAST_WORD: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    if let Some(code) = streamlings_grade::supervise::main_of_guard() {
        return code;
    }
    // A case runs in a process group of its own, which Ctrl-C does not reach.
    let handler = ctrlc::set_handler(|| {
        if !commands::watch::interrupt() {
            interrupt();
        }
    });
    if let Err(error) = handler {
        anstream::eprintln!("warning: Ctrl-C will leave running cases behind: {error}");
    }
    text::fit_terminal();
    let result = match bundle::unpacked::here() {
        Some(folder) => commands::unpacked::run(&folder, &BundledCheck::parse()),
        None => dispatch(&Cli::parse()),
    };
    let exit = result.unwrap_or_else(|error| {
        anstream::eprintln!("{}", text::labelled("error: ", &format!("{error:#}")));
        let usage = error.is::<course::UnknownExercise>()
            || error.is::<exit::UsageError>()
            || error.is::<points::WrongPoints>();
        if usage { Exit::Usage } else { Exit::GraderError }
    });
    ExitCode::from(exit.code())
}

/// Ends everything that was started, and this program.
fn interrupt() -> ! {
    streamlings_grade::supervise::end_all();
    commands::unpacked::interrupt();
    // A terminal that takes no output holds up whoever writes to it, for as long as it likes.
    let (said, heard) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let terminal = std::io::stderr().is_terminal();
        let kept = submission::results::interrupted();
        // Below whatever was being drawn.
        let line_end = if terminal { "\n" } else { "" };
        if terminal || kept.is_some() {
            let kept = kept.map_or(String::new(), |kept| format!("; {kept}"));
            // Not by `eprintln!`: who is held up while writing has the lock for that.
            let _ = nix::unistd::write(
                std::io::stderr(),
                format!("{line_end}interrupted{kept}\n").as_bytes(),
            );
        }
        commands::quiz::interrupt();
        let _ = said.send(());
    });
    let _ = heard.recv_timeout(LAST_WORD);
    std::process::exit(i32::from(Exit::Interrupted.code()))
}

fn dispatch(cli: &Cli) -> anyhow::Result<Exit> {
    match &cli.command {
        Command::Check(arguments) => commands::check::run(&cli.root(), arguments),
        Command::Watch(arguments) => commands::watch::run(&cli.root(), arguments),
        Command::List(arguments) => commands::list::run(&cli.root(), arguments),
        Command::Next(arguments) => commands::next::run(&cli.root(), arguments),
        Command::Hint(arguments) => commands::hint::run(&cli.root(), arguments),
        Command::Explain(arguments) => commands::explain::run(&cli.root(), arguments),
        Command::Solution(arguments) => commands::solution::run(&cli.root(), arguments),
        Command::Reset(arguments) => commands::reset::run(&cli.root(), arguments),
        Command::Quiz(arguments) => commands::quiz::run(&cli.root(), arguments),
        Command::Doctor(arguments) => commands::doctor::run(&cli.root(), arguments),
        Command::Completions(arguments) => commands::completions::run(&cli.root(), arguments),
        Command::Verify(arguments) => commands::verify::run(&cli.root(), arguments),
        Command::Trace(arguments) => commands::trace::run(&cli.root(), arguments),
        Command::Judge(arguments) => commands::judge::run(arguments),
        Command::New(arguments) => commands::new::run(&cli.root(), arguments),
        Command::Bundle(arguments) => commands::bundle::run(&cli.root(), arguments),
        Command::Bench => commands::bench::run(&cli.root()),
        Command::Ptx(arguments) => commands::ptx::run(&cli.root(), arguments),
    }
}
