//! Mutants: wrong variants of a solution, each of which must get its own diagnosis, and right ones that are
//! written otherwise, which must pass.

use crate::cases::Cases;
use crate::diagnosis::Diagnosis;

/// A variant, the cases compiled against it, and what they must find.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// Its name, that of its file.
    pub name: &'static str,
    /// The exercise's cases, calling this variant.
    pub cases: Cases,
    /// For each case that is looked at, the diagnosis it must give; none where it must pass.
    pub expect: Vec<(&'static str, Option<&'static Diagnosis>)>,
}

/// The `main` of a solution's `tests/mutants.rs`, from a table of its mutants.
///
/// For each: the file in the solution's `mutants/`, and which case must fail with which diagnosis. The
/// path of the cases starts from `mutants/`, too.
///
/// ```ignore
/// //! Wrong variants, each with the diagnosis that it must get.
///
/// streamlings::grade::mutants! {
///     cases: "../../../exercises/01_async_launch/tests/cases.rs";
///     sync_first "sync_first.rs": "enqueue_and_wait" => BLOCKED_BEFORE_FIRST_READING;
///     closure_first "closure_first.rs": "overlap_host_work" => CLOSURE_BEFORE_LAUNCH;
/// }
/// ```
///
/// `"overlap_host_work" => PASSES` is for a right variant, which no case may take for a wrong one.
///
/// A mutant's file is a whole exercise in itself: it `pub use`s from the solution crate what it leaves
/// right, and writes the wrong function anew.
#[macro_export]
macro_rules! mutants {
    (@expect PASSES) => { None };
    (@expect $diagnosis:ident) => { Some($crate::diagnosis::$diagnosis) };
    (
        cases: $cases:literal;
        $($name:ident $file:literal: $($case:literal => $diagnosis:ident),+;)+
    ) => {
        $(
            #[path = "../mutants"]
            mod $name {
                #[path = $file]
                pub mod exercise;
                #[expect(clippy::duplicate_mod, reason = "each mutant is given the cases anew")]
                #[path = $cases]
                pub mod cases;
            }
        )+

        fn main() -> ::std::process::ExitCode {
            $crate::mutants_main(
                env!("CARGO_MANIFEST_DIR"),
                vec![$($crate::Mutant {
                    name: stringify!($name),
                    cases: $name::cases::cases(),
                    expect: vec![$(($case, $crate::mutants!(@expect $diagnosis))),+],
                }),+],
            )
        }
    };
}
