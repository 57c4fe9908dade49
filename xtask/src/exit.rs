//! The exit codes of every command, and nowhere else.

use streamlings_grade::Outcome;

/// How the command line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: all that was asked for passed, or was graded (`check --submissions`).
    Success,
    /// 1: something is unsolved (`check`), or not as it should be (`verify`, `judge`, `ptx --check`).
    Unsolved,
    /// 2: the command line is wrong, or names an exercise or a file that there is not.
    Usage,
    /// 3: something does not compile.
    DoesNotCompile,
    /// 4: there is no device.
    NoDevice,
    /// 5: the grader itself failed: nothing is known about the code.
    GraderError,
    /// 130: Ctrl-C, as shells report it.
    Interrupted,
}

impl Exit {
    /// The number.
    pub fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Unsolved => 1,
            Exit::Usage => 2,
            Exit::DoesNotCompile => 3,
            Exit::NoDevice => 4,
            Exit::GraderError => 5,
            Exit::Interrupted => 130,
        }
    }

    /// The code for these outcomes: of several troubles, the one that says least about the code.
    pub fn of_outcomes(outcomes: impl IntoIterator<Item = Outcome>) -> Exit {
        outcomes.into_iter().map(Exit::of_outcome).max_by_key(|exit| exit.code()).unwrap_or(
            // Nothing was asked for.
            Exit::Success,
        )
    }

    fn of_outcome(outcome: Outcome) -> Exit {
        match outcome {
            Outcome::Passed => Exit::Success,
            Outcome::DoesNotCompile => Exit::DoesNotCompile,
            Outcome::NoDevice => Exit::NoDevice,
            Outcome::GraderError => Exit::GraderError,
            _ => Exit::Unsolved,
        }
    }
}

/// The command line asks for what cannot be had; the message says what to do instead.
#[derive(Debug)]
pub struct UsageError(pub String);

impl std::fmt::Display for UsageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_passes_are_a_success() {
        use Outcome::*;
        assert_eq!(Exit::of_outcomes([Passed, Passed]), Exit::Success);
        for outcome in Outcome::ALL {
            let exit = Exit::of_outcomes([Passed, outcome]);
            assert_eq!(exit == Exit::Success, outcome == Passed, "{outcome}");
        }
    }

    #[test]
    fn the_grader_s_own_trouble_is_told_first() {
        use Outcome::*;
        assert_eq!(Exit::of_outcomes([Raced, DoesNotCompile]), Exit::DoesNotCompile);
        assert_eq!(Exit::of_outcomes([NoDevice, DoesNotCompile]), Exit::NoDevice);
        assert_eq!(Exit::of_outcomes([GraderError, NoDevice, Wrong]), Exit::GraderError);
    }
}
