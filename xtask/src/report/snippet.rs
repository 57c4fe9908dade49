//! A finding as a good compiler would print it: the source line under a caret, the rule, what next.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use streamlings_grade::{Spot, Verdict, diagnosis};
use textwrap::core::display_width;

use crate::text::width;

/// Footers are narrower by this, since ` = next: ` and the gutter stand before them.
const BEFORE_FOOTERS: usize = 16;

/// Fewer than these under a line would not be seen.
const FEWEST_CARETS: usize = 8;

/// What does without a GPU.
const EMULATED: &str = "--device emulated";

/// Renders a failed case's verdict; source files are found from `root`.
pub fn render(root: &Path, verdict: &Verdict) -> String {
    let diagnosis = verdict.diagnosis.as_deref().and_then(diagnosis::find);
    let word = verdict.outcome.word();
    let code = diagnosis.map_or("", |diagnosis| diagnosis.code);
    let room = width().saturating_sub(word.len() + code.len() + 4).max(24);
    let title = textwrap::fill(&verdict.message, room);

    let mut files: BTreeMap<&str, (String, Vec<&Spot>)> = BTreeMap::new();
    for spot in &verdict.spots {
        let read = || std::fs::read_to_string(root.join(&spot.at.path)).unwrap_or_default();
        files.entry(&spot.at.path).or_insert_with(|| (read(), Vec::new())).1.push(spot);
    }
    // Labels that find no room beside their carets.
    let mut moved = Vec::new();
    let mut group = Group::with_title(Level::ERROR.with_name(word).primary_title(&title).id(code));
    let first = verdict.at();
    for (path, (source, spots)) in &files {
        let mut snippet = Snippet::source(source.as_str()).path(*path);
        let mut shown = false;
        let gutter = spots.iter().map(|spot| spot.at.line.to_string().len()).max().unwrap_or(0) + 3;
        for spot in spots {
            let Some(range) = line_range(source, spot.at.line) else { continue };
            let kind = match Some(&spot.at) == first {
                true => AnnotationKind::Primary,
                false => AnnotationKind::Context,
            };
            let room = width().saturating_sub(gutter + indentation(source, range.start));
            let label = display_width(&spot.label);
            snippet = snippet.annotation(match spot.label.as_str() {
                "" => kind.span(cut(source, range, room)),
                text if label + 1 + FEWEST_CARETS <= room => {
                    kind.span(cut(source, range, room - label - 1)).label(text)
                }
                text => {
                    moved.push(format!("line {}: {text}", spot.at.line));
                    kind.span(cut(source, range, room))
                }
            });
            shown = true;
        }
        // A file that has changed since, or is not here, is named all the same.
        group = match spots.first() {
            Some(spot) if !shown => group.element(Origin::path(*path).line(spot.at.line as usize)),
            _ => group.element(snippet),
        };
    }
    // Where there is no device, the driver may know better what comes next.
    let does_without = |text: &str| text.contains(EMULATED);
    let better = |note: &&String| {
        does_without(note) && diagnosis.is_some_and(|diagnosis| does_without(diagnosis.next))
    };
    let next = verdict.notes.iter().find(better);
    let notes = verdict.notes.iter().filter(|note| Some(*note) != next);
    let mut footers: Vec<(&str, &str)> =
        moved.iter().chain(notes).map(|note| ("note", note.as_str())).collect();
    if let Some(diagnosis) = diagnosis {
        footers.push(("rule", diagnosis.rule));
        footers.push(("next", next.map_or(diagnosis.next, String::as_str)));
    }
    let footers: Vec<(&str, String)> = footers
        .into_iter()
        .map(|(name, text)| (name, textwrap::fill(text, width() - BEFORE_FOOTERS)))
        .collect();
    for (name, text) in &footers {
        group = group.element(Level::NOTE.with_name(*name).message(text));
    }
    Renderer::styled().decor_style(DecorStyle::Ascii).term_width(width()).render(&[group])
}

/// The bytes of a line, without its indentation and what ends it.
fn line_range(source: &str, line: u32) -> Option<Range<usize>> {
    let index = usize::try_from(line).ok()?.checked_sub(1)?;
    let start: usize = source.split_inclusive('\n').take(index).map(str::len).sum();
    let text = source.split_inclusive('\n').nth(index)?;
    let from = start + (text.len() - text.trim_start().len());
    let text = text.trim();
    (!text.is_empty()).then_some(from..from + text.len())
}

/// How wide the code before a byte is, on its line.
fn indentation(source: &str, byte: usize) -> usize {
    let line = source[..byte].rsplit('\n').next().unwrap_or_default();
    // The renderer shows a tab as four columns.
    line.chars().map(|c| if c == '\t' { 4 } else { 1 }).sum()
}

/// As much of a range as `columns` characters are.
fn cut(source: &str, range: Range<usize>, columns: usize) -> Range<usize> {
    let text = &source[range.clone()];
    let end = text.char_indices().nth(columns.max(1)).map_or(text.len(), |(index, _)| index);
    range.start..range.start + end
}

#[cfg(test)]
mod tests {
    use streamlings_grade::{At, Finding};

    use super::*;
    use crate::text::WIDTH;

    #[test]
    fn carets_and_labels_fit_beside_or_below_each_other() {
        for (indent, code, label) in
            [(0, 20, 20), (12, 77, 31), (12, 84, 100), (70, 25, 40), (4, 60, 0)]
        {
            let root = tempfile::tempdir().expect("a temporary folder");
            let line = format!("{}{}\n", " ".repeat(indent), "x".repeat(code));
            std::fs::write(root.path().join("lib.rs"), "\n".repeat(119) + &line)
                .expect("it can be written");
            let label = "word ".repeat(label / 5);
            let finding = Finding::new(diagnosis::HUNG, "it hung")
                .at(At::new("lib.rs", 120), label.trim_end());
            let text = render(root.path(), &Verdict::failed("case", finding));
            let text = anstream::adapter::strip_str(&text).to_string();
            for line in text.lines() {
                // The line itself is the learner's.
                let is_ours = !line.starts_with("120 |");
                assert!(!is_ours || line.chars().count() <= WIDTH, "{line}\n{text}");
            }
            assert!(text.contains("^^^"), "{text}");
            assert_eq!(text.matches("word").count(), label.matches("word").count(), "{text}");
        }
    }
}
