//! The picture as plain text, at most [`width`] columns wide.

use std::fmt::Write;

use super::model::{Bar, Kind, Place, Timeline};
use super::{Picture, Run, bytes, compare, ticks, time};
use comfy_table::{ContentArrangement, Table, presets};

use crate::text::{labelled, width, wrapped};

/// The columns before the picture.
const LABEL: usize = 20;
/// No more operations than this are listed for each run.
const LISTED: usize = 60;

/// All of it.
pub fn page(picture: &Picture) -> String {
    let mut out = String::new();
    line(&mut out, &picture.title);
    out += &comparison(picture);
    let span = picture.span();
    for run in &picture.runs {
        out.push('\n');
        line(&mut out, &format!("{}, on {}", run.heading(), run.device.name));
        write_run(&mut out, run, span, picture.runs.len() == 1);
    }
    let bars = || picture.runs.iter().flat_map(|run| &run.timeline.bars);
    let kinds = Kind::ALL.into_iter().filter(|kind| bars().any(|bar| bar.kind == *kind));
    let mut keys: Vec<String> = kinds.map(|k| format!("{} {}", letter(k), k.name())).collect();
    if bars().any(|bar| !bar.races.is_empty()) {
        keys.push("! in a race".to_owned());
    }
    if bars().any(is_graders_work) {
        keys.push("small letters: the grader's own".to_owned());
    }
    out.push('\n');
    out += &labelled("key: ", &keys.join(", "));
    out.push('\n');
    out
}

/// What sets the runs apart, in columns.
fn comparison(picture: &Picture) -> String {
    let rows = compare::rows(picture);
    if rows.is_empty() {
        return String::new();
    }
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width()).unwrap_or(u16::MAX));
    let heads = picture.runs.iter().map(|run| run.whose.clone());
    table.add_row(std::iter::once(String::new()).chain(heads));
    for row in rows {
        table.add_row(std::iter::once(row.what).chain(row.values));
    }
    let lines = table.lines().map(|line| format!("{}\n", line.trim_end()));
    format!("\n{}", lines.collect::<String>())
}

fn line(out: &mut String, text: &str) {
    *out += &wrapped(text, "  ");
    out.push('\n');
}

fn write_run(out: &mut String, run: &Run, span: (i64, i64), is_alone: bool) {
    let timeline = &run.timeline;
    for remark in run.remarks.iter().chain(&timeline.remarks) {
        line(out, remark);
    }
    if is_alone {
        section(out, "figures", run.figures.iter().map(ToString::to_string).collect());
    }
    out.push('\n');
    *out += &axis(span);
    for band in &timeline.bands {
        let mut row = Row::new(span);
        row.put(band.start, band.end, '-');
        *out += &row.text(&format!("region {}", band.name));
    }
    for (index, lane) in timeline.lanes.iter().enumerate() {
        let mut row = Row::new(span);
        let mut bars: Vec<&Bar> = timeline.bars.iter().filter(|bar| bar.lane == index).collect();
        // What must be seen is written last.
        bars.sort_by_key(|bar| (!bar.races.is_empty(), bar.kind != Kind::Call));
        for bar in bars {
            let letter = match is_graders_work(bar) {
                true => letter(bar.kind).to_ascii_lowercase(),
                false => letter(bar.kind),
            };
            row.put(bar.start, bar.end, if bar.races.is_empty() { letter } else { '!' });
        }
        *out += &row.text(&lane.name);
    }
    section(out, "operations, in the order in which they were enqueued", operations(timeline));
    section(out, "stream waits", waits(timeline));
    let held = timeline
        .held()
        .into_iter()
        .map(|held| format!("{}{}  {}", held.first.name, place(held.first), held.notes()));
    section(out, "where the host was held", held.collect());
    section(out, "what the times measured", readings(timeline));
    section(out, "races", timeline.races.iter().map(|race| race.text.clone()).collect());
}

fn section(out: &mut String, title: &str, entries: Vec<String>) {
    if entries.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{title}");
    for entry in entries {
        let mut lines = entry.lines();
        *out += &labelled("  ", lines.next().unwrap_or_default());
        out.push('\n');
        for more in lines {
            *out += &labelled("    ", more.trim_start());
            out.push('\n');
        }
    }
}

fn operations(timeline: &Timeline) -> Vec<String> {
    let operations = || timeline.bars.iter().filter(|bar| bar.enqueued.is_some());
    let mut entries: Vec<String> = operations()
        .take(LISTED)
        .map(|bar| {
            let lane = &timeline.lanes[bar.lane].name;
            let size = bar.bytes.map(|count| format!(", {}", bytes(count))).unwrap_or_default();
            let when = match bar.times_known {
                true => format!("{} to {}", time(bar.start), time(bar.end)),
                false => format!("enqueued at {}", time(bar.start)),
            };
            let whose = if bar.graders { "  (the grader's own)" } else { "" };
            format!("{when}: {} on {lane}{size}{}{whose}", bar.name, place(bar))
        })
        .collect();
    let more = operations().count().saturating_sub(LISTED);
    if more > 0 {
        entries.push(format!("{more} more: see the page that `--format html` writes"));
    }
    entries
}

fn waits(timeline: &Timeline) -> Vec<String> {
    let lane = |lane: usize| &timeline.lanes[lane].name;
    let ends = timeline.arrows.iter().map(|arrow| {
        format!(
            "{}, {} -> {}, {} ({})",
            lane(arrow.from.lane),
            time(arrow.from.at),
            lane(arrow.to.lane),
            time(arrow.to.at),
            arrow.event,
        )
    });
    ends.collect()
}

fn readings(timeline: &Timeline) -> Vec<String> {
    let texts = timeline.readings.iter().take(LISTED).map(|reading| {
        format!("{}{}", reading.text, reading.at.as_ref().map(line_of).unwrap_or_default())
    });
    let mut entries: Vec<String> = texts.collect();
    let more = timeline.readings.len().saturating_sub(LISTED);
    if more > 0 {
        entries.push(format!("{more} more: see the page that `--format html` writes"));
    }
    entries
}

fn place(bar: &Bar) -> String {
    bar.at.as_ref().map(line_of).unwrap_or_default()
}

/// A line, in one piece: of a long path the last folders.
fn line_of(at: &Place) -> String {
    let whole = at.to_string();
    let mut shown = &whole[..];
    // Half of what there is room for.
    while shown.chars().count() > width() / 2
        && let Some((_, rest)) = shown.split_once('/')
    {
        shown = rest;
    }
    if shown.len() < whole.len() { format!("  .../{shown}") } else { format!("  {whole}") }
}

/// An operation that the grader put on a stream, a spin for instance.
fn is_graders_work(bar: &Bar) -> bool {
    bar.graders && bar.enqueued.is_some()
}

fn letter(kind: Kind) -> char {
    match kind {
        Kind::Kernel => 'K',
        Kind::Upload => 'U',
        Kind::Download => 'D',
        Kind::Copy => 'C',
        Kind::Memset => 'M',
        Kind::HostFunction => 'F',
        Kind::Held => '=',
        Kind::Call => '.',
        Kind::Host => 'h',
    }
}

/// The columns of the picture.
fn chart() -> usize {
    width() - LABEL - 2
}

/// A lane's row.
struct Row {
    span: (i64, i64),
    cells: Vec<char>,
}

impl Row {
    fn new(span: (i64, i64)) -> Row {
        Row { span, cells: vec![' '; chart()] }
    }

    fn column(&self, at: i64) -> usize {
        let (start, end) = self.span;
        let share = (at - start) as f64 / (end - start) as f64;
        ((share * self.cells.len() as f64) as usize).min(self.cells.len() - 1)
    }

    /// What is shorter than a column takes one.
    fn put(&mut self, start: i64, end: i64, mark: char) {
        let (first, last) = (self.column(start), self.column(end.max(start)));
        // A column that it only touches is another's.
        let last = if end > start { self.column(end - 1).max(first) } else { last };
        self.cells[first..=last].fill(mark);
    }

    fn text(&self, label: &str) -> String {
        let mut short: String = label.chars().take(LABEL).collect();
        if short.len() < label.len() {
            short.pop();
            short.push('~');
        }
        let cells: String = self.cells.iter().collect();
        format!("{short:LABEL$}|{cells}|\n")
    }
}

/// The row of times.
fn axis(span: (i64, i64)) -> String {
    let row = Row::new(span);
    let mut cells = vec![' '; chart()];
    for tick in ticks(span, 4) {
        let label: Vec<char> = format!("|{}", time(tick)).chars().collect();
        let at = row.column(tick);
        if at + label.len() <= cells.len() && cells[at] == ' ' {
            cells[at..at + label.len()].copy_from_slice(&label);
        }
    }
    let cells: String = cells.into_iter().collect();
    format!("{:LABEL$} {}\n", "", cells.trim_end())
}

#[cfg(test)]
mod tests {
    use super::super::{Figure, sample};
    use super::*;
    use crate::text::WIDTH;

    #[test]
    fn a_run_as_text() {
        let mut picture = sample::picture();
        let both = page(&picture);
        picture.runs.truncate(1);
        insta::assert_snapshot!(page(&picture));
        // Two of them begin with what sets them apart.
        let (compared, _) = both.split_once("\nyour run: raced").expect("there are two");
        insta::assert_snapshot!(compared);
    }

    #[test]
    fn no_line_is_too_wide_whatever_the_names() {
        let mut picture = sample::picture();
        let long = "a stream whose name \u{e9}\u{e9}\u{e9} is far too long ".repeat(4);
        picture.title = long.clone();
        for run in &mut picture.runs {
            run.timeline.lanes.iter_mut().for_each(|lane| lane.name = long.clone());
            run.timeline.bands.iter_mut().for_each(|band| band.name = long.clone());
            run.timeline.bars.iter_mut().for_each(|bar| bar.name = long.clone());
            run.figures.push(Figure { what: long.clone(), value: long.clone() });
            for at in run.timeline.bars.iter_mut().filter_map(|bar| bar.at.as_mut()) {
                at.file = format!("/{}src/lib.rs", "a-long-folder/".repeat(20));
            }
        }
        let page = page(&picture);
        assert!(page.lines().count() > 40, "{page}");
        for line in page.lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
        // In one piece, whatever the line is broken for.
        assert!(page.contains(" .../a-long-folder/a-long-folder/src/lib.rs:10\n"), "{page}");
    }
}
