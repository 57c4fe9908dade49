//! The hostile submissions (`xtask/tests/hostile/`) get what they must, by `cargo xtask verify`.

use std::process::Command;

#[test]
fn every_hostile_submission_gets_its_outcome() {
    // verify runs them itself, beside these tests.
    if std::env::var_os("STREAMLINGS_VERIFY").is_some() {
        println!("skipped: verify grades the hostile submissions itself");
        return;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["verify", "--only-hostile", "--device", "emulated"])
        .output()
        .expect("xtask runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}\n{text}");
    assert!(text.contains("hostile "), "{text}");
    assert!(!text.contains("\n0 passed"), "{text}");
}
