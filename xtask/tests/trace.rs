//! `cargo xtask trace` on recorded traces.

use std::path::Path;
use std::process::Command;

use streamlings_trace::case;
use streamlings_trace::format::Writer;

/// Side reads what the host's upload may still be writing, and nothing orders the two.
const RACE: &str = "stream main
stream side
host h 4096 pinned
alloc x 4096
upload h to x on main
download x to h on side
sync side
expect races 1
";

fn trace(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["trace", "race.trace"])
        .args(arguments)
        .arg("--workspace")
        .arg(folder)
        .current_dir(folder)
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("WSL_DISTRO_NAME")
        .output()
        .expect("xtask runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let trace = case::trace(RACE).expect("it is a scenario");
    let mut writer = Writer::new(Vec::new(), &trace.header).expect("a header");
    trace.items.iter().for_each(|item| writer.write(item).expect("an item"));
    let bytes = writer.finish().expect("an end mark");
    std::fs::write(folder.path().join("race.trace"), bytes).expect("a file");
    folder
}

#[test]
fn a_trace_file_is_drawn_in_every_format() {
    let folder = folder();
    let (code, out, err) = trace(folder.path(), &["--open"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("there is no display here"), "{err}");
    let page = folder.path().join("target/trace/race.html");
    assert_eq!(Path::new(out.trim()), page.canonicalize().expect("it is there"));
    let page = std::fs::read_to_string(page).expect("it can be read");
    assert!(page.contains("<line class=\"race\"") && page.contains("stream side"));

    let (code, out, _) = trace(folder.path(), &["--format", "text"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("stream side") && out.contains("race on `"), "{out}");

    let (code, _, _) = trace(folder.path(), &["--format", "perfetto", "--output", "out/p.json"]);
    assert_eq!(code, Some(0));
    let text = std::fs::read(folder.path().join("out/p.json")).expect("it is there");
    let document: serde_json::Value = serde_json::from_slice(&text).expect("it is JSON");
    assert!(document["traceEvents"].as_array().is_some_and(|events| events.len() > 5));
}

#[test]
fn a_wrong_command_line_says_what_to_do() {
    let folder = folder();
    let (code, _, err) = trace(folder.path(), &["--open", "--format", "text"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("leave --format out"), "{err}");
}
