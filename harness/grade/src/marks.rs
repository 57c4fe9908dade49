//! Marks that a learner puts at the ends of source lines: `let n = count(x)?; //~ SYNC`.
//!
//! A mark belongs to its *statement*, which may go over several lines, so that it does not matter on
//! which of them it stands, nor how rustfmt breaks them. Reads Rust as rustfmt leaves it: a function
//! begins with `pub fn` and ends with `}`, both at the beginning of a line.

/// A source file, read for marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marked {
    /// Its public functions, in order.
    pub functions: Vec<Function>,
    /// Comments that look like marks and count as none, in order.
    pub stray: Vec<Stray>,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The line that it begins on, from 1.
    pub line: u32,
    /// Its statements, in order; `if x {` is one, too.
    pub statements: Vec<Statement>,
    /// A number that changes with its code, but not with comments, blanks, line breaks or commas.
    pub digest: u64,
}

/// A statement of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Its first line, from 1.
    pub first: u32,
    /// Its last line.
    pub last: u32,
    /// Whether one of them ends with a mark.
    pub marked: bool,
}

impl Function {
    /// The statement that a line belongs to.
    pub fn statement_at(&self, line: u32) -> Option<usize> {
        self.statements.iter().position(|s| s.first <= line && line <= s.last)
    }
}

/// A comment that looks like a mark and counts as none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stray {
    /// Its line, from 1.
    pub line: u32,
    /// What is the matter with it.
    pub problem: Problem,
}

/// Why a comment counts as no mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// It is not written like the mark.
    Spelling,
    /// There is no code before it on its line.
    LineOfItsOwn,
    /// It is in no function.
    OutsideOfFunctions,
}

impl Marked {
    /// Reads the lines of a source. A mark is a comment `mark`, a word of its own at the comment's beginning.
    pub fn read<'a>(lines: impl Iterator<Item = &'a str>, mark: &str) -> Marked {
        let mut marked = Marked { functions: Vec::new(), stray: Vec::new() };
        let mut function: Option<Reading> = None;
        for (number, text) in (1..).zip(lines) {
            let (code, comment) = split(text);
            let said = Said::of(comment, mark);
            let stray = |problem| Stray { line: number, problem };
            if function.is_none()
                && let Some(name) = name_of(code)
            {
                function = Some(Reading::new(name, number));
            }
            let Some(reading) = &mut function else {
                match said {
                    Said::Mark => marked.stray.push(stray(Problem::OutsideOfFunctions)),
                    Said::NearMiss => marked.stray.push(stray(Problem::Spelling)),
                    Said::Nothing => {}
                }
                continue;
            };
            match said {
                Said::Mark if code.trim().is_empty() && !reading.mark_block_above(number) => {
                    marked.stray.push(stray(Problem::LineOfItsOwn));
                }
                Said::NearMiss => marked.stray.push(stray(Problem::Spelling)),
                _ => {}
            }
            reading.line(number, code, said == Said::Mark);
            if code.trim_end() == "}" {
                marked.functions.extend(function.take().map(Reading::finish));
            }
        }
        marked.functions.extend(function.map(Reading::finish));
        marked
    }
}

/// The name, if a public function begins here.
fn name_of(code: &str) -> Option<&str> {
    let rest = code.trim_start_matches('\u{feff}').strip_prefix("pub fn ")?;
    rest.split(['(', '<']).next()
}

/// A function as far as it has been read.
struct Reading {
    function: Function,
    /// The lines of a statement that has not ended yet, and whether one is marked.
    open: Option<Statement>,
    /// Whether the last statement ended with `{`.
    block_begun: bool,
}

impl Reading {
    fn new(name: &str, line: u32) -> Reading {
        // FNV-1a: it has to be the same on every machine, and nothing more.
        let digest = 0xcbf2_9ce4_8422_2325;
        let function = Function { name: name.to_owned(), line, statements: Vec::new(), digest };
        Reading { function, open: None, block_begun: false }
    }

    fn line(&mut self, number: u32, code: &str, marked: bool) {
        let code = code.trim();
        if code.is_empty() {
            return;
        }
        for byte in code.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b',') {
            let digest = &mut self.function.digest;
            *digest = (*digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let open = Statement { first: number, last: number, marked: false };
        let open = self.open.get_or_insert(open);
        open.last = number;
        open.marked |= marked;
        self.block_begun = code.ends_with('{');
        if code.ends_with([';', '{', '}']) {
            self.function.statements.extend(self.open.take());
        }
    }

    /// rustfmt moves a comment behind `if x {` to the next line; it is the `if`'s all the same.
    fn mark_block_above(&mut self, line: u32) -> bool {
        // The first one is the function's own beginning.
        let above = self.function.statements.iter_mut().skip(1).last();
        let above = above.filter(|above| self.block_begun && above.last + 1 == line);
        above.is_some_and(|above| {
            above.last = line;
            above.marked = true;
            true
        })
    }

    fn finish(mut self) -> Function {
        self.function.statements.extend(self.open.take());
        self.function
    }
}

/// What a comment says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Mark,
    NearMiss,
    Nothing,
}

impl Said {
    fn of(comment: &str, mark: &str) -> Said {
        // Prose about the code.
        if comment.starts_with("///") || comment.starts_with("//!") {
            return Said::Nothing;
        }
        let after = comment.strip_prefix(mark);
        if after.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace)) {
            return Said::Mark;
        }
        let is_sign = |c: char| !c.is_alphanumeric();
        let word = |text: &str| {
            let word = text.trim_start_matches(is_sign).split(is_sign).next();
            word.unwrap_or_default().to_lowercase()
        };
        let signed = comment.trim_start_matches(['/', '*', ' ']).starts_with(['~', '^']);
        let alike = word(comment) == word(mark) || signed;
        if alike && !comment.is_empty() { Said::NearMiss } else { Said::Nothing }
    }
}

/// A line's code and its comment.
fn split(line: &str) -> (&str, &str) {
    let mut in_string = false;
    let mut escaped = false;
    let bytes = line.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'/' if !in_string && matches!(bytes.get(at + 1), Some(b'/' | b'*')) => {
                return (&line[..at], line[at..].trim_end());
            }
            _ => {}
        }
    }
    (line, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: &str = "//~ SYNC";

    fn read(source: &str) -> Marked {
        Marked::read(source.lines(), MARK)
    }

    /// First line, last line and whether it is marked, of each statement of the first function.
    fn statements(body: &str) -> Vec<(u32, u32, bool)> {
        let marked = read(&format!("pub fn f(x: &X) -> R {{\n{body}\n}}\n"));
        assert_eq!(marked.stray, []);
        let found = marked.functions[0].statements.iter();
        found.map(|s| (s.first, s.last, s.marked)).skip(1).collect()
    }

    #[test]
    fn a_mark_belongs_to_its_statement() {
        assert_eq!(
            statements("    a()?; //~ SYNC\n    b()?;\n    Ok(())"),
            [(2, 2, true), (3, 3, false), (4, 5, false)]
        );
        for broken in [
            "    let y = x //~ SYNC\n        .a()?\n        .b()?;",
            "    let y = x\n        .a()? //~ SYNC\n        .b()?;",
            "    let y = x\n        .a()?\n        .b()?; //~ SYNC because it waits",
        ] {
            assert_eq!(statements(broken), [(2, 4, true), (5, 5, false)], "{broken}");
        }
        assert_eq!(
            statements("    if x.item()? > 1.0 { //~ SYNC\n        y();\n    }"),
            [(2, 2, true), (3, 3, false), (4, 4, false), (5, 5, false)]
        );
        // As rustfmt leaves it.
        assert_eq!(
            statements("    if x.item()? > 1.0 {\n        //~ SYNC\n        y();\n    }"),
            [(2, 3, true), (4, 4, false), (5, 5, false), (6, 6, false)]
        );
    }

    #[test]
    fn what_only_looks_like_a_mark_is_told_of() {
        for comment in [
            "//~SYNC",
            "// ~SYNC",
            "// ~ SYNC",
            "//~ sync",
            "// SYNC",
            "//SYNC",
            "//~ SYNC:",
            "/*~ SYNC */",
            "//~ SNYC",
            "//^ SYNC",
        ] {
            let marked = read(&format!("pub fn f() {{\n    a(); {comment}\n}}\n"));
            assert_eq!(marked.stray, [Stray { line: 2, problem: Problem::Spelling }], "{comment}");
            assert!(marked.functions[0].statements.iter().all(|s| !s.marked), "{comment}");
        }
        for comment in ["", "// waits", "// a sync", "/// ~ SYNC", "//! End lines with //~ SYNC"] {
            assert_eq!(read(&format!("pub fn f() {{\n    a(); {comment}\n}}\n")).stray, []);
        }
        let alone = read("pub fn f() {\n    a();\n    //~ SYNC\n}\n");
        assert_eq!(alone.stray, [Stray { line: 3, problem: Problem::LineOfItsOwn }]);
        let at_the_beginning = read("pub fn f() {\n    //~ SYNC\n    a();\n}\n");
        assert_eq!(at_the_beginning.stray, [Stray { line: 2, problem: Problem::LineOfItsOwn }]);
        let outside = read("use a; //~ SYNC\npub fn f() {\n}\n");
        assert_eq!(outside.stray, [Stray { line: 1, problem: Problem::OutsideOfFunctions }]);
    }

    #[test]
    fn a_comment_in_a_string_is_none() {
        assert_eq!(statements(r#"    a("\"//~ SYNC");"#), [(2, 2, false), (3, 3, false)]);
    }

    #[test]
    fn the_digest_is_of_the_code_alone() {
        let digest = |body: &str| read(&format!("pub fn f() {{\n{body}\n}}\n")).functions[0].digest;
        let one = digest("    a(b, c)?;");
        assert_eq!(one, digest("    a(\n        b,\n        c,\n    )?; //~ SYNC\r"));
        assert_eq!(one, digest("    // what it does\n\n    a(b, c)?;"));
        assert_ne!(one, digest("    a(c, b)?;"));
        assert_ne!(one, digest("    // a(b, c)?;"));
    }

    #[test]
    fn functions_have_their_names_and_lines() {
        let marked = read("\u{feff}pub fn a<T>() {\n}\n\nfn no() {\n}\n\npub fn b(x: X) {\n");
        let found: Vec<_> = marked.functions.iter().map(|f| (f.name.as_str(), f.line)).collect();
        assert_eq!(found, [("a", 1), ("b", 7)]);
        assert_eq!(marked.functions[1].statement_at(7), Some(0));
        assert_eq!(marked.functions[1].statement_at(8), None);
    }
}
