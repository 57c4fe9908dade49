//! `cargo xtask completions`: completions for a shell.
//!
//! Shells complete the command `cargo`, and the script that clap makes is for a command of our own. It
//! is made for one that nobody types, and a few lines more pass `cargo xtask ...` on to it. zsh's own
//! cargo completion calls `_cargo-xtask` without them. Exercises, their cases and diagnoses are offered by name,
//! as this workspace has them.

mod cases;

use std::path::Path;

use clap::CommandFactory;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap_complete::Shell;
use streamlings_grade::{Outcome, diagnosis};

use crate::cli::{Cli, CompletionsArguments};
use crate::course::Course;
use crate::exit::Exit;
use crate::text;

/// The command that clap's script is for. In bash scripts, clap writes a hyphen in two ways that do not
/// fit together.
fn command(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => "cargo_xtask",
        _ => "cargo-xtask",
    }
}

const BASH: &str = r#"
# `cargo xtask ...` is completed as `cargo_xtask ...`; any other cargo command as before.
declare -F _comp_load >/dev/null && _comp_load cargo 2>/dev/null
declare -F _completion_loader >/dev/null && _completion_loader cargo 2>/dev/null
if ! [[ $(complete -p cargo 2>/dev/null) == *" _streamlings_cargo "* ]]; then
    _streamlings_before=$(complete -p cargo 2>/dev/null | sed -n 's/.* -F \([^ ]*\) .*/\1/p')
fi
_streamlings_cargo() {
    if [[ ${COMP_WORDS[1]} == xtask && $COMP_CWORD -gt 1 ]]; then
        COMP_WORDS=(cargo_xtask "${COMP_WORDS[@]:2}")
        COMP_CWORD=$((COMP_CWORD - 1))
        _cargo_xtask cargo_xtask "$2" "${COMP_WORDS[COMP_CWORD - 1]}"
        # With `=`, that is a word of its own, or what is completed.
        if [[ ${COMP_WORDS[1]} == trace && ${COMP_WORDS[*]:0:COMP_CWORD+1} =~ \ --case(\ |\ =|\ =\ )([^ =]*)$ ]]; then
            COMPREPLY=($(compgen -W "$(_streamlings_cases "${COMP_WORDS[@]:2}")" -- "${BASH_REMATCH[2]}"))
        fi
    elif [[ -n $_streamlings_before ]]; then
        "$_streamlings_before" "$@"
    fi
}
complete -F _streamlings_cargo -o nosort -o bashdefault -o default cargo
"#;

const FISH: &str = r#"
# `cargo xtask ...` is completed as `cargo-xtask ...`.
function __streamlings_complete
    set -l words (commandline -opc)
    set -e words[1..2]
    set -l line cargo-xtask $words (commandline -ct)
    complete -C "$line"
end
complete -c cargo -n '__fish_seen_subcommand_from xtask' -f -a '(__streamlings_complete)'
"#;

/// The command line with all that may stand for an exercise or a diagnosis.
fn with_names(course: &Course) -> clap::Command {
    // clap keeps names for the rest of the program, which is short.
    let kept = |text: &String| -> &'static str { text.clone().leak() };
    let exercises = course.exercises.iter();
    let exercises = exercises.map(|e| PossibleValue::new(kept(&e.name)).help(kept(&e.title)));
    let exercises = PossibleValuesParser::new(exercises);
    let codes = diagnosis::ALL.iter().map(|d| PossibleValue::new(d.code).help(d.title));
    // Outcomes of one word, unless a diagnosis has the same.
    let words = Outcome::ALL.into_iter().map(Outcome::word);
    let words = words.filter(|word| !word.contains(' ') && diagnosis::find(word).is_none());
    let codes = codes.chain(words.map(|word| PossibleValue::new(word).help("an outcome")));
    let codes = PossibleValuesParser::new(codes);
    let mut command = Cli::command();
    for name in ["check", "watch", "hint", "solution", "trace", "reset", "verify", "bundle"] {
        command = command.mut_subcommand(name, |command| {
            command.mut_args(|argument| match argument.get_id().as_str() {
                "name" | "names" => argument.value_parser(exercises.clone()),
                _ => argument,
            })
        });
    }
    command.mut_subcommand("explain", |explain| {
        explain.mut_arg("code", |code| code.value_parser(codes))
    })
}

/// The script without what is hidden: clap hides that in zsh's help alone.
fn without_hidden(command: &clap::Command, script: &str) -> String {
    let all = command.get_subcommands().chain([command]);
    let hidden: Vec<&clap::Arg> = all
        .flat_map(clap::Command::get_arguments)
        .filter(|argument| argument.is_hide_set())
        .collect();
    let is_about = |line: &str, argument: &clap::Arg| match argument.get_long() {
        Some(long) => {
            line.contains(&format!(" -l {long} ")) || line.starts_with(&format!("'--{long}"))
        }
        None => argument.get_help().is_some_and(|help| line.contains(&help.to_string())),
    };
    let kept = script.lines().filter(|line| !hidden.iter().any(|hidden| is_about(line, hidden)));
    let longs: Vec<String> =
        hidden.iter().filter_map(|hidden| Some(format!(" --{}", hidden.get_long()?))).collect();
    let mut out = String::new();
    for line in kept {
        // All that bash offers at a place is on one such line.
        let offered = line.trim_start().starts_with("opts=");
        let line = match offered {
            true => longs.iter().fold(line.to_owned(), |line, long| line.replace(long, "")),
            false => line.to_owned(),
        };
        out += &(line + "\n");
    }
    out
}

/// What arguments without an option may be, which clap's script for fish does not offer.
fn values_for_fish(command: &clap::Command) -> String {
    let mut out = String::new();
    for subcommand in command.get_subcommands() {
        let name = subcommand.get_name();
        for argument in subcommand.get_positionals() {
            for value in argument.get_possible_values().iter().filter(|v| !v.is_hide_set()) {
                let help = value.get_help().map_or(String::new(), ToString::to_string);
                let help = help.replace('\\', "\\\\").replace('\'', "\\'");
                out += &format!(
                    "complete -c cargo-xtask -n '__fish_cargo_xtask_using_subcommand {name}' -f \
                     -a {} -d '{help}'\n",
                    value.get_name()
                );
            }
        }
    }
    out
}

/// Prints the script.
///
/// # Errors
/// Where the course cannot be read, or the script not be written.
pub fn run(root: &Path, arguments: &CompletionsArguments) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    let name = command(arguments.shell);
    let course = Course::read(root)?;
    let mut named = with_names(&course).name(name);
    clap_complete::generate(arguments.shell, &mut named, name, &mut script);
    let script = without_hidden(&named, &String::from_utf8_lossy(&script));
    let mut script = cases::add(arguments.shell, &script, &course);
    match arguments.shell {
        Shell::Bash => script += BASH,
        Shell::Fish => script = script + &values_for_fish(&named) + FISH,
        // With two colons, zsh offers no option behind the first name.
        Shell::Zsh => script = script.replace("\n'*::", "\n'*:"),
        _ => {}
    }
    text::print(&script)?;
    Ok(Exit::Success)
}
