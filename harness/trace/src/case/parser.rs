//! The lines of a case.

use std::fmt;

use super::CaseError;
use super::lexer::{Token, tokens};
use crate::model::AccessKind;

/// A word with the place where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub text: String,
    pub line: u32,
    pub column: u32,
}

impl Word {
    pub fn error(&self, message: impl Into<String>) -> CaseError {
        CaseError { line: self.line, column: self.column, message: message.into() }
    }
}

/// `x` or `x[100..200]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub buffer: Word,
    pub bytes: Option<(u64, u64)>,
}

/// `x+1024`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub buffer: Word,
    pub offset: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostAct {
    Read,
    Write,
    Drop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transfer {
    Upload,
    Download,
    Copy,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Statement {
    Stream { name: Word, blocking: bool },
    Host { name: Word, bytes: u64, pinned: bool },
    Alloc { name: Word, bytes: u64, on: Option<Word>, at: Option<Address> },
    Free { name: Word, on: Option<Word> },
    Kernel { accesses: Vec<(AccessKind, Part)>, on: Word },
    Transfer { how: Transfer, from: Part, to: Part, on: Option<Word> },
    HostAct { act: HostAct, part: Part },
    Record { event: Word, on: Word },
    Wait { event: Word, on: Option<Word> },
    Destroy { event: Word },
    Sync { stream: Word },
    SyncAll,
    Query { what: Word, done: bool },
    Out { name: Word, bytes: u64, stream: Word, at: Option<Address> },
    Back { name: Word },
    Use { name: Word, on: Word },
    Begin { thread: Word },
    Join { thread: Word },
    Expect(Expect),
}

/// One access of an expected race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Side {
    pub kind: AccessKind,
    pub stream: String,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
            AccessKind::Update => "update",
        };
        write!(f, "{kind} {}", self.stream)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expect {
    Clean,
    Races(usize),
    Race { buffer: String, later: Side, earlier: Side },
    Reuse(String),
    Blocks { stream: String, line: u32 },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub number: u32,
    pub thread: Option<Word>,
    pub statement: Statement,
}

const STATEMENTS: &str = "stream, host, alloc, free, read, write, update, upload, download, copy, \
                          record, wait, destroy, sync, query, out, back, use, begin, join or expect";

/// All lines that say something.
pub(super) fn parse(text: &str) -> Result<Vec<Line>, CaseError> {
    let mut lines = Vec::new();
    let mut number = 0;
    for text in text.lines() {
        number += 1;
        let (tokens, end) = tokens(number, text)?;
        if !tokens.is_empty() {
            lines.push(Cursor { tokens: &tokens, at: 0, line: number, end }.line()?);
        }
    }
    if !lines.iter().any(|line| matches!(line.statement, Statement::Expect(_))) {
        let message = "expected a line that begins with `expect`: the case expects nothing".into();
        return Err(CaseError { line: number.max(1), column: 1, message });
    }
    Ok(lines)
}

struct Cursor<'a> {
    tokens: &'a [Token],
    at: usize,
    line: u32,
    end: u32,
}

impl Cursor<'_> {
    fn line(mut self) -> Result<Line, CaseError> {
        let thread = match self.tokens {
            [_, colon, ..] if colon.text == ":" => {
                let thread = self.word("a host thread")?;
                self.at += 1;
                Some(thread)
            }
            _ => None,
        };
        let statement = self.statement()?;
        if self.peek().is_some() {
            return Err(self.expected("the end of the line"));
        }
        Ok(Line { number: self.line, thread, statement })
    }

    fn statement(&mut self) -> Result<Statement, CaseError> {
        let first = self.peek().unwrap_or("").to_owned();
        if kind(&first).is_some() {
            return self.kernel();
        }
        let start = self.at;
        self.at += 1;
        Ok(match first.as_str() {
            "stream" => {
                let name = self.word("the stream's name")?;
                Statement::Stream { name, blocking: self.eat("blocking") }
            }
            "host" => self.host()?,
            "alloc" => {
                let name = self.word("the buffer's name")?;
                let bytes = self.number("its size in bytes")?;
                let on = self.on()?;
                Statement::Alloc { name, bytes, on, at: self.address()? }
            }
            "free" => Statement::Free { name: self.word("a buffer")?, on: self.on()? },
            "upload" => self.transfer(Transfer::Upload)?,
            "download" => self.transfer(Transfer::Download)?,
            "copy" => self.transfer(Transfer::Copy)?,
            "record" => {
                let event = self.word("an event")?;
                Statement::Record { event, on: self.must_on()? }
            }
            "wait" => Statement::Wait { event: self.word("an event")?, on: self.on()? },
            "destroy" => Statement::Destroy { event: self.word("an event")? },
            "sync" if self.eat("all") => Statement::SyncAll,
            "sync" => Statement::Sync { stream: self.word("a stream, or `all`")? },
            "query" => {
                let what = self.word("an event or a stream")?;
                let done = self.one_of(&["done", "pending"])? == "done";
                Statement::Query { what, done }
            }
            "out" => {
                let name = self.word("the block's name")?;
                let bytes = self.number("its size in bytes")?;
                self.keyword("for")?;
                let stream = self.word("a stream")?;
                Statement::Out { name, bytes, stream, at: self.address()? }
            }
            "back" => Statement::Back { name: self.word("a block")? },
            "use" => {
                let name = self.word("a block")?;
                Statement::Use { name, on: self.must_on()? }
            }
            "begin" => Statement::Begin { thread: self.word("a host thread")? },
            "join" => Statement::Join { thread: self.word("a host thread")? },
            "expect" => Statement::Expect(self.expect()?),
            _ => {
                self.at = start;
                return Err(self.expected(STATEMENTS));
            }
        })
    }

    /// `write x, read y[0..64] on s1`
    fn kernel(&mut self) -> Result<Statement, CaseError> {
        let mut accesses = Vec::new();
        loop {
            accesses.push((self.kind()?, self.part()?));
            if !self.eat(",") {
                break;
            }
        }
        Ok(Statement::Kernel { accesses, on: self.must_on()? })
    }

    /// `host h 4096 pinned`, or `host write h`.
    fn host(&mut self) -> Result<Statement, CaseError> {
        let is_size = |token: &Token| token.text.chars().all(|c| c.is_ascii_digit());
        let declares = self.tokens.get(self.at + 1).is_some_and(is_size);
        let act = match self.peek() {
            Some("read") => Some(HostAct::Read),
            Some("write") => Some(HostAct::Write),
            Some("drop") => Some(HostAct::Drop),
            _ => None,
        };
        if let (Some(act), false) = (act, declares) {
            self.at += 1;
            return Ok(Statement::HostAct { act, part: self.part()? });
        }
        let name = self.word("a buffer's name, or `read`, `write` or `drop`")?;
        let bytes = self.number("its size in bytes")?;
        let pinned = self.one_of(&["pinned", "pageable"])? == "pinned";
        Ok(Statement::Host { name, bytes, pinned })
    }

    fn transfer(&mut self, how: Transfer) -> Result<Statement, CaseError> {
        let from = self.part()?;
        self.keyword("to")?;
        let to = self.part()?;
        Ok(Statement::Transfer { how, from, to, on: self.on()? })
    }

    fn expect(&mut self) -> Result<Expect, CaseError> {
        Ok(match self.one_of(&["clean", "races", "race", "reuse", "blocks"])? {
            "clean" => Expect::Clean,
            "races" => {
                let races = self.number("how many")?;
                Expect::Races(usize::try_from(races).unwrap_or(usize::MAX))
            }
            "race" => {
                let buffer = self.word("a buffer")?.text;
                self.keyword(":")?;
                let later = self.side()?;
                self.keyword("/")?;
                Expect::Race { buffer, later, earlier: self.side()? }
            }
            "reuse" => Expect::Reuse(self.word("a block")?.text),
            _ => {
                let stream = self.word("a stream")?.text;
                self.keyword("line")?;
                let line = self.number("a line's number")?;
                Expect::Blocks { stream, line: u32::try_from(line).unwrap_or(u32::MAX) }
            }
        })
    }

    fn side(&mut self) -> Result<Side, CaseError> {
        Ok(Side { kind: self.kind()?, stream: self.word("a stream, or `host`")?.text })
    }

    fn kind(&mut self) -> Result<AccessKind, CaseError> {
        let found = self.peek().and_then(kind);
        let found = found.ok_or_else(|| self.expected("`read`, `write` or `update`"))?;
        self.at += 1;
        Ok(found)
    }

    fn part(&mut self) -> Result<Part, CaseError> {
        let buffer = self.word("a buffer")?;
        if !self.eat("[") {
            return Ok(Part { buffer, bytes: None });
        }
        let from = self.number("the first byte")?;
        self.keyword("..")?;
        let column = self.column();
        let to = self.number("the byte behind the last")?;
        if to <= from {
            let message = format!("expected a byte behind {from}, found {to}: the range is empty");
            return Err(CaseError { line: self.line, column, message });
        }
        self.keyword("]")?;
        Ok(Part { buffer, bytes: Some((from, to)) })
    }

    fn address(&mut self) -> Result<Option<Address>, CaseError> {
        if !self.eat("at") {
            return Ok(None);
        }
        let buffer = self.word("a former buffer")?;
        let offset = if self.eat("+") { self.number("an offset in bytes")? } else { 0 };
        Ok(Some(Address { buffer, offset }))
    }

    fn on(&mut self) -> Result<Option<Word>, CaseError> {
        if self.eat("on") { self.word("a stream").map(Some) } else { Ok(None) }
    }

    fn must_on(&mut self) -> Result<Word, CaseError> {
        self.keyword("on")?;
        self.word("a stream")
    }

    fn keyword(&mut self, keyword: &str) -> Result<(), CaseError> {
        if self.eat(keyword) { Ok(()) } else { Err(self.expected(&format!("`{keyword}`"))) }
    }

    fn one_of(&mut self, words: &[&'static str]) -> Result<&'static str, CaseError> {
        let found = words.iter().find(|word| self.peek() == Some(**word));
        match found {
            Some(word) => {
                self.at += 1;
                Ok(word)
            }
            None => Err(self.expected(&format!("one of: {}", words.join(", ")))),
        }
    }

    fn number(&mut self, what: &str) -> Result<u64, CaseError> {
        let number = self.peek().and_then(|text| text.parse().ok());
        let number = number.ok_or_else(|| self.expected(what))?;
        self.at += 1;
        Ok(number)
    }

    fn word(&mut self, what: &str) -> Result<Word, CaseError> {
        let is_word = |text: &str| text.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        match self.tokens.get(self.at) {
            Some(token) if is_word(&token.text) => {
                self.at += 1;
                Ok(Word { text: token.text.clone(), line: self.line, column: token.column })
            }
            _ => Err(self.expected(what)),
        }
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.peek() == Some(text);
        self.at += usize::from(found);
        found
    }

    fn peek(&self) -> Option<&str> {
        self.tokens.get(self.at).map(|token| token.text.as_str())
    }

    fn column(&self) -> u32 {
        self.tokens.get(self.at).map_or(self.end, |token| token.column)
    }

    fn expected(&self, what: &str) -> CaseError {
        let found = match self.peek() {
            Some(text) => format!("found `{text}`"),
            None => "but the line ends".into(),
        };
        let message = format!("expected {what}, {found}");
        CaseError { line: self.line, column: self.column(), message }
    }
}

fn kind(word: &str) -> Option<AccessKind> {
    match word {
        "read" => Some(AccessKind::Read),
        "write" => Some(AccessKind::Write),
        "update" => Some(AccessKind::Update),
        _ => None,
    }
}
