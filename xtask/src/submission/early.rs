//! What makes code run before the grader does, or take the place of a function of the system's: with it
//! a program can read its job before the grader, or put its own driver below the recorder.
//!
//! Looked for are names, wherever they stand: an attribute may come out of `cfg_attr` or a macro, and a
//! macro may be imported under another name, but somewhere its own name has to be written. Comments and
//! strings do not count. `link` is an ordinary name, too, and counts only where it is an attribute or may
//! become one.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};

/// The names that nobody else needs.
const NAMES: &[&str] = &[
    "asm",
    "global_asm",
    "naked_asm",
    "global_allocator",
    "link_section",
    "no_mangle",
    "export_name",
];
const LINK: &str = "link";
/// What `#[link]` has in its brackets.
const LINK_ARGUMENTS: &[&str] = &["name", "kind", "modifiers", "cfg", "import_name_type"];

/// What was found in some files.
#[derive(Debug, Default)]
pub struct Search {
    /// `link` where it is no attribute yet, as it is told of.
    link: Option<String>,
    /// Whether there is an attribute that a macro makes of what it is given.
    makes_attributes: bool,
}

impl Search {
    /// Looks through a file; what it has, as the rest of a sentence, if that is not taken.
    pub fn file(&mut self, bytes: &[u8], shown: &str) -> Option<String> {
        let text = String::from_utf8_lossy(bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let text = without_first_line_of_a_script(text);
        let mut words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        let first = words.find(|word| NAMES.contains(word) || *word == LINK);
        // An attribute that a macro makes counts for the other files.
        if first.is_none() && !text.contains("macro_rules") {
            return None;
        }
        match text.parse::<TokenStream>() {
            Ok(tokens) => self.tokens(tokens, shown),
            // rustc will not read it either, or it is no Rust at all; `include!` might still take it.
            Err(_) => first
                .filter(|word| *word != LINK || text.contains("extern"))
                .map(|word| format!("{shown} has `{word}`, which runs before the grader")),
        }
    }

    /// What only all files together show.
    pub fn finish(self) -> Option<String> {
        self.link.filter(|_| self.makes_attributes)
    }

    fn tokens(&mut self, tokens: TokenStream, shown: &str) -> Option<String> {
        // Not by recursion: brackets may be nested as deep as a file is long.
        let mut open = vec![(tokens, false)];
        while let Some((tokens, in_attribute)) = open.pop() {
            let tokens: Vec<TokenTree> = tokens.into_iter().collect();
            for (index, token) in tokens.iter().enumerate() {
                let before = |by: usize| index.checked_sub(by).and_then(|at| tokens.get(at));
                match token {
                    TokenTree::Group(group) => {
                        let begins = is_punct(before(1), '#')
                            || is_punct(before(1), '!') && is_punct(before(2), '#');
                        let begins = begins && group.delimiter() == Delimiter::Bracket;
                        open.push((group.stream(), in_attribute || begins));
                    }
                    TokenTree::Ident(ident) => {
                        let said = |name: &str| {
                            let line = ident.span().start().line;
                            format!(
                                "{shown} has `{name}` in line {line}, which runs before the grader"
                            )
                        };
                        let name = plain(ident);
                        if NAMES.contains(&name.as_str()) {
                            return Some(said(&name));
                        }
                        if name == LINK {
                            if in_attribute || has_link_arguments(tokens.get(index + 1)) {
                                return Some(said(&name));
                            }
                            self.link.get_or_insert_with(|| said(LINK));
                        }
                    }
                    TokenTree::Punct(_) => {
                        self.makes_attributes |= in_attribute && is_punct(Some(token), '$');
                    }
                    TokenTree::Literal(_) => {}
                }
            }
        }
        None
    }
}

/// A name as it is meant: `r#asm` is `asm`.
fn plain(ident: &Ident) -> String {
    let text = ident.to_string();
    text.strip_prefix("r#").unwrap_or(&text).to_owned()
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

/// Whether this is `(name = ...)`, or another argument of `#[link]`.
fn has_link_arguments(next: Option<&TokenTree>) -> bool {
    let Some(TokenTree::Group(group)) = next else { return false };
    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
    tokens.windows(2).any(|pair| match pair {
        [TokenTree::Ident(ident), next] => {
            LINK_ARGUMENTS.contains(&plain(ident).as_str()) && is_punct(Some(next), '=')
        }
        _ => false,
    })
}

/// rustc passes over a first line `#!/usr/bin/...`, and not over `#![...]`.
fn without_first_line_of_a_script(text: &str) -> &str {
    match text.strip_prefix("#!") {
        Some(rest) if !rest.trim_start().starts_with('[') => {
            // The line's end stays, so that lines keep their numbers.
            rest.find('\n').map_or("", |end| &rest[end..])
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[&str]) -> Option<String> {
        let mut search = Search::default();
        let early = files.iter().find_map(|text| search.file(text.as_bytes(), "src/lib.rs"));
        early.or_else(|| search.finish())
    }

    #[test]
    fn what_runs_before_the_grader_is_found() {
        for (text, word) in [
            ("#[unsafe(no_mangle)] pub extern \"C\" fn cuInit() {}", "`no_mangle` in line 1"),
            ("\n#[used]\n#[unsafe(link_section = \".init_array\")]\nstatic A: fn() = b;", "line 3"),
            ("m! { x [#[unsafe(export_name = \"read\")]] }", "`export_name`"),
            ("std::arch::global_asm!(\"\");", "`global_asm`"),
            ("fn f() { unsafe { std::arch::asm!(\"\") } }", "`asm`"),
            ("use std::arch::asm as a;\nfn f() { unsafe { a!(\"\") } }", "`asm` in line 1"),
            ("use core::arch::{global_asm as g};\ng!(\"\");", "`global_asm`"),
            ("use std::arch::*;\nfn f() { unsafe { r#asm!(\"\") } }", "`asm` in line 2"),
            ("macro_rules! m { ($i:ident) => { core::arch::$i!(\"\"); } }\nm!(asm);", "`asm`"),
            ("#[global_allocator] static GA: A = A;", "`global_allocator`"),
            ("#[cfg_attr(all(), global_allocator)] static GA: A = A;", "`global_allocator`"),
            ("#[cfg_attr(all(), cfg_attr(all(), unsafe(no_mangle)))] fn f() {}", "`no_mangle`"),
            ("#[link(name = \"other\")] unsafe extern \"C\" {}", "`link`"),
            ("#[cfg_attr(all(), link(name = \"m\"))] unsafe extern \"C\" {}", "`link`"),
            ("#![cfg_attr(all(), link(name = \"m\"))]", "`link`"),
            ("m! { link(kind = \"static\", name = \"m\") }", "`link`"),
            (
                "macro_rules! m { ($i:ident) => { #[$i(name = \"m\")] extern {} } }\nm!(link);",
                "`link` in line 2",
            ),
            ("#[unsafe(r#link_section = \"\")]", "`link_section`"),
            ("\u{feff}#[unsafe(no_mangle)]", "`no_mangle`"),
            ("#!/usr/bin/env rust\nstd::arch::asm!(\"\")", "`asm` in line 2"),
            ("no_mangle \"", "`no_mangle`"),
        ] {
            let found = found(&[text]);
            assert!(found.as_ref().is_some_and(|f| f.contains(word)), "{text}: {found:?}");
        }
        let apart =
            ["macro_rules! m { ($i:ident) => { #[$i(name = \"m\")] extern {} } }", "m!(link);"];
        assert_eq!(found(&apart[1..]), None);
        assert!(found(&apart).is_some_and(|found| found.contains("`link`")));
    }

    #[test]
    fn ordinary_code_is_taken() {
        for text in [
            "// no_mangle, link_section and asm! are not for us",
            "fn f() { let text = \"no_mangle\"; link(text) }",
            "/// Like `#[link(name = \"x\")]`, or `asm!`.\npub fn link() {}",
            "fn f(link: &Link) { assert!(link.name == other.name, \"#[no_mangle]\") }",
            "#[derive(Debug)] struct S { link: u32, kind: u32 }",
            "macro_rules! m { ($(#[$meta:meta])* $name:ident) => { $(#[$meta])* fn $name() {} } }",
            "#![allow(dead_code)]\nfn vector_for_link_sections() {}",
            "pub fn f() {}",
            "fn f( { link(1)",
        ] {
            assert_eq!(found(&[text]), None, "{text}");
        }
    }

    #[test]
    fn brackets_may_be_as_deep_as_a_file_is_long() {
        let deep = 1 << 20;
        let text = format!("{} asm {}", "(".repeat(deep), ")".repeat(deep));
        assert!(found(&[&text]).is_some_and(|found| found.contains("`asm`")));
    }
}
