//! What a process writes, of which only the beginning and the end are kept.

use std::collections::VecDeque;
use std::io::{PipeReader, Read};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How much is kept of the beginning, and of the end, in bytes.
pub(super) const KEPT: usize = 32 << 10;
/// How long the rest of the output is waited for once the process has ended: a process that it started
/// may hold the pipe open for ever.
const REST: Duration = Duration::from_millis(200);

/// The output of a process: its first and its last lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Captured {
    kept: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Default for Captured {
    fn default() -> Captured {
        Captured::keeping(KEPT)
    }
}

impl Captured {
    /// Nothing yet; keeps so many bytes of the beginning, and of the end.
    pub fn keeping(kept: usize) -> Captured {
        Captured { kept, head: Vec::new(), tail: VecDeque::new(), total: 0 }
    }

    /// Adds what was written next.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (head, rest) = bytes.split_at(bytes.len().min(self.kept - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let surplus = self.tail.len().saturating_sub(self.kept);
        self.tail.drain(..surplus);
    }

    /// How many bytes were written in all.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Whether something is left out.
    pub fn is_cut(&self) -> bool {
        self.total > (self.head.len() + self.tail.len()) as u64
    }

    /// The first and the last lines, with a line between them that says how much is left out.
    pub fn text(&self) -> String {
        let head = String::from_utf8_lossy(&self.head);
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let tail = String::from_utf8_lossy(&tail);
        let left_out = self.total - (self.head.len() + self.tail.len()) as u64;
        let (head, tail) = match left_out {
            0 => return clean(&format!("{head}{tail}")),
            // Cut lines are left out whole.
            _ => (
                head.rsplit_once('\n').map_or(&*head, |(whole, _)| whole),
                tail.split_once('\n').map_or(&*tail, |(_, whole)| whole),
            ),
        };
        clean(&format!("{head}\n... {} bytes in all ...\n{tail}", self.total))
    }
}

/// Without what would move a terminal's cursor or change its colours.
fn clean(text: &str) -> String {
    text.chars().filter(|c| *c == '\n' || *c == '\t' || !c.is_control()).collect()
}

/// A thread that reads a pipe to its end.
pub(super) struct Collector {
    captured: Arc<Mutex<Captured>>,
    done: Receiver<()>,
}

/// Collects what comes out of the pipe; calls `over` once when it is more than `limit` bytes.
pub(super) fn collect(
    mut pipe: PipeReader,
    limit: u64,
    kept: usize,
    over: impl FnOnce() + Send + 'static,
) -> Collector {
    let captured = Arc::new(Mutex::new(Captured::keeping(kept)));
    let (tell, done) = channel();
    let shared = Arc::clone(&captured);
    std::thread::spawn(move || {
        let mut over = Some(over);
        let mut buffer = [0; 16 << 10];
        while let Ok(read) = pipe.read(&mut buffer) {
            if read == 0 {
                break;
            }
            let mut captured = shared.lock().unwrap_or_else(PoisonError::into_inner);
            captured.push(&buffer[..read]);
            if captured.total > limit
                && let Some(over) = over.take()
            {
                over();
            }
        }
        // Nobody listens any more if the pipe was held open for too long.
        let _ = tell.send(());
    });
    Collector { captured, done }
}

impl Collector {
    /// What was written, after the process has ended.
    pub fn finish(self) -> Captured {
        // Whether the end of the pipe came or not, what is there is what is reported.
        let _ = self.done.recv_timeout(REST);
        self.captured.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_output_is_kept_whole() {
        let mut captured = Captured::default();
        captured.push(b"one\ntwo\x1b[31m\n");
        assert_eq!(captured.text(), "one\ntwo[31m\n");
        assert!(!captured.is_cut());
    }

    #[test]
    fn of_a_flood_the_first_and_last_lines_are_kept() {
        let mut captured = Captured::default();
        for line in 0..100_000 {
            captured.push(format!("line {line}\n").as_bytes());
        }
        let text = captured.text();
        assert!(text.starts_with("line 0\nline 1\n"), "{text}");
        assert!(text.ends_with("line 99998\nline 99999\n"), "{text}");
        assert!(text.contains(&format!("\n... {} bytes in all ...\nline ", captured.total())));
        assert!(text.len() < 3 * KEPT);
        assert!(captured.is_cut());
    }
}
