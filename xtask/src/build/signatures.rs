//! What the starter offers to the grading cases, and where a learner's code offers something else: functions,
//! methods and structs that are public. rustc sees such a change in the cases, which a learner never reads.
//!
//! Compared are tokens, not types: names of parameters and the paths before a name do not count. So this is
//! asked only about code that does not build.

use std::ops::Range;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// Something that others can use.
#[derive(Clone, Debug)]
pub struct Item {
    /// `enqueue_and_wait`, `Download::wait`, `Times`.
    pub name: String,
    /// Its signature, or a struct with its fields, in one line: as it stands, with what is not public.
    pub shown: String,
    /// The same without fields that are not public: what others can use.
    pub offered: String,
    /// Whether it is `pub`.
    pub is_public: bool,
    /// Whether it is a function or a method.
    pub is_function: bool,
    /// Its lines, the body's too.
    pub lines: Range<u32>,
    /// What has to be the same.
    shape: Vec<String>,
    /// The names in it.
    words: Vec<String>,
}

impl Item {
    /// `wait` of `Download::wait`.
    pub fn last_name(&self) -> &str {
        self.name.rsplit("::").next().unwrap_or(&self.name)
    }

    /// Whether it can be used as another can.
    pub fn is_like(&self, other: &Item) -> bool {
        self.shape == other.shape
    }
}

/// The functions, methods and structs of a file, in order; none if it is no Rust.
pub fn items(text: &str) -> Vec<Item> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut items = Vec::new();
    if let Ok(tokens) = text.parse::<TokenStream>() {
        find(tokens, "", &mut items);
    }
    items
}

/// Whether a file gives a name of its own to one of the words in which two items differ: they may mean the same.
pub fn may_mean_the_same(text: &str, one: &Item, other: &Item) -> bool {
    let known = |word: &&String| !other.words.contains(word);
    let own: Vec<&String> = one.words.iter().filter(known).collect();
    let words: Vec<String> = parts(text).into_iter().filter(|part| is_name(part)).collect();
    words.windows(2).any(|pair| {
        ["as", "type"].contains(&pair[0].as_str()) && own.iter().any(|word| **word == pair[1])
    })
}

fn find(tokens: TokenStream, within: &str, items: &mut Vec<Item>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        match word(Some(token)).as_deref() {
            Some("fn") => items.extend(function(&tokens, at, within)),
            Some("struct") if within.is_empty() => items.extend(structure(&tokens, at)),
            Some("impl") if within.is_empty() => {
                if let Some((name, body)) = implementation(&tokens[at + 1..]) {
                    find(body.stream(), &format!("{name}::"), items);
                }
            }
            _ => {}
        }
    }
}

fn function(tokens: &[TokenTree], at: usize, within: &str) -> Option<Item> {
    let name = word(tokens.get(at + 1))?;
    let rest = tokens.get(at + 2..)?;
    let length =
        rest.iter().position(|token| is_punct(token, ';') || is_group(token, Delimiter::Brace))?;
    let (signature, end) = (&rest[..length], &rest[length]);
    let brackets = |token: &TokenTree| group(token, Delimiter::Parenthesis).cloned();
    // The first of them: generics have bounds such as `Fn(A)` in angle brackets only.
    let mut depth = 0;
    let at_parameters = (0..signature.len()).find(|at| {
        depth = depth_after(signature, *at, depth);
        depth == 0 && brackets(&signature[*at]).is_some()
    })?;
    let parameters: Vec<TokenTree> =
        brackets(&signature[at_parameters])?.stream().into_iter().collect();
    let head = head(tokens, at);
    // A function that is `const` is called like any other.
    let calling = head
        .iter()
        .filter(|token| matches!(word(Some(token)).as_deref(), Some("async" | "unsafe")));
    let calling: String = calling.map(|token| format!("{token} ")).collect();
    let mut shape = vec![calling + &without_paths(&signature[..at_parameters])];
    shape.extend(split(&parameters).into_iter().map(|one| without_paths(kind_of(one))));
    shape.push(without_paths(&signature[at_parameters + 1..]));
    let shown = format!("{}fn {name}{}", before(head), spelled(signature));
    Some(Item {
        name: format!("{within}{name}"),
        offered: shown.clone(),
        shown,
        is_public: is_public(head),
        is_function: true,
        lines: line(&tokens[at])..last_line(end) + 1,
        shape,
        words: words(signature),
    })
}

fn structure(tokens: &[TokenTree], at: usize) -> Option<Item> {
    let name = word(tokens.get(at + 1))?;
    let body = tokens[at + 2..].iter().find(|token| {
        is_punct(token, ';')
            || is_group(token, Delimiter::Brace)
            || is_group(token, Delimiter::Parenthesis)
    })?;
    let inside: Vec<TokenTree> = match body {
        TokenTree::Group(group) => group.stream().into_iter().collect(),
        _ => Vec::new(),
    };
    let fields: Vec<&[TokenTree]> = split(&inside).into_iter().map(without_attributes).collect();
    let public = fields.iter().copied().filter(|field| is_public(field));
    let public: Vec<&[TokenTree]> = public.collect();
    let mut shape: Vec<String> = public.iter().map(|field| without_paths(field)).collect();
    // As one names them, in any order.
    if is_group(body, Delimiter::Brace) {
        shape.sort();
    }
    let head = head(tokens, at);
    let with = |fields: &[&[TokenTree]]| {
        let listed: Vec<String> = fields.iter().map(|field| spelled(field)).collect();
        let listed = match listed[..] {
            [] => String::new(),
            _ => format!(" {{ {} }}", listed.join(", ")),
        };
        format!("{}struct {name}{listed}", before(head))
    };
    Some(Item {
        shown: with(&fields),
        offered: with(&public),
        is_public: is_public(head),
        is_function: false,
        lines: line(&tokens[at])..last_line(body) + 1,
        shape,
        words: words(&inside),
        name,
    })
}

/// The type that methods are written for, and they; nothing if they are a trait's.
fn implementation(tokens: &[TokenTree]) -> Option<(String, &Group)> {
    let length = tokens.iter().position(|token| is_group(token, Delimiter::Brace))?;
    let head = &tokens[..length];
    if head.iter().any(|token| word(Some(token)).as_deref() == Some("for")) {
        return None;
    }
    let mut depth = 0;
    let mut name = None;
    for (at, token) in head.iter().enumerate() {
        match depth_after(head, at, depth) {
            after if after != depth => depth = after,
            0 => name = word(Some(token)).filter(|word| word != "where").or(name),
            _ => {}
        }
        if word(Some(token)).as_deref() == Some("where") {
            break;
        }
    }
    Some((name?, group(&tokens[length], Delimiter::Brace)?))
}

/// Splits at the commas that are in no brackets.
fn split(tokens: &[TokenTree]) -> Vec<&[TokenTree]> {
    let mut depth = 0;
    let mut from = 0;
    let mut parts = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        depth = depth_after(tokens, at, depth);
        if depth == 0 && is_punct(token, ',') {
            parts.push(&tokens[from..at]);
            from = at + 1;
        }
    }
    parts.push(&tokens[from..]);
    parts.retain(|part| !part.is_empty());
    parts
}

/// How many `<` are open behind this token. The `>` of an arrow closes none.
fn depth_after(tokens: &[TokenTree], at: usize, depth: usize) -> usize {
    let is_arrow = at > 0 && is_punct(&tokens[at - 1], '-');
    match &tokens[at] {
        token if is_punct(token, '<') => depth + 1,
        token if is_punct(token, '>') && !is_arrow => depth.saturating_sub(1),
        _ => depth,
    }
}

/// A parameter without its name; `&self` as it is.
fn kind_of(parameter: &[TokenTree]) -> &[TokenTree] {
    let parameter = without_attributes(parameter);
    let colon = |at: usize| parameter.get(at).is_some_and(|token| is_punct(token, ':'));
    let at = (0..parameter.len())
        .find(|at| colon(*at) && !colon(at + 1) && (*at == 0 || !colon(at - 1)));
    at.map_or(parameter, |at| &parameter[at + 1..])
}

fn without_attributes(mut tokens: &[TokenTree]) -> &[TokenTree] {
    while let [hash, attribute, rest @ ..] = tokens
        && is_punct(hash, '#')
        && is_group(attribute, Delimiter::Bracket)
    {
        tokens = rest;
    }
    tokens
}

/// What stands before a keyword and belongs to it: `pub(crate) const unsafe`.
fn head(tokens: &[TokenTree], keyword: usize) -> &[TokenTree] {
    let is_of_head = |token: &TokenTree| match token {
        TokenTree::Ident(ident) => {
            ["pub", "const", "async", "unsafe", "extern"].iter().any(|word| ident == word)
        }
        // The language of `extern "C"`, and how far `pub` goes.
        TokenTree::Literal(_) => true,
        TokenTree::Group(group) => group.delimiter() == Delimiter::Parenthesis,
        TokenTree::Punct(_) => false,
    };
    let length = tokens[..keyword].iter().rev().take_while(|token| is_of_head(token)).count();
    let head = &tokens[keyword - length..keyword];
    // A macro before it may end in parentheses.
    let first = head.iter().position(|token| !is_group(token, Delimiter::Parenthesis));
    &head[first.unwrap_or(length)..]
}

/// The same as text, with a blank behind it.
fn before(head: &[TokenTree]) -> String {
    if head.is_empty() { String::new() } else { format!("{} ", spelled(head)) }
}

/// Whether what begins so is `pub`, and not only `pub(crate)`.
fn is_public(tokens: &[TokenTree]) -> bool {
    // The type of a tuple's field may be in parentheses, too; ours are not.
    let is_restricted = tokens.get(1).is_some_and(|token| is_group(token, Delimiter::Parenthesis));
    word(tokens.first()).as_deref() == Some("pub") && !is_restricted
}

/// `std::time::Duration` as `Duration`, without blanks.
fn without_paths(tokens: &[TokenTree]) -> String {
    let stream: TokenStream = tokens.iter().cloned().collect();
    let mut kept: Vec<String> = Vec::new();
    for part in parts(&stream.to_string()) {
        let is_path =
            matches!(&kept[..], [.., name, one, two] if is_name(name) && one == ":" && two == ":");
        if is_path && is_name(&part) {
            kept.truncate(kept.len() - 3);
        }
        kept.push(part);
    }
    kept.concat()
}

/// Names and numbers, and each other sign by itself.
fn parts(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut in_name = false;
    for sign in text.chars() {
        let goes_on = std::mem::replace(&mut in_name, is_of_name(sign)) && in_name;
        match parts.last_mut() {
            Some(last) if goes_on => last.push(sign),
            _ if sign.is_whitespace() => {}
            _ => parts.push(sign.to_string()),
        }
    }
    parts
}

fn is_of_name(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

fn is_name(part: &str) -> bool {
    part.chars().all(is_of_name)
}

/// The tokens as they were written, in one line.
fn spelled(tokens: &[TokenTree]) -> String {
    let mut out = String::new();
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| tokens[before].span().end());
        let apart = before.is_some_and(|before| before != token.span().start());
        if apart {
            out.push(' ');
        }
        match token {
            TokenTree::Group(group) => {
                let inside: Vec<TokenTree> = group.stream().into_iter().collect();
                let parts: Vec<String> = split(&inside).into_iter().map(spelled).collect();
                let parts = parts.join(", ");
                out += &match group.delimiter() {
                    Delimiter::Parenthesis => format!("({parts})"),
                    Delimiter::Bracket => format!("[{parts}]"),
                    Delimiter::Brace => format!("{{ {parts} }}"),
                    Delimiter::None => parts,
                };
            }
            token => out += &token.to_string(),
        }
    }
    out
}

fn words(tokens: &[TokenTree]) -> Vec<String> {
    let stream: TokenStream = tokens.iter().cloned().collect();
    parts(&stream.to_string()).into_iter().filter(|part| is_name(part)).collect()
}

fn word(token: Option<&TokenTree>) -> Option<String> {
    match token {
        Some(TokenTree::Ident(ident)) => Some(ident.to_string()),
        _ => None,
    }
}

fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

fn group(token: &TokenTree, delimiter: Delimiter) -> Option<&Group> {
    match token {
        TokenTree::Group(group) if group.delimiter() == delimiter => Some(group),
        _ => None,
    }
}

fn is_group(token: &TokenTree, delimiter: Delimiter) -> bool {
    group(token, delimiter).is_some()
}

fn line(token: &TokenTree) -> u32 {
    u32::try_from(token.span().start().line).unwrap_or(u32::MAX)
}

fn last_line(token: &TokenTree) -> u32 {
    u32::try_from(token.span().end().line).unwrap_or(u32::MAX - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Item {
        let mut items = items(text);
        assert_eq!(items.len(), 1, "{items:?}");
        items.remove(0)
    }

    #[test]
    fn names_of_parameters_and_paths_do_not_count() {
        let starter =
            one("pub fn f(_gpu: &Gpu, of: impl FnOnce() -> u8) -> Result<Duration, E> { g() }");
        for same in [
            "pub fn f(gpu: &Gpu, mut work: impl FnOnce() -> u8) -> Result<Duration, E> {}",
            "/// f\n#[inline]\npub fn f(\n    a: &streamlings::Gpu,\n    b: impl FnOnce() -> u8,\n) -> std::result::Result<std::time::Duration, E>\n{}",
        ] {
            assert!(one(same).is_like(&starter), "{:?} {starter:?}", one(same));
        }
        for other in [
            "pub fn f(gpu: Gpu, of: impl FnOnce() -> u8) -> Result<Duration, E> {}",
            "pub fn f(gpu: &Gpu) -> Result<Duration, E> {}",
            "pub fn f(gpu: &Gpu, of: impl FnOnce() -> u8) -> Duration {}",
            "pub fn f(gpu: &Gpu, of: impl FnOnce() -> u8) {}",
            "pub fn f<T>(gpu: &Gpu, of: impl FnOnce() -> u8) -> Result<Duration, E> {}",
            "pub async fn f(gpu: &Gpu, of: impl FnOnce() -> u8) -> Result<Duration, E> {}",
            "pub unsafe fn f(gpu: &Gpu, of: impl FnOnce() -> u8) -> Result<Duration, E> {}",
        ] {
            assert!(!one(other).is_like(&starter), "{other}");
        }
        assert!(one("pub const fn f() {}").is_like(&one("pub extern \"C\" fn f() {}")));
        let generic = one("pub fn f<T: Fn(A) -> B>(a: HashMap<A, B>, b: (A, B)) -> T {}");
        assert_eq!(generic.shape, ["<T:Fn(A)->B>", "HashMap<A,B>", "(A,B)", "->T"]);
    }

    #[test]
    fn items_are_found_with_their_lines() {
        let text = "//! A file.\n\npub struct Times {\n    /// When.\n    pub done: Duration,\n    own: u8,\n}\n\n\
            impl Times {\n    pub const fn wait(\n        &self,\n        of: &[Vec<u8>],\n    ) -> u8 {\n        1\n    }\n}\n\n\
            impl<T> From<T> for Times {\n    fn from(_: T) -> Times {}\n}\nimpl<'a, T: Into<u8>> Held<'a, T> {\n    pub(crate) fn get() {}\n}\n\
            pub struct Empty;\npub struct Pair(pub u8, u8);\nmake!()\nunsafe extern \"C\" fn own() {}\n";
        let found: Vec<String> = items(text)
            .iter()
            .map(|item| format!("{} {:?} {}", item.name, item.lines, item.shown))
            .collect();
        assert_eq!(
            found,
            [
                "Times 3..8 pub struct Times { pub done: Duration, own: u8 }",
                "Times::wait 10..16 pub const fn wait(&self, of: &[Vec<u8>]) -> u8",
                "Held::get 22..23 pub(crate) fn get()",
                "Empty 24..25 pub struct Empty",
                "Pair 25..26 pub struct Pair { pub u8, u8 }",
                "own 27..28 unsafe extern \"C\" fn own()",
            ]
        );
        assert_eq!(items(text)[0].offered, "pub struct Times { pub done: Duration }");
        let public: Vec<bool> = items(text).iter().map(|item| item.is_public).collect();
        assert_eq!(public, [true, true, false, true, true, false]);
        assert!(items("fn open( {").is_empty());
    }

    #[test]
    fn an_alias_may_mean_the_same() {
        let starter = one("pub fn f() -> Result<u8, DriverError> {}");
        for (text, may) in [
            ("use driver::DriverError as Error;\npub fn f() -> Result<u8, Error> {}", true),
            ("type Answer = Result<u8, DriverError>;\npub fn f() -> Answer {}", true),
            ("use a::B as C;\npub fn f() -> u8 {}", false),
        ] {
            assert_eq!(may_mean_the_same(text, &one(text), &starter), may, "{text}");
        }
    }
}
