//! Whoever writes below a folder is told of.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{Config, PollWatcher, RecommendedWatcher, RecursiveMode, Watcher};

/// How often the files are looked at where the system does not tell.
const POLL: Duration = Duration::from_millis(500);

/// Watches a folder until the returned value is dropped, and calls `told` with every path that may have
/// changed. The second value is what the learner has to know.
///
/// # Errors
/// Where the folder cannot even be looked at.
pub fn watch(
    folder: &Path,
    poll: bool,
    told: impl Fn(PathBuf) + Clone + Send + 'static,
) -> anyhow::Result<(Box<dyn Watcher>, Option<String>)> {
    let handler = move |event: notify::Result<notify::Event>| {
        // An error here is an event that got lost; the next save brings another.
        let Ok(event) = event else { return };
        if is_change(event.kind) {
            event.paths.into_iter().for_each(&told);
        }
    };
    let native = || -> notify::Result<RecommendedWatcher> {
        let mut watcher = RecommendedWatcher::new(handler.clone(), Config::default())?;
        watcher.watch(folder, RecursiveMode::Recursive)?;
        Ok(watcher)
    };
    let mut remark = None;
    if !poll {
        match native() {
            Ok(watcher) => return Ok((Box::new(watcher), None)),
            Err(error) => {
                remark = Some(format!(
                    "The system does not tell of saved files ({error}), so they are looked at \
                     twice a second, as with --poll."
                ));
            }
        }
    }
    let config = Config::default().with_poll_interval(POLL).with_compare_contents(true);
    let mut watcher = PollWatcher::new(handler, config)?;
    watcher
        .watch(folder, RecursiveMode::Recursive)
        .with_context(|| format!("{} cannot be watched", folder.display()))?;
    Ok((Box::new(watcher), remark))
}

/// Whether a file may have another content after that. Cargo and rustc open and read the same files.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}
