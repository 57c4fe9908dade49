//! `cargo xtask completions`: completions for a shell.
//!
//! Shells complete the command `cargo`, and the script that clap makes is for a command of our own. It
//! is made for one that nobody types, and a few lines more pass `cargo xtask ...` on to it. zsh's own
//! cargo completion calls `_cargo-xtask` without them.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::{Cli, CompletionsArguments};
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
    elif [[ -n $_streamlings_before ]]; then
        "$_streamlings_before" "$@"
    fi
}
complete -F _streamlings_cargo -o nosort -o bashdefault -o default cargo
"#;

const FISH: &str = r"
# `cargo xtask ...` is completed as `cargo-xtask ...`.
function __streamlings_complete
    set -l words (commandline -opc)
    set -e words[1..2]
    complete -C (string join ' ' cargo-xtask $words (commandline -ct))
end
complete -c cargo -n '__fish_seen_subcommand_from xtask' -f -a '(__streamlings_complete)'
";

/// Prints the script.
///
/// # Errors
/// Where it cannot be written.
pub fn run(arguments: &CompletionsArguments) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    let name = command(arguments.shell);
    clap_complete::generate(arguments.shell, &mut Cli::command().name(name), name, &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    script += match arguments.shell {
        Shell::Bash => BASH,
        Shell::Fish => FISH,
        _ => "",
    };
    text::print(&script)?;
    Ok(Exit::Success)
}
