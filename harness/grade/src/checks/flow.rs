//! What a part's values were worked out from.

use streamlings_trace::{Call, Op, Range};

use super::{Part, touches};
use crate::diagnosis as d;
use crate::verdict::Finding;

impl<'a> Part<'a> {
    /// The last operation of the part that writes some of this memory.
    pub fn last_writer(&self, memory: Range) -> Option<&'a Call> {
        self.work().into_iter().rfind(|call| touches(call, memory, true))
    }

    /// What is in `result` was worked out from `source`: an operation of the part read that and wrote what
    /// another one read, and so on. `what` names the result; `read` is where `source` is read.
    ///
    /// # Errors
    /// [`d::NOT_LAUNCHED_ON_IT`].
    pub fn comes_from(
        &self,
        what: &str,
        result: Range,
        source: Range,
        read: &Call,
    ) -> Result<(), Finding> {
        if derived(&self.work(), source).iter().any(|range| range.overlaps(result)) {
            return Ok(());
        }
        let message = format!("{what} that was returned does not come from the tensor");
        let finding = Finding::new(d::NOT_LAUNCHED_ON_IT, message);
        let finding = finding.at(self.at(read), "this reads the tensor, and leads to nothing");
        Err(match self.last_writer(result) {
            Some(writer) => finding.at(self.at(writer), format!("{what} is written here")),
            None => finding,
        })
    }
}

/// What holds values that were worked out from those in `source`, when all the work is over.
fn derived(work: &[&Call], source: Range) -> Vec<Range> {
    let mut found: Vec<Range> = Vec::new();
    for call in work {
        let reads =
            touches(call, source, false) || found.iter().any(|range| touches(call, *range, false));
        let written = written(call);
        if reads {
            found.extend(written);
        } else {
            // Overwritten with something else: a block that the allocator handed out again, say.
            let is_whole = |range: &Range| {
                written.iter().any(|new| new.start <= range.start && range.end <= new.end)
            };
            found.retain(|range| !is_whole(range));
        }
    }
    found
}

/// The memory that an operation writes.
fn written(call: &Call) -> Vec<Range> {
    match &call.op {
        Op::Launch { accesses, .. } => {
            let writes = accesses.iter().filter(|access| access.kind.writes());
            writes.map(|access| access.range).collect()
        }
        Op::Copy { dst, .. } => vec![dst.range],
        Op::Memset { range, .. } => vec![*range],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// Whether `y` comes from `x`.
    #[rstest]
    #[case::directly("read x, write y on s", true)]
    #[case::over_another("read x, write z on s; read z, write y on s", true)]
    #[case::copied("copy x to y on s", true)]
    #[case::overwritten("read x, write y on s; write y on s", false)]
    #[case::in_part("read x, write y on s; write y[0..8] on s", true)]
    #[case::too_late("read z, write y on s; read x, write z on s", false)]
    #[case::not_at_all("read x on s; write y on s", false)]
    fn values_come_from_others(#[case] text: &str, #[case] expected: bool) {
        let setup = "stream s; alloc x 64; alloc y 64; alloc z 64";
        let program = format!("{setup}; {text}; expect races 0").replace("; ", "\n");
        let trace = streamlings_trace::case::trace(&program).expect("reads");
        let work: Vec<&Call> = trace.calls().filter(|call| call.op.is_work()).collect();
        let memory = trace.calls().filter_map(|call| match call.op {
            Op::Alloc { range, .. } => Some(range),
            _ => None,
        });
        let [x, y, _z] = memory.collect::<Vec<_>>()[..] else { panic!("{trace:?}") };
        assert_eq!(derived(&work, x).iter().any(|range| range.overlaps(y)), expected);
    }
}
