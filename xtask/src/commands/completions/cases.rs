//! `trace --case`: completed with the cases of the exercise that stands on the same command line.
//!
//! clap's scripts know nothing of other arguments. So each shell gets a function that goes through the words
//! that were typed: the first that names an exercise decides, and without one all cases are offered. A word
//! behind an option is its value, unless the option takes none.

use std::fmt::Write;

use clap_complete::Shell;

use crate::course::{Course, Exercise};

/// What stands for the cases in the scripts below.
const OF_EACH: &str = "OF_EACH\n";
const OF_ALL: &str = "OF_ALL";

/// Prints the cases of the exercise among its arguments.
const FUNCTION: &str = r#"
# The cases of the exercise among these words; of all exercises without one.
_streamlings_cases() {
    local word before=
    for word in "$@"; do
        case $before in
            --open | --solutions | -*=*) ;;
            -* | '=') before=$word; continue ;;
        esac
        case $word in
OF_EACH
        esac
        before=$word
    done
    echo OF_ALL
}
"#;

const ZSH: &str = r#"
_streamlings_case() {
    local -a cases
    cases=($(_streamlings_cases "${(@)words[2,-1]}"))
    compadd -a cases
}
"#;

const FISH: &str = r#"
function __streamlings_cases
    set -l before
    for word in (commandline -opc)
        if not string match -q -- '-*' "$before"; or string match -qr -- '^--open$|^--solutions$|=' "$before"
            switch $word
OF_EACH
            end
        end
        set before $word
    end
    string split ' ' 'OF_ALL'
end
complete -c cargo-xtask -n '__fish_cargo_xtask_using_subcommand trace' -l case -x -a '(__streamlings_cases)'
"#;

/// Adds to clap's script what completes cases.
pub fn add(shell: Shell, script: &str, course: &Course) -> String {
    match shell {
        Shell::Bash => script.to_owned() + &filled(FUNCTION, shell, course),
        Shell::Fish => script.to_owned() + &filled(FISH, shell, course),
        Shell::Zsh => {
            // Before the first of clap's own, since the last lines run it.
            let functions = filled(FUNCTION, shell, course) + ZSH + "\n_cargo-xtask() {";
            let lines = script.lines().map(|line| match line.starts_with("'--case=") {
                true => line.replace(":CASE:_default'", ":CASE:_streamlings_case'") + "\n",
                false => line.to_owned() + "\n",
            });
            lines.collect::<String>().replacen("\n_cargo-xtask() {", &functions, 1)
        }
        _ => script.to_owned(),
    }
}

fn filled(function: &str, shell: Shell, course: &Course) -> String {
    let mut each = String::new();
    for exercise in &course.exercises {
        let cases = exercise.intended_cases().join(" ");
        let Exercise { number, name, folder, .. } = exercise;
        // Writing to a string cannot fail.
        let _ = match shell {
            Shell::Fish => writeln!(
                each,
                "                case {number} {number:02} {name} '*{folder}*'\n\
                 \x20                   string split ' ' '{cases}'\n\
                 \x20                   return"
            ),
            _ => writeln!(
                each,
                "            {number} | {number:02} | {name} | *{folder}*) echo {cases}; return ;;"
            ),
        };
    }
    let all: Vec<String> = course.exercises.iter().flat_map(Exercise::intended_cases).collect();
    function.replace(OF_EACH, &each).replace(OF_ALL, &all.join(" "))
}
