//! The picture as one page of HTML that fetches nothing.
//!
//! Bars are buttons, placed in per cent of the canvas: zooming only makes that wider. The page's script
//! adds zoom, keys and the details of a bar, which it takes from the table of all bars, and cuts time out by
//! placing everything anew.

use super::model::{Bar, Kind, Place, Timeline};
use super::{Picture, Run, bytes, compare, focus, ticks, time};

/// Everything that comes from a trace goes through here.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            other => out.push(other),
        }
    }
    out
}

/// The whole page.
pub fn page(picture: &Picture) -> String {
    let title = escaped(&picture.title);
    let scale = Scale::of(picture);
    let mut body = format!(
        "<header>\n<h1>{title}</h1>\n<p class=\"how\">{HOW}</p>\n</header>\n<main>\n{}\n",
        legend(picture),
    );
    body += TOOLS;
    body += &format!(
        "<div class=\"scroll\" id=\"scroll\"><div class=\"canvas\" id=\"canvas\" \
         data-start=\"{}\" data-end=\"{}\" data-part=\"{}\">\n",
        scale.start,
        scale.end,
        part(picture, &scale)
    );
    for (number, run) in picture.runs.iter().enumerate() {
        body += &chart(run, number, &scale);
    }
    body += "</div></div>\n";
    body += "<aside id=\"details\" aria-live=\"polite\" aria-label=\"Details\" hidden></aside>\n";
    body += &comparison(picture);
    for (number, run) in picture.runs.iter().enumerate() {
        body += &findings(run, number, picture.runs.len() == 1);
    }
    for (number, run) in picture.runs.iter().enumerate() {
        body += &table(run, number);
    }
    body += "</main>\n";
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>\n{}</style>\n</head>\n<body>\n{body}\
         <script>\n{}</script>\n</body>\n</html>\n",
        include_str!("page.css"),
        include_str!("page.js"),
    )
}

const HOW: &str = "Pick a bar to see its line, stream, bytes and times. In the picture the arrow keys go \
                   from bar to bar, + and - zoom, 0 shows all.";

const TOOLS: &str = "<div class=\"tools\" id=\"tools\" role=\"group\" aria-label=\"Zoom\" hidden>\
    <button type=\"button\" id=\"out\" aria-label=\"Zoom out\">&minus;</button>\
    <button type=\"button\" id=\"in\" aria-label=\"Zoom in\">+</button>\
    <button type=\"button\" id=\"fit\">Show all</button>\
    <button type=\"button\" id=\"part\">Show your part</button>\
    <span id=\"cut\" role=\"status\"></span></div>\n";

/// For the script: the stretches that are shown first, each with its place in the whole and its place if others
/// are cut out, in per cent, and how much time is cut.
fn part(picture: &Picture, scale: &Scale) -> String {
    let stretches = focus::stretches(picture, (scale.start, scale.end));
    let places = focus::places(&stretches);
    let parts = stretches.iter().zip(places).map(|(stretch, (from, to))| {
        let cut = if stretch.cut { time(stretch.to - stretch.from) } else { String::new() };
        let (whole_from, whole_to) = (scale.at(stretch.from), scale.at(stretch.to));
        format!("[{whole_from:.7},{whole_to:.7},{from:.5},{to:.5},&quot;{cut}&quot;]")
    });
    format!("[{}]", parts.collect::<Vec<_>>().join(","))
}

/// Where times are, in per cent of the canvas.
struct Scale {
    start: i64,
    end: i64,
}

impl Scale {
    fn of(picture: &Picture) -> Scale {
        let (start, end) = picture.span();
        // Room for what has its least width at the end.
        let margin = (end - start) / 100 + 1;
        Scale { start: start - margin, end: end + margin }
    }

    fn at(&self, time: i64) -> f64 {
        (time - self.start) as f64 / (self.end - self.start) as f64 * 100.0
    }

    fn place(&self, start: i64, end: i64) -> String {
        format!("left:{:.5}%;width:{:.5}%", self.at(start), self.at(end) - self.at(start))
    }
}

/// The kinds that there are.
fn legend(picture: &Picture) -> String {
    let bars = || picture.runs.iter().flat_map(|run| &run.timeline.bars);
    let mut out = "<ul class=\"legend\" aria-label=\"Legend\">".to_owned();
    for kind in Kind::ALL.into_iter().filter(|kind| bars().any(|bar| bar.kind == *kind)) {
        out += &format!("<li><i class=\"{}\"></i>{}</li>", class(kind), kind.name());
    }
    if bars().any(|bar| bar.graders) {
        out += "<li><i class=\"call own\"></i>the grader's own</li>";
    }
    if picture.runs.iter().any(|run| !run.timeline.arrows.is_empty()) {
        out += "<li><i class=\"wait\"></i>stream wait</li>";
    }
    if picture.runs.iter().any(|run| !run.timeline.races.is_empty()) {
        out += "<li><i class=\"race\"></i>race</li>";
    }
    out + "</ul>"
}

fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Kernel => "kernel",
        Kind::Upload => "upload",
        Kind::Download => "download",
        Kind::Copy => "copy",
        Kind::Memset => "memset",
        Kind::HostFunction => "function",
        Kind::Held => "held",
        Kind::Call => "call",
        Kind::Host => "host",
    }
}

fn chart(run: &Run, number: usize, scale: &Scale) -> String {
    let timeline = &run.timeline;
    let whose = escaped(&run.whose);
    let mut out = format!(
        "<section class=\"chart\" aria-label=\"{whose}\">\n<h2><span>{}</span></h2>\n\
         <div class=\"axis\" aria-hidden=\"true\">",
        escaped(&run.heading()),
    );
    for tick in ticks((scale.start, scale.end), 4) {
        out += &format!("<i style=\"left:{:.5}%\">{}</i>", scale.at(tick), time(tick));
    }
    out += &format!("</div>\n<div class=\"bands\" style=\"--rows:{}\">", timeline.band_rows());
    for band in &timeline.bands {
        let (name, place) = (escaped(&band.name), scale.place(band.start, band.end));
        out += &format!(
            "<div class=\"band\" style=\"{place};--row:{0}\" role=\"img\" title=\"region {name}, {1}\" \
             aria-label=\"region {name}, {1}\"><span>{name}</span></div>",
            band.row,
            time(band.end - band.start)
        );
    }
    out += "</div>\n<div class=\"lanes\">\n";
    for (index, lane) in timeline.lanes.iter().enumerate() {
        let name = escaped(&lane.name);
        out += &format!("<div class=\"lane\" role=\"group\" aria-label=\"{name}\"><b>{name}</b>\n");
        let mut bars: Vec<(usize, &Bar)> =
            timeline.bars.iter().enumerate().filter(|(_, bar)| bar.lane == index).collect();
        bars.sort_by_key(|(_, bar)| bar.start);
        for (index, bar) in bars {
            out += &button(timeline, number, index, bar, scale);
        }
        out += "</div>\n";
    }
    out + &links(timeline, scale) + "</div>\n</section>\n"
}

fn button(timeline: &Timeline, run: usize, index: usize, bar: &Bar, scale: &Scale) -> String {
    let mut classes = format!("bar {}", class(bar.kind));
    if !bar.races.is_empty() {
        classes += " raced";
    }
    if !bar.times_known {
        classes += " unknown";
    }
    if bar.graders {
        classes += " own";
    }
    let name = escaped(&bar.name);
    let mut label = format!("{}, {} from {}", bar.name, time(bar.end - bar.start), time(bar.start));
    if bar.kind == Kind::Held {
        label = format!("{label}, held the host");
    }
    if bar.graders {
        label = format!("{label}, the grader's own");
    }
    if !bar.races.is_empty() {
        label = format!("{label}, in a race");
    }
    let shown = match (bar.kind, &bar.at) {
        (Kind::Held, Some(at)) => format!("line {}", at.line),
        _ => name,
    };
    format!(
        "<button type=\"button\" tabindex=\"-1\" class=\"{classes}\" style=\"{}\" \
         data-row=\"{run}-{index}\" aria-label=\"{}, on {}\"><span>{shown}</span></button>\n",
        scale.place(bar.start, bar.end),
        escaped(&label),
        escaped(&timeline.lanes[bar.lane].name),
    )
}

/// How far down in its lane a bar begins and ends: as in the style sheet.
const TOP: f64 = 20.0 / 48.0;
const BOTTOM: f64 = 44.0 / 48.0;

/// Waits as arrows, races as red lines. The drawing is stretched over the lanes; what must keep its
/// shape, the arrows' heads, is no part of it.
fn links(timeline: &Timeline, scale: &Scale) -> String {
    let height = timeline.lanes.len() * 1000;
    let y = |lane: usize, part: f64| (lane as f64 + part) * 1000.0;
    let mut lines = String::new();
    let mut heads = String::new();
    for arrow in &timeline.arrows {
        let down = arrow.to.lane > arrow.from.lane;
        let (out, into) = if down { (BOTTOM, TOP) } else { (TOP, BOTTOM) };
        let (x1, y1) = (scale.at(arrow.from.at), y(arrow.from.lane, out));
        let (x2, y2) = (scale.at(arrow.to.at), y(arrow.to.lane, into));
        lines += &format!(
            "<line class=\"wait\" x1=\"{x1:.5}\" y1=\"{y1:.0}\" x2=\"{x2:.5}\" y2=\"{y2:.0}\"/>"
        );
        let turn = if down { "down" } else { "up" };
        heads += &format!(
            "<i class=\"head {turn}\" style=\"left:{x2:.5}%;top:{:.3}%\"></i>",
            y2 / height as f64 * 100.0
        );
    }
    for (one, other) in timeline.races.iter().filter_map(|race| race.bars) {
        let middle = |bar: &Bar| scale.at(bar.start + (bar.end - bar.start) / 2);
        let (one, other) = (&timeline.bars[one], &timeline.bars[other]);
        lines += &format!(
            "<line class=\"race\" x1=\"{:.5}\" y1=\"{:.0}\" x2=\"{:.5}\" y2=\"{:.0}\"/>",
            middle(one),
            y(one.lane, (TOP + BOTTOM) / 2.0),
            middle(other),
            y(other.lane, (TOP + BOTTOM) / 2.0),
        );
    }
    format!(
        "<svg aria-hidden=\"true\" viewBox=\"0 0 100 {height}\" preserveAspectRatio=\"none\">{lines}\
         </svg>{heads}\n"
    )
}

/// What sets the runs apart.
fn comparison(picture: &Picture) -> String {
    let rows = compare::rows(picture);
    if rows.is_empty() {
        return String::new();
    }
    let heads: String = picture
        .runs
        .iter()
        .map(|run| format!("<th scope=\"col\">{}</th>", escaped(&run.whose)))
        .collect();
    let mut out = format!(
        "<section class=\"compare\" tabindex=\"0\" aria-label=\"The runs compared\">\n<table>\n<thead><tr><td></td>{heads}\
         </tr></thead>\n<tbody>\n"
    );
    for row in rows {
        let cells: String =
            row.values.iter().map(|value| format!("<td>{}</td>", escaped(value))).collect();
        out += &format!("<tr><th scope=\"row\">{}</th>{cells}</tr>\n", escaped(&row.what));
    }
    out + "</tbody>\n</table>\n</section>\n"
}

/// What there is to say of a run, in words: how it ended, its races, where it held the host.
fn findings(run: &Run, number: usize, is_alone: bool) -> String {
    let timeline = &run.timeline;
    let mut out = format!(
        "<section class=\"findings\" aria-label=\"{0}\">\n<h2>{0}</h2>\n",
        escaped(&run.heading())
    );
    for remark in run.remarks.iter().chain(&timeline.remarks) {
        out += &format!("<p>{}</p>\n", escaped(remark));
    }
    if is_alone {
        let figures = run.figures.iter().map(|figure| escaped(&figure.to_string()));
        out += &items("Figures", figures.collect());
    }
    if !timeline.races.is_empty() {
        out += "<h3>Races</h3>\n";
    }
    for (index, race) in timeline.races.iter().enumerate() {
        out += &format!(
            "<pre class=\"raced\" tabindex=\"0\" role=\"region\" aria-label=\"Race {}\">{}</pre>\n",
            index + 1,
            escaped(&race.text)
        );
        if let Some((one, other)) = race.bars {
            let show = |bar: usize, which: &str| {
                format!(
                    "<button type=\"button\" data-show=\"{number}-{bar}\">Show {which}</button> "
                )
            };
            out += &format!("<p>{}{}</p>\n", show(one, "(1)"), show(other, "(2)"));
        }
    }
    let held = timeline.held().into_iter().map(|held| {
        format!(
            "{}{} {} <button type=\"button\" data-show=\"{number}-{}\" \
             aria-label=\"Show {0}\">Show</button>",
            escaped(&held.first.name),
            line_of(held.first.at.as_ref()),
            escaped(&held.notes()),
            held.index,
        )
    });
    out += &items("Where the host was held", held.collect());
    let readings = timeline.readings.iter();
    let readings =
        readings.map(|read| format!("{}{}", escaped(&read.text), line_of(read.at.as_ref())));
    out += &items("What the times measured", readings.collect());
    let lane = |lane: usize| &timeline.lanes[lane].name;
    let waits = timeline.arrows.iter().map(|arrow| {
        let text = format!(
            "{}, {}, waits for {}, {} ({})",
            lane(arrow.to.lane),
            time(arrow.to.at),
            lane(arrow.from.lane),
            time(arrow.from.at),
            arrow.event
        );
        format!(
            "{0} <button type=\"button\" data-show=\"{number}-{1}\" aria-label=\"Show {0}\">Show\
             </button>",
            escaped(&text),
            arrow.to.bar
        )
    });
    out += &items("Stream waits", waits.collect());
    out + "</section>\n"
}

/// More of a list than this is folded.
const OPEN: usize = 12;

/// A list with a heading, if there is anything in it. The items are markup.
fn items(title: &str, items: Vec<String>) -> String {
    if items.is_empty() {
        return String::new();
    }
    let list: String = items.iter().map(|item| format!("<li>{item}</li>\n")).collect();
    let list = format!("<ul>\n{list}</ul>\n");
    match items.len() {
        0..=OPEN => format!("<h3>{title}</h3>\n{list}"),
        count => format!(
            "<h3>{title}</h3>\n<details>\n<summary>{count} in all</summary>\n{list}</details>\n"
        ),
    }
}

fn line_of(at: Option<&Place>) -> String {
    at.map(|at| format!(" <code>{}</code>", escaped(&at.to_string()))).unwrap_or_default()
}

/// Everything that is drawn, as a table.
fn table(run: &Run, number: usize) -> String {
    let timeline = &run.timeline;
    let whose = escaped(&run.whose);
    let mut out = format!(
        "<details class=\"table\">\n<summary>{whose}: all calls and operations as a table</summary>\n\
         <div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{whose}, table\">\n<table>\n\
         <thead><tr>"
    );
    for column in
        ["Name", "Kind", "On", "Line", "Bytes", "Enqueued", "Start", "End", "Length", "Notes"]
    {
        out += &format!("<th scope=\"col\">{column}</th>");
    }
    out += "</tr></thead>\n<tbody>\n";
    for (index, bar) in timeline.bars.iter().enumerate() {
        let when = |at: i64| if bar.times_known { time(at) } else { "not known".to_owned() };
        let mut notes = bar.notes.clone();
        // Of their own lines, as the report sets them.
        notes.extend(bar.races.iter().map(|race| timeline.races[*race].text.clone()));
        let cells = [
            bar.kind.name().to_owned(),
            timeline.lanes[bar.lane].name.clone(),
            bar.at.as_ref().map(ToString::to_string).unwrap_or_default(),
            bar.bytes.map(bytes).unwrap_or_default(),
            bar.enqueued.map(time).unwrap_or_default(),
            when(bar.start),
            when(bar.end),
            when(bar.end - bar.start),
            notes.join("\n"),
        ];
        out +=
            &format!("<tr id=\"{number}-{index}\"><th scope=\"row\">{}</th>", escaped(&bar.name));
        for cell in cells {
            out += &format!("<td>{}</td>", escaped(&cell));
        }
        out += "</tr>\n";
    }
    out + "</tbody>\n</table>\n</div>\n</details>\n"
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn names_are_text_and_never_markup() {
        let page = page(&sample::picture());
        for markup in ["<b>overwrite", "stream <b>", "<sum>", "<i>markup", "& \"b\""] {
            assert!(!page.contains(markup), "{markup}");
            assert!(page.contains(&escaped(markup)), "{markup}");
        }
        assert_eq!(escaped("<a b='c' d=\"e\">&"), "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;");
    }

    #[test]
    fn nothing_is_fetched() {
        let page = page(&sample::picture());
        for fetch in ["http://", "https://", "src=", "href=", "url(", "@import", "fetch("] {
            assert!(!page.contains(fetch), "{fetch}");
        }
        assert!(page.contains("default-src 'none'"));
    }

    #[test]
    fn every_bar_is_a_named_button_with_a_row_of_the_table() {
        let picture = sample::picture();
        let page = page(&picture);
        let bars: usize = picture.runs.iter().map(|run| run.timeline.bars.len()).sum();
        let (markup, _script) = page.split_once("<script>").expect("there is a script");
        let rows: Vec<&str> = markup
            .split("data-row=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap_or_default())
            .collect();
        assert_eq!(rows.len(), bars);
        for row in rows {
            assert_eq!(page.matches(&format!("<tr id=\"{row}\">")).count(), 1, "{row}");
        }
        assert!(
            page.contains("aria-label=\"kernel sum, 100.000 us from 112.000 us, in a race, on")
        );
        assert!(page.contains("line 13</span>"));
    }

    #[test]
    fn both_runs_have_one_scale() {
        let page = page(&sample::picture());
        let places: Vec<&str> = page
            .split("class=\"bar kernel\" style=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap_or_default())
            .collect();
        let (yours, solutions) = places.split_at(places.len() / 2);
        assert!(!yours.is_empty());
        assert_eq!(yours, solutions);
    }

    #[test]
    fn two_runs_are_compared_and_one_is_not() {
        let mut picture = sample::picture();
        let both = page(&picture);
        assert!(
            both.contains("<th scope=\"row\">sum took</th><td>0.1000 ms</td><td>0.1000 ms</td>")
        );
        assert!(both.contains("<th scope=\"row\">races</th><td>1</td><td>1</td>"));
        picture.runs.truncate(1);
        let one = page(&picture);
        assert!(!one.contains("class=\"compare\"") && one.contains("<li>sum took 0.1000 ms</li>"));
    }

    #[test]
    fn waits_are_arrows_and_races_are_lines() {
        let page = page(&sample::picture());
        assert_eq!(page.matches("<line class=\"wait\"").count(), 2);
        assert_eq!(page.matches("<i class=\"head down\"").count(), 2);
        assert_eq!(page.matches("<line class=\"race\"").count(), 2);
    }
}
