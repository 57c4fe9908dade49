//! What a busy machine does to times, and what is done about it.

use std::time::Duration;

use crate::diagnosis::Diagnosis;
use crate::verdict::Finding;

/// How many runs there are, at most.
const RUNS: u32 = 4;

/// Judges once more what a busy machine may have brought about, while what is found is one of `codes`: a
/// machine that keeps the host from running makes a time longer, but not in each of several runs.
///
/// # Errors
/// What `judged` finds in the last of them.
pub fn unhurried<T>(
    codes: &[&Diagnosis],
    mut judged: impl FnMut() -> Result<T, Finding>,
) -> Result<T, Finding> {
    let mut found = judged();
    for _ in 1..RUNS {
        match &found {
            Err(finding) if codes.contains(&finding.diagnosis) => found = judged(),
            _ => break,
        }
    }
    found
}

/// What is found in a run that holds the host in each launch and each wait, for at least `hold`, says so: its
/// figures are not those of the report.
///
/// # Errors
/// The finding in `judged`.
pub fn held_run<T>(hold: Duration, judged: Result<T, Finding>) -> Result<T, Finding> {
    judged.map_err(|finding| {
        finding.note(format!(
            "in this run each launch and each wait took the host {:.1} ms more, as a busy machine does",
            hold.as_secs_f64() * 1e3
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis as d;

    #[test]
    fn what_may_be_luck_is_judged_again() {
        let mut runs = 0;
        let mut judged = |lucky: u32, code| {
            runs = 0;
            let found = unhurried(&[d::IDLE_INSIDE_THE_PAIR], || {
                runs += 1;
                if runs < lucky { Err(Finding::new(code, "")) } else { Ok(runs) }
            });
            (found.map_err(|finding| finding.diagnosis), runs)
        };
        assert_eq!(judged(1, d::IDLE_INSIDE_THE_PAIR), (Ok(1), 1));
        assert_eq!(judged(3, d::IDLE_INSIDE_THE_PAIR), (Ok(3), 3));
        assert_eq!(judged(9, d::IDLE_INSIDE_THE_PAIR), (Err(d::IDLE_INSIDE_THE_PAIR), RUNS));
        assert_eq!(judged(3, d::HOST_HELD), (Err(d::HOST_HELD), 1));
    }
}
