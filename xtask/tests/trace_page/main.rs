//! The page of `cargo xtask trace` in a browser: what a reader sees, hears, and reaches by keyboard.
//!
//! Looks for Chromium or Chrome on the `PATH`, or takes `$CHROME`. Where there is none the rows are skipped, and
//! say so; one that was named and does not start is a failure. To look at pages yourself, put them into a
//! folder and run with `STREAMLINGS_SHOTS=FOLDER`: it gets pictures of them, narrow and wide, light and dark.

#![forbid(unsafe_code)]

mod browser;
mod pages;
mod rows;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::{Arguments, Trial};

use self::browser::{Browser, Result};

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // They share the browser.
    arguments.test_threads = Some(1);
    let listed_only = arguments.list;
    let browser = if listed_only { Err("it is not needed".to_owned()) } else { found() };
    if let (Some(folder), Ok(Some(browser))) = (std::env::var_os("STREAMLINGS_SHOTS"), &browser) {
        let done = shots(&mut lock(browser), Path::new(&folder));
        return match done {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        };
    }
    let folder = tempfile::tempdir();
    let trials = rows::ROWS.iter().map(|(name, body)| {
        let browser = browser.clone();
        let folder = folder.as_ref().map(|folder| folder.path().join(name));
        let skipped = matches!(browser, Ok(None));
        let folder = folder.map_err(ToString::to_string);
        Trial::test(format!("browser::{name}"), move || {
            let (browser, folder) = (browser?.ok_or("there is no browser")?, folder?);
            std::fs::create_dir(&folder)?;
            Ok(body(&mut lock(&browser), &folder)?)
        })
        .with_ignored_flag(skipped)
    });
    let trials = trials.collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

type Shared = Arc<Mutex<Browser>>;

fn lock(browser: &Shared) -> std::sync::MutexGuard<'_, Browser> {
    browser.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The first browser that starts and can read our files (one in a sandbox of its distribution may not);
/// none if there is none. `$CHROME` has to be one.
fn found() -> Result<Option<Shared>> {
    let mut why = "no browser was found".to_owned();
    for program in browser::candidates() {
        match started(&program) {
            Ok(browser) => return Ok(Some(Arc::new(Mutex::new(browser)))),
            Err(error) if std::env::var_os("CHROME").is_some_and(|named| !named.is_empty()) => {
                return Err(error);
            }
            Err(error) => why = format!("{} cannot be used: {error}", program.display()),
        }
    }
    eprintln!("skipped: no browser (the browser:: rows; {why})");
    Ok(None)
}

fn started(program: &Path) -> Result<Browser> {
    let mut browser = Browser::start(program)?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = folder.path().join("probe.html");
    std::fs::write(&file, "<title>probe</title>").map_err(|error| error.to_string())?;
    let title = browser.open(&file)?.evaluate("document.title")?;
    if title == "probe" { Ok(browser) } else { Err("it does not show our files".to_owned()) }
}

/// Pictures of every page in a folder.
fn shots(browser: &mut Browser, folder: &Path) -> Result<()> {
    let all = [pages::everything(), pages::long(), pages::behind_a_spin()];
    for (name, trace) in ["everything", "long", "behind"].into_iter().zip(all) {
        pages::drawn(folder, name, &trace, 1)?;
    }
    let entries = folder.read_dir().map_err(|error| error.to_string())?;
    for page in entries.flatten().map(|entry| entry.path()) {
        if page.extension().is_none_or(|extension| extension != "html") {
            continue;
        }
        let mut shown = browser.open(&page)?;
        for (width, scheme) in [(390, "light"), (390, "dark"), (1440, "light"), (1440, "dark")] {
            shown.look(width, scheme)?;
            if scheme == "dark" {
                shown.evaluate("document.querySelector('.bar.held, .bar.raced, .bar').click()")?;
            }
            let picture = page.with_extension(format!("{width}-{scheme}.png"));
            let file = std::fs::File::create(&picture).map_err(|error| error.to_string())?;
            let mut decoder = Command::new("base64")
                .arg("-d")
                .stdin(Stdio::piped())
                .stdout(file)
                .spawn()
                .map_err(|error| error.to_string())?;
            let text = shown.shot()?;
            if let Some(mut input) = decoder.stdin.take() {
                std::io::Write::write_all(&mut input, text.as_bytes())
                    .map_err(|error| error.to_string())?;
            }
            decoder.wait().map_err(|error| error.to_string())?;
            println!("{}", picture.display());
        }
    }
    Ok(())
}
