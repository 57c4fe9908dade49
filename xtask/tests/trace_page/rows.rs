//! The rows: what has to hold on a page.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use crate::browser::{Browser, Page, Result};
use crate::pages::{Drawn, behind_a_spin, drawn, everything, long};

/// A row: its name, and its body, which has a folder of its own.
pub type Row = (&'static str, fn(&mut Browser, &Path) -> Result<()>);

/// All of them.
pub const ROWS: &[Row] = &[
    ("nothing_is_fetched_and_nothing_complains", nothing_is_fetched),
    ("it_fits_a_phone_and_a_desk", it_fits),
    ("text_can_be_read_light_and_dark", text_can_be_read),
    ("keys_reach_every_bar", keys_reach_every_bar),
    ("all_of_the_model_is_there", all_is_there),
    ("a_long_run_works_too", a_long_run),
    ("the_graders_time_is_cut_out_at_first", the_graders_time_is_cut),
];

const WIDTHS: [u32; 2] = [390, 1440];
const SCHEMES: [&str; 2] = ["light", "dark"];

/// An error unless it holds.
fn expect(holds: bool, otherwise: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

/// Everything that the page can unfold is unfolded.
fn unfold(page: &mut Page<'_>) -> Result<()> {
    page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")?;
    page.evaluate("document.querySelector('.bar.raced').click()")?;
    Ok(())
}

fn nothing_is_fetched(browser: &mut Browser, folder: &Path) -> Result<()> {
    let Drawn { page: file, .. } = drawn(folder, "everything", &everything(), 1)?;
    let mut page = browser.open(&file)?;
    for width in WIDTHS {
        page.look(width, "dark")?;
        unfold(&mut page)?;
        page.evaluate("document.getElementById('in').click()")?;
    }
    let (requests, complaints) = page.heard();
    // That much is heard of the page itself.
    expect(requests == [format!("file://{}", file.display())], || format!("{requests:?}"))?;
    expect(complaints.is_empty(), || format!("{complaints:?}"))?;
    // A script that wanted to is kept from it, and that would have been heard.
    page.evaluate("fetch('http://127.0.0.1:9/').catch(() => {})")?;
    for _ in 0..100 {
        if !page.heard().1.is_empty() {
            return Ok(());
        }
        page.evaluate("new Promise((done) => setTimeout(done, 50))")?;
    }
    Err("a fetch that was kept from the page was not heard of".to_owned())
}

fn it_fits(browser: &mut Browser, folder: &Path) -> Result<()> {
    for (name, trace, times) in
        [("everything", everything(), 2), ("long", long(), 1), ("behind", behind_a_spin(), 2)]
    {
        let file = drawn(folder, name, &trace, times)?.page;
        let mut page = browser.open(&file)?;
        for width in WIDTHS {
            page.look(width, "light")?;
            for step in ["void 0", UNFOLD, "document.getElementById('in').click()"] {
                page.evaluate(step)?;
                let script = "[document.documentElement.scrollWidth, \
                              document.documentElement.clientWidth, innerWidth]";
                let widths = page.evaluate(script)?;
                expect(widths[0] == widths[1] && widths[2] == width, || {
                    format!("{name}: {widths} wide, not {width}, after {step}")
                })?;
            }
        }
    }
    Ok(())
}

const UNFOLD: &str = "document.querySelectorAll('details').forEach((one) => one.open = true), \
                      document.querySelector('.bar').click()";

fn text_can_be_read(browser: &mut Browser, folder: &Path) -> Result<()> {
    let file = drawn(folder, "everything", &everything(), 2)?.page;
    let mut page = browser.open(&file)?;
    for scheme in SCHEMES {
        page.look(1440, scheme)?;
        // So wide that even short bars have room for their names.
        unfold(&mut page)?;
        page.evaluate("for (let i = 0; i < 5; i++) document.getElementById('in').click()")?;
        let found = page.evaluate(&format!("({CONTRAST})()"))?;
        let rows = |what: &str| found[what].as_array().cloned().unwrap_or_default();
        let (texts, shapes) = (rows("texts"), rows("shapes"));
        // The bars of every kind but one (a mark has no room for text), the table, the details.
        expect(texts.len() > 150 && shapes.len() > 15, || {
            format!("{scheme}: only {} texts and {} shapes", texts.len(), shapes.len())
        })?;
        let too_faint = |rows: Vec<Value>, least: f64| {
            let faint = rows.into_iter().filter(|row| row[0].as_f64().is_none_or(|r| r < least));
            faint.map(|row| row.to_string()).collect::<BTreeSet<String>>()
        };
        // WCAG 2 AA: text, and graphics.
        let (texts, shapes) = (too_faint(texts, 4.5), too_faint(shapes, 3.0));
        expect(texts.is_empty() && shapes.is_empty(), || {
            format!("{scheme}: too faint: {texts:#?} {shapes:#?}")
        })?;
    }
    Ok(())
}

/// The contrast of every text with all that may be behind it, and of every shape with its lane.
const CONTRAST: &str = include_str!("contrast.js");

fn keys_reach_every_bar(browser: &mut Browser, folder: &Path) -> Result<()> {
    let Drawn { page: file, document } = drawn(folder, "everything", &everything(), 1)?;
    let mut page = browser.open(&file)?;
    for width in WIDTHS {
        page.look(width, "light")?;
        page.evaluate("scrollTo(0, 0), document.getElementById('out').focus()")?;
        // A few keys lead from there into the picture.
        let mut keys = 0;
        while page.evaluate(FOCUSED)?["row"].is_null() {
            page.press("Tab")?;
            keys += 1;
            expect(keys < 10, || "Tab does not lead to a bar".to_owned())?;
        }
        while page.evaluate(FOCUSED)?["lane"] != 0 {
            page.press("ArrowUp")?;
            keys += 1;
            expect(keys < 20, || "ArrowUp does not lead to the first lane".to_owned())?;
        }
        let mut reached = BTreeSet::new();
        let lanes = slices(&document).into_iter().map(|(lane, _)| lane).collect::<BTreeSet<_>>();
        for lane in 0..lanes.len() {
            let at = page.evaluate(FOCUSED)?;
            expect(at["lane"] == lane, || format!("{width}: in no lane {lane}: {at}"))?;
            page.press("Home")?;
            loop {
                let at = page.evaluate(FOCUSED)?;
                expect(at["outlined"] == true, || {
                    format!("{width}: no focus is to be seen: {at}")
                })?;
                expect(at["in_sight"] == true, || format!("{width}: out of sight: {at}"))?;
                expect(at["details"] == true, || format!("{width}: no details of it: {at}"))?;
                if !reached.insert(at["row"].to_string()) {
                    break;
                }
                page.press("ArrowRight")?;
            }
            page.press("ArrowDown")?;
        }
        let all = slices(&document).len();
        expect(reached.len() == all, || format!("{width}: {} of {all} bars", reached.len()))?;
        expect(zoomed(&mut page, "+")? > 1.5, || "+ does not zoom in".to_owned())?;
        expect(zoomed(&mut page, "-")? < 0.6, || "- does not zoom out".to_owned())?;
        page.press("+")?;
        expect(zoomed(&mut page, "0")? < 0.6, || "0 does not show all".to_owned())?;
    }
    // Enter on what is offered beside a finding leads to its bar, and says its line.
    page.evaluate("document.querySelector('.findings [data-show]').focus()")?;
    page.press("Enter")?;
    let at = page.evaluate(FOCUSED)?;
    expect(at["details"] == true && at["in_sight"] == true, || format!("Enter leads to {at}"))?;
    let line = page.evaluate("document.querySelector('#details .line dd').textContent")?;
    expect(line.as_str().is_some_and(|line| line.contains("lib.rs:4")), || line.to_string())?;
    // And Enter on a bar keeps it.
    page.press("Enter")?;
    let after = page.evaluate(FOCUSED)?;
    expect(at["row"] == after["row"], || format!("Enter left {at} for {after}"))
}

/// How much wider a key makes the picture.
fn zoomed(page: &mut Page<'_>, key: &str) -> Result<f64> {
    let width = |page: &mut Page<'_>| -> Result<f64> {
        let width = page.evaluate("document.getElementById('canvas').clientWidth")?;
        width.as_f64().ok_or_else(|| "it has no width".to_owned())
    };
    let before = width(page)?;
    page.press(key)?;
    Ok(width(page)? / before)
}

/// What has the focus: which bar, in which lane, and whether a reader can tell.
const FOCUSED: &str = "(() => {
    const bar = document.activeElement, row = bar.dataset?.row;
    if (!row) return { row: null };
    const lanes = [...document.querySelectorAll('.lane')];
    const style = getComputedStyle(bar), box = bar.getBoundingClientRect();
    const details = document.getElementById('details');
    const cells = [...document.getElementById(row).cells].map((cell) => cell.textContent);
    const shown = details.textContent;
    const scroll = document.getElementById('scroll').getBoundingClientRect();
    return {
        row,
        lane: lanes.indexOf(bar.closest('.lane')),
        outlined: style.outlineStyle === 'solid' && parseFloat(style.outlineWidth) >= 2,
        in_sight: box.top >= 0 && box.bottom <= details.getBoundingClientRect().top + 1 &&
            box.right > scroll.left && box.left < scroll.right,
        details: !details.hidden && cells.every((text) => shown.includes(text)),
    };
})()";

/// What stands on the tracks of lanes: the lane's name and the bar's. (Regions have tracks of their own.)
fn slices(document: &Value) -> Vec<(String, String)> {
    let events = document["traceEvents"].as_array().cloned().unwrap_or_default();
    let lane = |event: &Value| {
        let name = events.iter().find(|name| {
            name["name"] == "thread_name"
                && (&name["pid"], &name["tid"]) == (&event["pid"], &event["tid"])
        });
        let name = name.map(|name| text(&name["args"]["name"])).unwrap_or_default();
        // Where it stands if its times are not known; a page has one lane for both.
        name.trim_end_matches(", when enqueued").to_owned()
    };
    let bars = events.iter().filter(|event| event["ph"] == "X" && event["cat"] != "region");
    let mut bars: Vec<_> = bars.map(|event| (lane(event), text(&event["name"]))).collect();
    bars.sort();
    bars
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A script's list of strings.
fn strings(page: &mut Page<'_>, script: &str) -> Result<Vec<String>> {
    let found = page.evaluate(script)?;
    Ok(found.as_array().into_iter().flatten().map(text).collect())
}

fn all_is_there(browser: &mut Browser, folder: &Path) -> Result<()> {
    let Drawn { page: file, document } = drawn(folder, "everything", &everything(), 1)?;
    let mut page = browser.open(&file)?;
    page.look(1440, "light")?;
    unfold(&mut page)?;
    let events = document["traceEvents"].as_array().cloned().unwrap_or_default();

    // Lanes with their bars, by what a screen reader says of them.
    let bars = strings(
        &mut page,
        "[...document.querySelectorAll('.bar')].map((bar) =>
            bar.closest('.lane').querySelector('b').innerText + '|' + bar.ariaLabel)",
    )?;
    let mut bars: Vec<_> = bars
        .iter()
        .filter_map(|bar| bar.split_once('|'))
        .map(|(lane, label)| {
            let name = label.split_once(", ").map_or(label, |(name, _)| name);
            (lane.to_owned(), name.to_owned())
        })
        .collect();
    bars.sort();
    expect(bars == slices(&document), || format!("{bars:?}"))?;
    let lanes: BTreeSet<&str> = bars.iter().map(|(lane, _)| lane.as_str()).collect();
    let wanted =
        ["host thread 1", "host thread 2", "stream main", "stream side", "stream <i>late</i>"];
    expect(lanes == BTreeSet::from(wanted), || format!("{lanes:?}"))?;

    let regions = strings(
        &mut page,
        "[...document.querySelectorAll('.band')].map((band) => band.textContent)",
    )?;
    let bands = events.iter().filter(|event| event["cat"] == "region");
    let bands: Vec<String> = bands.map(|event| text(&event["name"])).collect();
    expect(regions == bands && bands.len() == 2, || format!("{regions:?} for {bands:?}"))?;

    // Waits: a line with a head, and a sentence.
    let lines = page.evaluate("document.querySelectorAll('line.wait').length")?;
    let heads = page.evaluate("document.querySelectorAll('.head').length")?;
    let flows = events.iter().filter(|event| event["ph"] == "s").count();
    expect(lines == flows && heads == flows && flows == 1, || {
        format!("{lines}, {heads}, {flows}")
    })?;
    let said = list(&mut page, "Stream waits")?;
    expect(
        said.len() == 1 && said[0].contains("stream side") && said[0].contains("event 1"),
        || format!("{said:?}"),
    )?;

    // Races: a line, and the report.
    let races: BTreeSet<String> = events
        .iter()
        .flat_map(|event| event["args"]["races"].as_array().cloned().unwrap_or_default())
        .map(|race| text(&race))
        .collect();
    let reports = strings(
        &mut page,
        "[...document.querySelectorAll('pre.raced')].map((one) => one.textContent)",
    )?;
    expect(!races.is_empty() && races == reports.iter().cloned().collect(), || {
        format!("{reports:?} for {races:?}")
    })?;
    let lines = page.evaluate("document.querySelectorAll('line.race').length")?;
    expect(lines == races.len(), || format!("{lines} lines for {} races", races.len()))?;

    // What held the host, with its line and why.
    let held: Vec<&Value> = events.iter().filter(|event| event["cat"] == "held the host").collect();
    let said = list(&mut page, "Where the host was held")?;
    expect(held.len() == said.len() && !held.is_empty(), || format!("{said:?} for {held:?}"))?;
    for (event, said) in held.iter().zip(&said) {
        for part in [&event["name"], &event["args"]["line"], &event["args"]["notes"]] {
            expect(said.contains(&text(part)), || format!("{part} is not in {said}"))?;
        }
    }
    let said = list(&mut page, "What the times measured")?;
    expect(said.len() == 2 && said[0].starts_with("host clock around run: "), || {
        format!("{said:?}")
    })
}

/// The items below a heading.
fn list(page: &mut Page<'_>, title: &str) -> Result<Vec<String>> {
    let script = format!(
        "(() => {{
            const title = [...document.querySelectorAll('h3')].find((one) => one.innerText === {});
            return [...(title?.nextElementSibling.querySelectorAll('li') ?? [])].map((one) => one.innerText);
        }})()",
        json!(title)
    );
    strings(page, &script)
}

fn a_long_run(browser: &mut Browser, folder: &Path) -> Result<()> {
    let Drawn { page: file, document } = drawn(folder, "long", &long(), 1)?;
    let mut page = browser.open(&file)?;
    page.look(390, "light")?;
    let bars = page.evaluate("document.querySelectorAll('.bar').length")?;
    let all = slices(&document).len();
    expect(bars == all && all > 4000, || format!("{bars} of {all} bars"))?;
    // What is long is folded, and what is cut is said.
    let open = page.evaluate("document.querySelectorAll('details[open]').length")?;
    let folded = page.evaluate("document.querySelectorAll('.findings details').length")?;
    expect(open == 0 && folded == 1, || format!("{folded} folded, {open} of them open"))?;
    // What held the host again and again stands there once: with every fifth call after the first three.
    let held = list(&mut page, "Where the host was held")?;
    expect(held.len() == 1 && held[0].contains("799 times; the calls took "), || {
        format!("{held:?}")
    })?;
    let remarks = page.evaluate("document.querySelector('.findings').innerText")?;
    expect(text(&remarks).contains("Only the first 4000 calls are drawn."), || {
        remarks.to_string()
    })?;
    page.evaluate(
        "document.querySelectorAll('.lane')[2].querySelector('.bar:last-child').click()",
    )?;
    let at = page.evaluate(FOCUSED)?;
    expect(at["in_sight"] == true && at["details"] == true, || at.to_string())
}

/// How much of the picture the kernel `fill` takes; how many cuts there are (in both runs), and ticks, and ticks in cuts; how far
/// the arrow's head is from the bar that waits; and which buttons and words stand above.
const CUTS: &str = "(() => {
    const box = (one) => one.getBoundingClientRect(), all = (what) => [...document.querySelectorAll(what)];
    const fill = all('.bar').find((bar) => bar.ariaLabel.startsWith('kernel fill'));
    const sum = all('.bar').find((bar) => bar.ariaLabel.startsWith('kernel sum'));
    const cuts = all('.cutout').map(box), ticks = all('.axis i').map((tick) => box(tick).left);
    return {
        share: box(fill).width / document.getElementById('canvas').clientWidth,
        cuts: cuts.length,
        ticks: ticks.length,
        lost: ticks.filter((at) => cuts.some((cut) => at > cut.left + 1 && at < cut.right - 1)).length,
        aside: Math.abs(box(document.querySelector('.head')).left + 5 - box(sum).left),
        button: document.getElementById('part').hidden ? null : document.getElementById('part').ariaPressed,
        said: document.getElementById('cut').textContent,
    };
})()";

fn the_graders_time_is_cut(browser: &mut Browser, folder: &Path) -> Result<()> {
    let file = drawn(folder, "behind", &behind_a_spin(), 2)?.page;
    let mut page = browser.open(&file)?;
    for width in WIDTHS {
        page.look(width, "light")?;
        for step in ["void 0", "document.getElementById('part').click()", "press 1"] {
            match step.strip_prefix("press ") {
                Some(key) => page.press(key)?,
                None => drop(page.evaluate(step)?),
            }
            let first = page.evaluate(CUTS)?;
            let share = first["share"].as_f64().unwrap_or_default();
            expect(share > 0.05 && first["cuts"] == 2, || format!("{width}, {step}: {first}"))?;
            let ticks = first["ticks"].as_u64().unwrap_or_default();
            expect(ticks >= 4 && first["lost"] == 0, || format!("{width}, {step}: {first}"))?;
            let aside = first["aside"].as_f64();
            expect(aside.is_some_and(|pixels| pixels < 1.5), || format!("{width}: {first}"))?;
            let said = text(&first["said"]);
            expect(first["button"] == "true" && said.contains("only the grader's own"), || {
                format!("{width}, {step}: {first}")
            })?;

            // Everything, by the button and by the key.
            match step {
                "void 0" => drop(page.evaluate("document.getElementById('fit').click()")?),
                _ => {
                    page.evaluate("document.querySelector('.bar').focus()")?;
                    page.press("0")?;
                }
            }
            let whole = page.evaluate(CUTS)?;
            let small = whole["share"].as_f64().is_some_and(|share| share < 0.01);
            let said = text(&whole["said"]);
            expect(
                small && whole["cuts"] == 0 && whole["button"] == "false" && said.is_empty(),
                || format!("{width}, {step}: {whole}"),
            )?;
        }
        page.evaluate("document.getElementById('part').click()")?;
    }
    drop(page);
    // What is best shown whole has no such button.
    let file = drawn(folder, "everything", &everything(), 1)?.page;
    let whole = browser.open(&file)?.evaluate("document.getElementById('part').hidden")?;
    expect(whole == true, || "it offers a part".to_owned())
}
