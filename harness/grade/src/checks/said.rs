//! What findings of several exercises say about polling, races and waits.

use streamlings_trace::AccessKind;
use streamlings_trace::order::report::{Access, Race, What};
use streamlings_trace::polls::Poll;

use crate::diagnosis as d;
use crate::grader::Grader;
use crate::verdict::Finding;

/// [`d::HOST_POLLS`]: a thread that asked again and again.
pub fn host_polls(grader: &Grader, poll: &Poll) -> Finding {
    let message = format!("`{}` and its like were called {} times", poll.function, poll.count);
    let asked = (poll.left - poll.entered) as f64 / 1e6;
    Finding::new(d::HOST_POLLS, message)
        .at(poll.at.as_ref().and_then(|at| grader.frame_at(at)), "asks here")
        .note(format!("from the first question to the last answer it took {asked:.3} ms"))
}

/// What an access of a race does, as the label of its line: ``kernel `fill` on `side` writes it``.
pub fn doing(race: &Race, access: &Access) -> String {
    let (actor, deed) = (&access.actor, deeds(access.kind));
    match &access.what {
        What::Alloc | What::Free => format!("{} on {actor}", access.doer()),
        _ if access.stream().is_none() => format!("{actor} {deed} it"),
        // Of several that came about on one line, it may be an earlier tenant's kernel.
        _ if race.reuse.is_some() && access.seq == race.earlier.seq => {
            format!("work on {actor} {deed} it")
        }
        _ => format!("{} on {actor} {deed} it", access.doer()),
    }
}

/// `writes` or `reads`.
pub fn deeds(kind: AccessKind) -> &'static str {
    if kind.writes() { "writes" } else { "reads" }
}

/// The missing edge, as a note. An earlier access without a line of the learner's is the case's own.
pub fn missing_edge(race: &Race) -> String {
    race.missing_edge_after(&format!("the grader's {}", race.earlier.doer()))
}
