//! From return addresses to functions, files and lines.

use std::collections::HashMap;
use std::path::PathBuf;

use streamlings_trace::{Frame, Stack};

/// Source lines, looked up once for each address.
#[derive(Default)]
pub struct Symbols {
    known: HashMap<u64, Vec<Frame>>,
}

impl Symbols {
    /// The frames behind a list of return addresses, inlined functions included.
    pub fn stack(&mut self, addresses: &[u64], learner_roots: &[PathBuf]) -> Stack {
        let mut frames: Vec<Frame> = Vec::new();
        for address in addresses {
            let known = self.known.entry(*address).or_insert_with(|| look_up(*address));
            frames.extend(known.iter().cloned());
        }
        let learner = frames.iter().position(|frame| {
            let Some(file) = &frame.file else { return false };
            learner_roots.iter().any(|root| std::path::Path::new(file).starts_with(root))
        });
        Stack { frames, learner: learner.map(|index| index as u32) }
    }
}

fn look_up(address: u64) -> Vec<Frame> {
    let mut frames = Vec::new();
    // A return address is one past the call; the byte before it belongs to the call's line.
    let inside = (address - 1) as usize as *mut std::ffi::c_void;
    backtrace::resolve(inside, |symbol| {
        frames.push(Frame {
            function: symbol.name().map(|name| format!("{name:#}")).unwrap_or_default(),
            file: symbol.filename().map(|file| file.to_string_lossy().into_owned()),
            line: symbol.lineno().unwrap_or(0),
        });
    });
    frames
}
