//! The command line of a bundle's `./check`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Parser;

use super::{RunArguments, Written};

/// Grades what is in this bundle: all exercises, or those named.
///
/// Exit codes: 0 all passed (or, of several submissions, graded), 1 unsolved, 2 usage, 3 does not
/// compile, 4 no device, 5 grader error.
#[derive(Debug, Parser)]
#[command(name = "check", bin_name = "./check", max_term_width = 100)]
pub struct BundledCheck {
    /// Exercises, by number or name.
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,

    /// Grades this submission alone, by its name. May be given more than once.
    #[arg(long, value_name = "NAME")]
    pub submission: Vec<String>,

    /// Grades one of N equal shares of the submissions, for N machines: 1/N, 2/N and so on.
    #[arg(long, value_name = "K/N", conflicts_with = "submission")]
    pub share: Option<Share>,

    /// Grades anew what an earlier run here has graded already.
    #[arg(long)]
    pub fresh: bool,

    /// How many submissions are graded at a time.
    #[arg(long, value_name = "N", default_value = "1")]
    pub jobs: NonZeroUsize,

    /// Writes the full report of each submission into this folder.
    #[arg(long, value_name = "DIR")]
    pub reports: Option<PathBuf>,

    /// Counts points as this file says, and shows them.
    #[arg(long, value_name = "FILE")]
    pub points: Option<PathBuf>,

    #[command(flatten)]
    pub run: RunArguments,

    #[command(flatten)]
    pub written: Written,

    /// Puts together a program of the bundle that it holds as a delta, for the grader itself.
    #[arg(long, hide = true, num_args = 2, value_names = ["PROGRAM", "FILE"])]
    pub put_together: Vec<PathBuf>,
}

/// One of several equal shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Which, from 1.
    index: usize,
    of: usize,
}

impl Share {
    /// Whether what stands at this place, from 0, belongs to it.
    pub fn has(self, place: usize) -> bool {
        place % self.of == self.index - 1
    }
}

impl std::str::FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Share, String> {
        let numbers = text.split_once('/').and_then(|(index, of)| {
            Some(Share { index: index.parse().ok()?, of: of.parse().ok()? })
        });
        let whole = numbers.filter(|share| (1..=share.of).contains(&share.index));
        whole.ok_or_else(|| "give K/N, with K from 1 to N".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_everything_once() {
        let shares: Vec<Share> =
            ["1/3", "2/3", "3/3"].iter().map(|text| text.parse().expect("it is one")).collect();
        for place in 0..7 {
            assert_eq!(shares.iter().filter(|share| share.has(place)).count(), 1, "{place}");
        }
        for wrong in ["0/3", "4/3", "1", "1/0", "a/b", ""] {
            assert!(wrong.parse::<Share>().is_err(), "{wrong}");
        }
    }
}
