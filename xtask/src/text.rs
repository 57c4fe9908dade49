//! Sentences on a terminal: at most [`width`] columns.

use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// No line of ours is longer. (rustc's own may be, and source code.)
pub const WIDTH: usize = 100;
/// Nor do we fit them into less.
const NARROWEST: usize = 40;

/// What [`width`] is.
static FITTED: AtomicUsize = AtomicUsize::new(WIDTH);

/// How wide lines may be: [`WIDTH`], or what the terminal has.
pub fn width() -> usize {
    FITTED.load(Ordering::Relaxed)
}

/// From here on lines fit into so many columns.
pub fn fit(columns: usize) {
    FITTED.store(columns.clamp(NARROWEST, WIDTH), Ordering::Relaxed);
}

/// From here on lines fit into the terminal, if standard output is one.
pub fn fit_terminal() {
    if std::io::stdout().is_terminal()
        && let Ok((columns @ 1.., _)) = crossterm::terminal::size()
    {
        fit(usize::from(columns));
    }
}

/// How all of our text is wrapped. Names and codes with hyphens stay in one piece, and so do paths.
fn options(indent: &str) -> Options<'_> {
    options_in(width(), indent)
}

fn options_in(columns: usize, indent: &str) -> Options<'_> {
    Options::new(columns)
        .subsequent_indent(indent)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit)
}

/// Wraps each line of a text; what goes on in the next line is indented by `indent`.
pub fn wrapped(text: &str, indent: &str) -> String {
    textwrap::fill(text, options(indent))
}

/// The lines of a text in so many columns; all but the first begin with `indent`.
pub fn wrapped_in(text: &str, columns: usize, indent: &str) -> Vec<String> {
    textwrap::wrap(text, options_in(columns, indent)).into_iter().map(Into::into).collect()
}

/// Wraps `text` behind `label`, and keeps the room below the label free.
pub fn labelled(label: &str, text: &str) -> String {
    let indent = " ".repeat(textwrap::core::display_width(label));
    textwrap::fill(text, options(&indent).initial_indent(label))
}

/// The same for a list of names, each of which stays in one line.
pub fn listed(label: &str, names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| name.replace(' ', "\u{a0}")).collect();
    labelled(label, &names.join(", ")).replace('\u{a0}', " ")
}

/// Writes to standard output. Whoever reads only the first lines (`| head`) closes it early, which
/// changes no exit code.
///
/// # Errors
/// Where it cannot be written for another reason.
pub fn print(text: &str) -> std::io::Result<()> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Says on standard error what has to be known and stops nothing.
pub fn warn(message: &str) {
    anstream::eprintln!("{}", labelled("warning: ", message));
}

/// `1 hint`, `2 hints`.
pub fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// `1`, `1 and 2`, `1, 2 and 3`.
pub fn and(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [some @ .., last] => format!("{} and {last}", some.join(", ")),
    }
}

/// `1st`, `2nd`, `11th`.
pub fn ordinal(number: u32) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_item_has_an_and() {
        let said = ["", "1", "1 and 2", "1, 2 and 3"];
        for (count, said) in said.into_iter().enumerate() {
            let items: Vec<String> = (1..=count).map(|item| item.to_string()).collect();
            assert_eq!(and(&items), said);
        }
    }

    #[test]
    fn a_name_of_two_words_stays_in_one_line() {
        let names: Vec<String> = (1..=9).map(|number| format!("0{number} some_exercise")).collect();
        let text = listed("Solved: ", &names);
        assert!(text.lines().count() > 1, "{text}");
        assert_eq!(text.replace("\n        ", " "), format!("Solved: {}", names.join(", ")));
        assert!(
            text.lines().all(|line| line.trim_end().ends_with("some_exercise,")
                || line.ends_with("some_exercise")),
            "{text}"
        );
    }

    #[test]
    fn no_line_is_too_long_and_nothing_is_lost() {
        let path = format!("/{}/state.json", "a-long-folder".repeat(20));
        for text in ["a word and ".repeat(40), path.clone(), format!("see {path} for it")] {
            let label = "warning: ";
            let shown = labelled(label, &text);
            let widest = shown.lines().map(textwrap::core::display_width).max();
            assert!(widest.is_some_and(|widest| widest <= WIDTH), "{shown}");
            let pressed = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(pressed(&shown), pressed(&format!("{label}{text}")));
        }
    }

    #[test]
    fn names_stay_in_one_piece() {
        let text = format!("{} closure-before-launch", "x".repeat(85));
        assert!(wrapped(&text, "").ends_with("\nclosure-before-launch"));
        let text = format!("{} exercises/01_async_launch/src/lib.rs:37", "x".repeat(85));
        assert!(wrapped(&text, "").ends_with("\nexercises/01_async_launch/src/lib.rs:37"));
    }

    #[test]
    fn ordinals_end_as_they_are_spoken() {
        let spoken = [1, 2, 3, 4, 11, 12, 13, 21, 102, 111].map(ordinal).join(" ");
        assert_eq!(spoken, "1st 2nd 3rd 4th 11th 12th 13th 21st 102nd 111th");
    }

    #[test]
    fn one_is_no_plural() {
        assert_eq!(counted(1, "part"), "1 part");
        assert_eq!(counted(0, "part"), "0 parts");
    }
}
