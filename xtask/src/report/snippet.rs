//! A finding as a good compiler would print it: the source line under a caret, the rule, what next.

use std::collections::BTreeMap;
use std::path::Path;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use streamlings_grade::{Spot, Verdict, diagnosis};

use crate::text::WIDTH;

/// Footers are wrapped to this, since ` = next: ` and the gutter stand before them.
const FOOTER: usize = WIDTH - 16;

/// Renders a failed case's verdict; source files are found from `root`.
pub fn render(root: &Path, verdict: &Verdict) -> String {
    let diagnosis = verdict.diagnosis.as_deref().and_then(diagnosis::find);
    let word = verdict.outcome.word();
    let code = diagnosis.map_or("", |diagnosis| diagnosis.code);
    let width = WIDTH.saturating_sub(word.len() + code.len() + 4).max(40);
    let title = textwrap::fill(&verdict.message, width);

    let mut files: BTreeMap<&str, (String, Vec<&Spot>)> = BTreeMap::new();
    for spot in &verdict.spots {
        let read = || std::fs::read_to_string(root.join(&spot.at.path)).unwrap_or_default();
        files.entry(&spot.at.path).or_insert_with(|| (read(), Vec::new())).1.push(spot);
    }
    let mut group = Group::with_title(Level::ERROR.with_name(word).primary_title(&title).id(code));
    let first = verdict.at();
    for (path, (source, spots)) in &files {
        let mut snippet = Snippet::source(source.as_str()).path(*path);
        let mut shown = false;
        for spot in spots {
            let Some(range) = line_range(source, spot.at.line) else { continue };
            let kind = match Some(&spot.at) == first {
                true => AnnotationKind::Primary,
                false => AnnotationKind::Context,
            };
            let annotation = kind.span(range);
            snippet = snippet.annotation(match spot.label.as_str() {
                "" => annotation,
                label => annotation.label(label),
            });
            shown = true;
        }
        // A file that has changed since, or is not here, is named all the same.
        group = match spots.first() {
            Some(spot) if !shown => group.element(Origin::path(*path).line(spot.at.line as usize)),
            _ => group.element(snippet),
        };
    }
    let mut footers: Vec<(&str, String)> = Vec::new();
    for note in &verdict.notes {
        footers.push(("note", textwrap::fill(note, FOOTER)));
    }
    if let Some(diagnosis) = diagnosis {
        footers.push(("rule", textwrap::fill(diagnosis.rule, FOOTER)));
        footers.push(("next", textwrap::fill(diagnosis.next, FOOTER)));
    }
    for (name, text) in &footers {
        group = group.element(Level::NOTE.with_name(*name).message(text));
    }
    Renderer::styled().decor_style(DecorStyle::Ascii).term_width(WIDTH).render(&[group])
}

/// The bytes of a line, without its indentation and what ends it.
fn line_range(source: &str, line: u32) -> Option<std::ops::Range<usize>> {
    let index = usize::try_from(line).ok()?.checked_sub(1)?;
    let start: usize = source.split_inclusive('\n').take(index).map(str::len).sum();
    let text = source.split_inclusive('\n').nth(index)?;
    let from = start + (text.len() - text.trim_start().len());
    let text = text.trim();
    (!text.is_empty()).then_some(from..from + text.len())
}
