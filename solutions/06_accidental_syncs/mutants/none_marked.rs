//! Marks no line.

pub use accidental_syncs_solution::{Batch, Report, Settings, train_loop};

pub mod snippets {
    //! The solution's, with other marks.

    use std::sync::LazyLock;

    pub use accidental_syncs_solution::snippets::*;

    pub static SOURCE: LazyLock<String> = LazyLock::new(|| {
        accidental_syncs_solution::snippets::SOURCE.replace("//~ SYNC", "")
    });
}
