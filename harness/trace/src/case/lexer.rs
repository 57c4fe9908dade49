//! A line of a case as words and signs, each with its column.

use super::CaseError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub text: String,
    /// 1-based, in characters.
    pub column: u32,
}

/// The tokens of one line and the column behind the last; a comment is left out.
pub(super) fn tokens(line: u32, text: &str) -> Result<(Vec<Token>, u32), CaseError> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut chars = (1u32..).zip(text.chars()).peekable();
    let mut end = 1;
    while let Some((column, c)) = chars.next() {
        let mut text = String::from(c);
        match c {
            '#' => break,
            c if c.is_whitespace() => continue,
            c if is_word(c) => {
                while let Some((_, c)) = chars.next_if(|(_, c)| is_word(*c)) {
                    text.push(c);
                }
            }
            ':' | ',' | '/' | '+' | '[' | ']' => {}
            '.' if chars.next_if(|(_, c)| *c == '.').is_some() => text.push('.'),
            c => {
                let message = format!("`{c}` has no meaning here");
                return Err(CaseError { line, column, message });
            }
        }
        end = column.saturating_add(u32::try_from(text.chars().count()).unwrap_or(u32::MAX));
        tokens.push(Token { text, column });
    }
    Ok((tokens, end))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}
