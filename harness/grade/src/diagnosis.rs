//! The one table of diagnoses: every mistake that the grader can name.
//!
//! A diagnosis is general; what happened in a run, with its numbers and lines, is a
//! [`Finding`](crate::Finding). Codes are stable: reports, `exercise.toml` files and mutants name them.
//!
//! To add one: write an entry in `diagnosis/table.rs`. Its title completes "what is wrong", its rule is one sentence that
//! is true without the exercise at hand, and its next step says what to look at or to try, never what
//! to write. `[docs: ...]` may follow: the page that the rule rests on.

use std::fmt;

use crate::outcome::Outcome;

/// A mistake that the grader knows by name.
#[derive(Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// Stable, in kebab case.
    pub code: &'static str,
    /// The outcome that it means.
    pub outcome: Outcome,
    /// What is wrong, in one line.
    pub title: &'static str,
    /// The rule that was broken, in one sentence.
    pub rule: &'static str,
    /// One thing to do next; never the solution.
    pub next: &'static str,
    /// The public documentation that the rule rests on, where there is one page for it.
    pub docs: Option<&'static str>,
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code)
    }
}

/// The diagnosis of this code.
pub fn find(code: &str) -> Option<&'static Diagnosis> {
    ALL.iter().copied().find(|diagnosis| diagnosis.code == code)
}

/// Pages of the vendors, by what they are about.
mod pages {
    pub const ASYNCHRONOUS: &str =
        "https://docs.nvidia.com/cuda/cuda-programming-guide/02-basics/asynchronous-execution.html";
    pub const SYNC_BEHAVIOR: &str =
        "https://docs.nvidia.com/cuda/cuda-driver-api/api-sync-behavior.html";
    pub const EVENTS: &str = "https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html";
    pub const STREAMS: &str =
        "https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html";
    pub const MEMORY: &str = "https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html";
    pub const PYTORCH_ASYNCHRONOUS: &str =
        "https://pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution";
    pub const PYTORCH_PINNED: &str =
        "https://pytorch.org/docs/stable/notes/cuda.html#use-pinned-memory-buffers";
    pub const PYTORCH_STREAMS: &str =
        "https://pytorch.org/docs/stable/notes/cuda.html#cuda-streams";
    pub const TRACE_FORMAT: &str = "https://perfetto.dev/docs/getting-started/other-formats";
    pub const RECORD_STREAM: &str =
        "https://pytorch.org/docs/stable/generated/torch.Tensor.record_stream.html";
}

macro_rules! docs {
    () => {
        None
    };
    ($docs:expr) => {
        Some($docs)
    };
}

macro_rules! diagnoses {
    ($($name:ident $code:literal $outcome:ident: $title:literal
        rule: $rule:literal
        next: $next:literal
        $([docs: $docs:expr])?)*) => {
        $(
            #[doc = concat!("`", $code, "`: ", $title, ".")]
            pub const $name: &Diagnosis = &Diagnosis {
                code: $code,
                outcome: Outcome::$outcome,
                title: $title,
                rule: $rule,
                next: $next,
                docs: docs!($($docs)?),
            };
        )*

        /// All diagnoses, in the order of the table.
        pub const ALL: &[&Diagnosis] = &[$($name),*];
    };
}

// Behind the macros that it uses.
mod table;

pub use self::table::*;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_in_kebab_case() {
        for (index, diagnosis) in ALL.iter().enumerate() {
            let code = diagnosis.code;
            assert!(code.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{code}");
            assert!(ALL[..index].iter().all(|other| other.code != code), "{code} comes twice");
            assert_eq!(find(code), Some(*diagnosis));
        }
    }

    /// What names a diagnosis in a source can be found by its code.
    #[test]
    fn constants_are_called_as_their_codes() {
        let table = include_str!("diagnosis/table.rs");
        for Diagnosis { code, .. } in ALL {
            let constant = code.to_uppercase().replace('-', "_");
            assert!(table.contains(&format!("    {constant} \"{code}\" ")), "{code}");
        }
    }

    #[test]
    fn every_entry_reads_as_the_reports_need_it() {
        for Diagnosis { code, outcome, title, rule, next, docs } in ALL {
            assert!(docs.is_none_or(|docs| docs.starts_with("https://")), "{code}: {docs:?}");
            assert_ne!(*outcome, Outcome::Passed, "{code}");
            assert!(title.len() <= 80 && !title.ends_with('.'), "{code}: {title}");
            for sentence in [rule, next] {
                assert!(sentence.ends_with('.') && sentence.len() <= 140, "{code}: {sentence}");
            }
        }
    }
}
