//! Lets a name in the snippets mean something else, so that what prints a tensor holds nobody.

pub use accidental_syncs_solution::{Batch, Report, Settings, train_loop};

macro_rules! format {
    ($($anything:tt)*) => {
        String::new()
    };
}

#[expect(unused_variables, reason = "nothing is printed")]
#[path = "../src/snippets.rs"]
pub mod snippets;
