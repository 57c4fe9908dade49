//! A workspace of exercises without dependencies, and `xtask` run on it.
//!
//! The grade binaries are stand-ins of a few lines, so that they build fast.

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// A stand-in for a grade binary with one case: it passes if `CALL` gives 42.
const GRADE: &str = r###"//! A stand-in for a grade binary.
fn main() {
    let argument = std::env::args().nth(1).unwrap_or_default();
    match argument.as_str() {
        "--describe" => println!("{}", r##"{"cases":[{"name":"CASE","expect":EXPECT}]}"##),
        "--device" => println!("a remark\n{}", r##"{"kind":"emulated","name":"a stand-in"}"##),
        _ => judge(std::io::read_to_string(std::io::stdin()).unwrap()),
    }
}

fn judge(job: String) {
    let field = |name: &str| {
        let from = job.split(&format!("\"{name}\":\"")).nth(1).unwrap();
        from.split('"').next().unwrap().to_owned()
    };
    let (nonce, path) = (field("nonce"), field("verdict"));
    let (outcome, diagnosis) = match CALL {
        42 => ("passed", "null"),
        _ => ("wrong", "\"wrong-value\""),
    };
    let verdict = format!(
        r##"{{"schema":1,"nonce":"{nonce}","case":"CASE","outcome":"{outcome}",
        "diagnosis":{diagnosis},"message":"it is not 42","spots":[],"notes":[],"figures":[],
        "device":null}}"##
    );
    std::fs::write(path, verdict).unwrap();
}
"###;

/// What is right.
pub const RIGHT: &[u8] = b"//! An answer.\npub fn answer() -> u32 {\n    42\n}\n";

/// Says who it is, and stays.
pub const LOOPS: &[u8] = br#"//! An answer.
pub fn answer() -> u32 {
    std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/pid"), std::process::id().to_string()).unwrap();
    loop {}
}
"#;

/// This workspace.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the workspace")
}

/// The folder that this test was built in.
pub fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is in the target folder")
}

/// A workspace with packages in these folders, and with these exercises, numbered from 1.
pub fn workspace<const N: usize>(folders: [&str; N], exercises: &[(&str, &[u8])]) -> TempDir {
    let root = tempfile::tempdir().expect("a temporary folder");
    let members = folders.map(|folder| format!("\"{folder}/*\"")).join(", ");
    let manifest = format!("[workspace]\nresolver = \"3\"\nmembers = [{members}]\n");
    write(root.path(), "Cargo.toml", manifest.as_bytes());
    for (index, (name, source)) in exercises.iter().enumerate() {
        let folder = format!("exercises/{:02}_{name}", index + 1);
        let exercise = "title = \"an answer\"\n\
            intended = [{ case = \"answer\", diagnosis = \"wrong-value\" }]\n\
            hints = [\"think\", \"add\", \"six times seven\"]\n";
        write(root.path(), &format!("{folder}/exercise.toml"), exercise.as_bytes());
        write(root.path(), &format!("{folder}/src/lib.rs"), source);
        package(root.path(), &folder, name, &["grade"]);
        let call = format!("{name}::answer()");
        stand_in(root.path(), &format!("{folder}/tests/grade.rs"), "answer", "null", &call);
    }
    root
}

/// The manifest of a package with these test targets.
pub fn package(root: &Path, folder: &str, name: &str, tests: &[&str]) {
    let mut manifest =
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    for test in tests {
        manifest += &format!("[[test]]\nname = \"{test}\"\nharness = false\n");
    }
    write(root, &format!("{folder}/Cargo.toml"), manifest.as_bytes());
}

/// A stand-in for a grade binary: its case, the diagnosis it lists as expected, and what it calls.
pub fn stand_in(root: &Path, path: &str, case: &str, expect: &str, call: &str) {
    let text = GRADE.replace("CASE", case).replace("EXPECT", expect).replace("CALL", call);
    write(root, path, text.as_bytes());
}

/// Writes a file and makes its folder.
pub fn write(root: &Path, path: &str, text: &[u8]) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it can be made");
    std::fs::write(path, text).expect("it can be written");
}

/// Runs `cargo xtask` with these arguments on a workspace.
pub fn xtask(root: &Path, arguments: &[&str]) -> Output {
    command(root, arguments).output().expect("xtask runs")
}

/// What `cargo xtask` writes to standard output, which is UTF-8, and its exit code.
pub fn said(root: &Path, arguments: &[&str]) -> (String, Option<i32>) {
    let output = xtask(root, arguments);
    (String::from_utf8(output.stdout).expect("it is UTF-8"), output.status.code())
}

/// What it writes to standard error.
pub fn complaint(root: &Path, arguments: &[&str]) -> String {
    let output = xtask(root, arguments);
    String::from_utf8(output.stderr).expect("it is UTF-8")
}

/// The command that does.
pub fn command(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command
        .args(arguments)
        .arg("--workspace")
        .arg(root)
        .env("CARGO_TARGET_DIR", root.join("target"))
        .env("CARGO_NET_OFFLINE", "true")
        .env_remove("STREAMLINGS_DEVICE");
    command
}
