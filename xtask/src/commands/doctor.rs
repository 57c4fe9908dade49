//! `cargo xtask doctor`: what the machine has, what is wrong with it, and what to do about that.
//!
//! The driver itself is asked through a solution's grade binary, which links it; the rest is looked up
//! where the system keeps it, so that a driver that cannot be loaded is explained, too.

mod device;
mod toolchain;

use std::fmt::Write;
use std::path::Path;

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use streamlings_grade::supervise::Supervisor;
use streamlings_trace::DeviceKind;

use crate::build::build;
use crate::cli::{Answer, DoctorArguments};
use crate::course::Course;
use crate::exit::Exit;
use crate::grading::{Whose, probe};
use crate::progress::Progress;
use crate::text::{self, counted, labelled};

/// The version of the JSON document; see [`crate::report::json`] for when it is raised.
const SCHEMA: u32 = 1;

/// Something that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// What.
    what: &'static str,
    /// How it is.
    found: String,
    /// What to do about it; none if nothing is wrong.
    remedy: Option<String>,
}

impl Item {
    /// It is as it should be.
    fn good(what: &'static str, found: impl Into<String>) -> Item {
        Item { what, found: found.into(), remedy: None }
    }

    /// It is not.
    fn bad(what: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Item {
        Item { what, found: found.into(), remedy: Some(remedy.into()) }
    }
}

/// Looks at everything.
///
/// # Errors
/// Where what was found cannot be printed.
pub fn run(root: &Path, arguments: &DoctorArguments) -> anyhow::Result<Exit> {
    let mut items = toolchain::look(root);
    let gpu = device::look(&device::System::default());
    let has_hardware = gpu.has_hardware;
    items.extend(gpu.items);
    // Without cargo nothing can be built; and whatever else was found is told all the same.
    if !items.iter().any(|item| item.what == "cargo" && item.remedy.is_some()) {
        items.extend(build_and_ask(root, has_hardware).unwrap_or_else(|error| {
            let remedy = "Mend what is named here, and ask again.";
            vec![Item::bad("build", format!("{error:#}"), remedy)]
        }));
    }
    let faults = items.iter().filter(|item| item.remedy.is_some()).count();
    text::print(&match arguments.format {
        Answer::Human => render(&items, faults),
        Answer::Json => {
            format!("{:#}\n", serde_json::json!({ "schema": SCHEMA, "items": items }))
        }
    })?;
    Ok(if faults == 0 { Exit::Success } else { Exit::Unsolved })
}

/// Builds a grade binary, and asks it for the device that it would run on.
fn build_and_ask(root: &Path, has_hardware: bool) -> anyhow::Result<Vec<Item>> {
    let course = Course::read(root)?;
    let Some(exercise) = course.exercises.first() else { return Ok(Vec::new()) };
    let package = Whose::Solution.package(exercise);
    let progress = Progress::told("building a grade binary", "crates");
    let built = build(&course.root, std::slice::from_ref(&package), &["grade"], &progress)?;
    drop(progress);
    let program = match built.program(&course.root, &package, "grade") {
        Ok(program) => program,
        Err(why) => {
            let why = why.said();
            let found = format!("`{}` cannot be built", package.name);
            let why = anstream::adapter::strip_str(why.trim_end()).to_string();
            let last: Vec<&str> = why.lines().rev().take(8).collect();
            let why: Vec<&str> = last.into_iter().rev().collect();
            let remedy = format!("Mend what cargo says of it:\n{}", why.join("\n"));
            return Ok(vec![Item::bad("build", found, remedy)]);
        }
    };
    let mut items = vec![Item::good("build", "grade binaries can be built and linked")];
    items.push(toolchain::source_lines(built.driver_configuration()));
    let (device, remarks) = probe(&program, &Supervisor::default());
    let remarks = remarks.join(" ");
    items.push(match device {
        Some(device) if device.kind == DeviceKind::Gpu => Item::good("device", device.name),
        Some(device) if has_hardware && std::env::var_os("STREAMLINGS_DEVICE").is_none() => {
            let found = format!("{}, although a GPU is there", device.name);
            let remedy =
                if remarks.is_empty() { "Mend what is named above.".into() } else { remarks };
            Item::bad("device", found, remedy)
        }
        Some(device) => Item::good("device", format!("{}; all can be learnt on it", device.name)),
        None => {
            let remedy = "Unset STREAMLINGS_DEVICE, or mend what is named above.";
            Item::bad("device", format!("none ({remarks})"), remedy)
        }
    });
    Ok(items)
}

fn render(items: &[Item], faults: usize) -> String {
    let good = AnsiColor::Green.on_default().bold();
    let bad = AnsiColor::Red.on_default().bold();
    let width = items.iter().map(|item| item.what.len()).max().unwrap_or(0);
    let mut out = String::new();
    for Item { what, found, remedy } in items {
        let (sign, style) = if remedy.is_none() { ("ok", good) } else { ("--", bad) };
        let text = labelled(&format!("{sign} {what:width$}  "), found);
        // The colour is put on last, so that it counts for no column.
        let text = text.replacen(sign, &format!("{style}{sign}{style:#}"), 1);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{text}");
        if let Some(remedy) = remedy {
            let text = labelled(&format!("   {:width$}  do: ", ""), remedy);
            let bold = Style::new().bold();
            let _ = writeln!(out, "{}", text.replacen("do:", &format!("{bold}do:{bold:#}"), 1));
        }
    }
    out += &match faults {
        0 => "All is usable.\n".to_owned(),
        _ => format!("{} to mend.\n", counted(faults, "thing")),
    };
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_stand_out_and_say_what_to_do() {
        let items = [
            Item::good("rustc", "1.95.0"),
            Item::bad("device nodes", "/dev/nvidia0 may not be opened. ".repeat(5), "Do it."),
        ];
        let text = anstream::adapter::strip_str(&render(&items, 1)).to_string();
        insta::assert_snapshot!(text);
        let text = anstream::adapter::strip_str(&render(&items[..1], 0)).to_string();
        assert_eq!(text, "ok rustc  1.95.0\nAll is usable.\n");
    }
}
