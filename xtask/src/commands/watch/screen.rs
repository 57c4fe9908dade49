//! The terminal while a watch has it: raw, on the alternate screen, and given back in any case.

use std::io::{Write, stdout};
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{AutoStream, ColorChoice};
use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::terminal::{
    self, BeginSynchronizedUpdate, Clear, ClearType, DisableLineWrap, EnableLineWrap,
    EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
};
use crossterm::{execute, queue};
use textwrap::core::display_width;

use crate::text;

/// Whether the terminal is ours.
static OURS: AtomicBool = AtomicBool::new(false);

/// The terminal; given back when this is dropped.
pub struct Screen {
    colours: bool,
    columns: usize,
    rows: usize,
    header: usize,
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// Where it cannot be had.
    pub fn open() -> std::io::Result<Screen> {
        let colours = AutoStream::choice(&stdout()) != ColorChoice::Never;
        // Before anything is taken, so that a panic in between gives back what was.
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
        OURS.store(true, Ordering::SeqCst);
        let screen = Screen { colours, columns: 80, rows: 24, header: 0 };
        terminal::enable_raw_mode()?;
        execute!(stdout(), EnterAlternateScreen, DisableLineWrap, Hide)?;
        Ok(screen)
    }

    /// Whether it shows colours, and the learner wants them.
    pub fn has_colours(&self) -> bool {
        self.colours
    }

    /// How many columns it has.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// How many lines there are between header and footer.
    pub fn rows_for_body(&self) -> usize {
        self.rows.saturating_sub(self.header + 2)
    }

    /// Asks the terminal for its size; what is said from here on fits into it.
    fn measure(&mut self) {
        if let Ok((columns, rows)) = terminal::size() {
            (self.columns, self.rows) = (usize::from(columns).max(1), usize::from(rows));
        }
        text::fit(self.columns);
    }

    /// Draws everything: the header's lines, what fits of the body from its line `top` on, which is
    /// corrected where it is too far down, and the footer on the last line.
    ///
    /// # Errors
    /// Where the terminal cannot be written to.
    pub fn draw(
        &mut self,
        header: &str,
        body: &str,
        top: &mut usize,
        footer: impl FnOnce(usize) -> String,
    ) -> std::io::Result<()> {
        self.measure();
        let header = lines(header, self.columns);
        self.header = header.len();
        let body = lines(body, self.columns);
        let room = self.rows_for_body();
        *top = (*top).min(body.len().saturating_sub(room));
        let below = body.len().saturating_sub(*top + room);
        let more = match below {
            0 => String::new(),
            below => format!("-- {below} more below --"),
        };
        let shown = header.iter().chain(body.iter().skip(*top).take(room)).map(String::as_str);
        let mut shown: Vec<&str> = shown.collect();
        shown.truncate(self.rows.saturating_sub(2));
        shown.resize(self.rows.saturating_sub(2), "");
        let footer = footer(self.columns);
        shown.extend([more.as_str(), &footer]);
        // A terminal of one row, or none.
        shown.drain(..shown.len().saturating_sub(self.rows.max(1)));

        let mut out = Vec::new();
        queue!(out, BeginSynchronizedUpdate)?;
        for (row, line) in shown.iter().enumerate() {
            let line = match self.colours {
                true => (*line).to_owned(),
                false => anstream::adapter::strip_str(line).to_string(),
            };
            // Cleared before: behind a line that fills its row the cursor stands on the last column.
            queue!(
                out,
                MoveTo(0, u16::try_from(row).unwrap_or(u16::MAX)),
                Clear(ClearType::UntilNewLine)
            )?;
            write!(out, "{line}\x1b[0m")?;
        }
        queue!(out, EndSynchronizedUpdate)?;
        let mut stdout = stdout().lock();
        stdout.write_all(&out)?;
        stdout.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Makes the terminal what it was.
fn give_back() {
    if OURS.swap(false, Ordering::SeqCst) {
        // Where it has gone, there is nothing to give back.
        let _ = execute!(stdout(), Show, EnableLineWrap, LeaveAlternateScreen);
        let _ = terminal::disable_raw_mode();
    }
}

/// A text's lines, those that are too long in several.
fn lines(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let line = tame(line);
        if display_width(&line) <= columns {
            lines.push(line);
        } else {
            lines.extend(textwrap::wrap(&line, columns).into_iter().map(|line| line.into_owned()));
        }
    }
    lines
}

/// Colours stay. Whatever else a terminal would act on goes: a program's output may be in a report.
fn tame(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\t' => out.push_str("    "),
            '\x1b' if rest.peek() == Some(&'[') => {
                let mut sequence = String::from(c);
                for c in rest.by_ref() {
                    sequence.push(c);
                    if c != '[' && ('\x40'..='\x7e').contains(&c) {
                        break;
                    }
                }
                if sequence.ends_with('m') {
                    out.push_str(&sequence);
                }
            }
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_stay_and_nothing_else_that_moves_the_terminal() {
        assert_eq!(tame("\x1b[1mbold\x1b[0m"), "\x1b[1mbold\x1b[0m");
        assert_eq!(tame("a\x1b[2Jb\x1b[10;3Hc\rd\x07e\x1b]0;title\x07f"), "abcde]0;titlef");
        assert_eq!(tame("\tx\x1b[?1049"), "    x");
        assert_eq!(tame("größer \u{9b}2J"), "größer 2J");
    }

    #[test]
    fn long_lines_go_on_below() {
        assert_eq!(lines("short\n\none two three", 8), ["short", "", "one two", "three"]);
        let styled = lines("\x1b[31mone two three\x1b[0m", 13);
        assert_eq!(styled, ["\x1b[31mone two three\x1b[0m"]);
    }
}
