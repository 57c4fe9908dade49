//! A browser without a window, driven by the DevTools protocol over a pair of pipes.
//!
//! No crate for that: it is JSON with a zero byte behind each message. Everything ends by itself: an answer
//! that does not come in time is an error, and the browser ends with its value.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;

/// For an answer, on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(60);

/// What went wrong, as a sentence.
pub type Result<T> = std::result::Result<T, String>;

/// What browsers are called, best first.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// The browsers that there may be: `$CHROME` alone, if it is set, else those on the `PATH`.
pub fn candidates() -> Vec<PathBuf> {
    if let Some(named) = std::env::var_os("CHROME").filter(|named| !named.is_empty()) {
        return vec![named.into()];
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let files = NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    files.filter(|file| file.is_file()).collect()
}

/// A running browser.
pub struct Browser {
    child: Child,
    commands: Option<ChildStdin>,
    messages: Receiver<Value>,
    sent: u64,
    /// What came while an answer was waited for.
    events: VecDeque<Value>,
    _profile: TempDir,
}

impl Browser {
    /// Starts it, and waits until it answers.
    pub fn start(program: &Path) -> Result<Browser> {
        let text = |error: std::io::Error| format!("{}: {error}", program.display());
        let profile = tempfile::tempdir().map_err(text)?;
        // The protocol's two ends are descriptors 3 and 4. The pages are our own, so that the sandbox,
        // which root and many containers cannot have, is not missed.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null", "sh"])
            .arg(program)
            .args(["--headless", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu"])
            .args(["--no-first-run", "--disable-dev-shm-usage", "--disable-background-networking"])
            .args(["--disable-component-update", "--disable-sync", "--no-default-browser-check"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(text)?;
        let (send, messages) = channel();
        let output = child.stdout.take().ok_or("there is no pipe")?;
        std::thread::spawn(move || {
            for message in BufReader::new(output).split(0) {
                let message = message.ok().and_then(|text| serde_json::from_slice(&text).ok());
                if message.is_none_or(|message| send.send(message).is_err()) {
                    return;
                }
            }
        });
        let commands = child.stdin.take();
        let mut browser = Browser {
            child,
            commands,
            messages,
            sent: 0,
            events: VecDeque::new(),
            _profile: profile,
        };
        browser.call(None, "Browser.getVersion", json!({}))?;
        Ok(browser)
    }

    /// A new tab that shows a file.
    pub fn open<'a>(&'a mut self, file: &Path) -> Result<Page<'a>> {
        self.events.clear();
        let target = self.call(None, "Target.createTarget", json!({ "url": "about:blank" }))?;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = self.call(None, "Target.attachToTarget", attach)?;
        let session = attached["sessionId"].as_str().ok_or("there is no session")?.to_owned();
        let mut page = Page { browser: self, session };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), json!({}))?;
        }
        // As if its window were in front.
        page.call("Emulation.setFocusEmulationEnabled", json!({ "enabled": true }))?;
        let url = format!("file://{}", file.display());
        let went = page.call("Page.navigate", json!({ "url": url }))?;
        if let Some(error) = went["errorText"].as_str() {
            return Err(format!("{url}: {error}"));
        }
        let end = Instant::now() + PATIENCE;
        // While it comes, what is asked may still be answered by the empty tab, or by none.
        let script =
            format!("location.href === {} && document.readyState === 'complete'", json!(url));
        while page.evaluate(&script) != Ok(Value::Bool(true)) {
            if Instant::now() > end {
                return Err(format!("{url} does not come"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(page)
    }

    fn call(&mut self, session: Option<&str>, method: &str, params: Value) -> Result<Value> {
        self.sent += 1;
        let id = self.sent;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        let commands = self.commands.as_mut().ok_or("the browser is closed")?;
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        commands.write_all(&bytes).map_err(|error| format!("{method}: {error}"))?;
        let answer = self.wait_for(|message| message["id"] == id)?;
        match &answer["error"] {
            Value::Null => Ok(answer["result"].clone()),
            error => Err(format!("{method}: {error}")),
        }
    }

    fn wait_for(&mut self, is_it: impl Fn(&Value) -> bool) -> Result<Value> {
        if let Some(index) = self.events.iter().position(&is_it) {
            return self.events.remove(index).ok_or_else(String::new);
        }
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let message = self.messages.recv_timeout(left);
            let message =
                message.map_err(|error| format!("the browser does not answer: {error}"))?;
            if is_it(&message) {
                return Ok(message);
            }
            self.events.push_back(message);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Without its pipe it ends by itself, and its profile is no longer written to.
        self.commands = None;
        let end = Instant::now() + Duration::from_secs(3);
        while Instant::now() < end && !matches!(self.child.try_wait(), Ok(Some(_))) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = killpg(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGKILL);
        let _ = self.child.wait();
    }
}

/// A tab of the browser.
pub struct Page<'a> {
    browser: &'a mut Browser,
    session: String,
}

impl Page<'_> {
    fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        self.browser.call(Some(&self.session), method, params)
    }

    /// Makes the window so wide, and the wish for a light or a dark page known.
    pub fn look(&mut self, width: u32, scheme: &str) -> Result<()> {
        let size = json!({
            "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600,
        });
        self.call("Emulation.setDeviceMetricsOverride", size)?;
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.call("Emulation.setEmulatedMedia", json!({ "features": [feature] }))?;
        // Both are in effect with the next frame but one.
        self.evaluate(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))",
        )?;
        Ok(())
    }

    /// What a script gives, waited for.
    pub fn evaluate(&mut self, script: &str) -> Result<Value> {
        let how = json!({ "expression": script, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", how)?;
        match &answer["exceptionDetails"] {
            Value::Null => Ok(answer["result"]["value"].clone()),
            thrown => Err(format!("{script}: {thrown}")),
        }
    }

    /// Presses a key, named as scripts name it.
    pub fn press(&mut self, key: &str) -> Result<()> {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "End" => 35,
            "Home" => 36,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => 0,
        };
        let mut event = json!({ "key": key, "code": key, "windowsVirtualKeyCode": code });
        match key {
            "Enter" => event["text"] = json!("\r"),
            _ if code == 0 => event["text"] = json!(key),
            _ => {}
        }
        for kind in ["keyDown", "keyUp"] {
            event["type"] = json!(kind);
            self.call("Input.dispatchKeyEvent", event.clone())?;
        }
        Ok(())
    }

    /// Every address that was asked for, and every complaint of the console, so far.
    pub fn heard(&mut self) -> (Vec<String>, Vec<String>) {
        let (mut requests, mut complaints) = (Vec::new(), Vec::new());
        for event in &self.browser.events {
            let params = &event["params"];
            match event["method"].as_str().unwrap_or_default() {
                "Network.requestWillBeSent" => {
                    requests.push(params["request"]["url"].as_str().unwrap_or_default().to_owned());
                }
                "Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Log.entryAdded" => {
                    complaints.push(params.to_string());
                }
                _ => {}
            }
        }
        (requests, complaints)
    }

    /// A picture of the whole page: a PNG in base 64.
    pub fn shot(&mut self) -> Result<String> {
        self.call("Emulation.setScrollbarsHidden", json!({ "hidden": true }))?;
        let how = json!({ "format": "png", "captureBeyondViewport": true });
        let answer = self.call("Page.captureScreenshot", how)?;
        Ok(answer["data"].as_str().unwrap_or_default().to_owned())
    }
}

impl Drop for Page<'_> {
    fn drop(&mut self) {
        let _ = self.call("Page.close", json!({}));
    }
}
