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
    trace_in(folder, arguments, &[])
}

fn trace_in(
    folder: &Path,
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["trace", "race.trace"])
        .args(arguments)
        .arg("--workspace")
        .arg(folder)
        .current_dir(folder)
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("WSL_DISTRO_NAME")
        .env_remove("BROWSER")
        .env_remove("SSH_CONNECTION")
        .env_remove("SSH_TTY")
        .envs(environment.iter().copied())
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

    // A second one goes below.
    let (code, out, _) = trace(folder.path(), &["race.trace", "--format", "text"]);
    assert_eq!(code, Some(0));
    assert!(
        out.starts_with("race and race\n") && out.matches("\nrace.trace, on ").count() == 2,
        "{out}"
    );

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
    std::fs::write(folder.path().join("bad.trace"), "no trace").expect("a file");
    for (name, said, wanted) in
        [("none.trace", "there is no file none.trace", 2), ("bad.trace", "bad.trace cannot", 5)]
    {
        let (code, out, err) = trace(folder.path(), &[name]);
        assert!(out.is_empty() && err.contains(said), "{err}");
        assert_eq!(code, Some(wanted), "{err}");
    }
    let (code, _, err) = trace(folder.path(), &["async_launch"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("name one exercise, or else trace files alone"), "{err}");
}

/// A program that opens pages, in a folder that is the whole `PATH`.
fn opener(folder: &Path, script: &str) -> String {
    let path = folder.join("bin");
    std::fs::create_dir(&path).expect("a folder");
    let program = path.join("xdg-open");
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("a file");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).expect("it can be run");
    path.display().to_string()
}

#[test]
fn a_page_that_cannot_be_opened_is_there_all_the_same() {
    let folder = folder();
    for (environment, said) in [
        (&[("SSH_CONNECTION", "a b")][..], "fetch the page with `scp HOST:PATH race.html`"),
        (
            &[("DISPLAY", ":9"), ("PATH", "/nonexistent")],
            "no program was found that opens the page",
        ),
        (&[("WSL_DISTRO_NAME", "Debian"), ("PATH", "/nonexistent")], "\\\\wsl.localhost\\Debian\\"),
        (&[], "there is no display here"),
    ] {
        let (code, out, err) = trace_in(folder.path(), &["--open"], environment);
        assert_eq!(code, Some(0), "{err}");
        assert!(err.starts_with("warning: ") && err.contains(said), "{err}");
        assert!(Path::new(out.trim()).is_file(), "{out}");
    }
}

#[test]
fn what_opens_a_page_gets_its_path_and_may_fail() {
    let folder = folder();
    let got = folder.path().join("got");
    let path = opener(folder.path(), &format!("echo \"$@\" > {}; exit 3", got.display()));
    let display = [("DISPLAY", ":9"), ("PATH", &path[..])];
    let (code, out, err) = trace_in(folder.path(), &["--open"], &display);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("so open it yourself"), "{err}");
    assert_eq!(std::fs::read_to_string(got).expect("it was called"), out);
}

#[test]
fn what_opens_a_page_and_stays_is_not_waited_for() {
    let folder = folder();
    // It stays until the test is over, however slow this machine is.
    let script = format!("while [ -d {} ]; do /bin/sleep 0.05; done", folder.path().display());
    let path = opener(folder.path(), &script);
    let display = [("DISPLAY", ":9"), ("PATH", &path[..])];
    let (code, out, err) = trace_in(folder.path(), &["--open"], &display);
    assert_eq!((code, &err[..]), (Some(0), ""));
    assert!(Path::new(out.trim()).is_file());
}
