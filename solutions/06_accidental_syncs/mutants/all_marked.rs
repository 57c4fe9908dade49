//! Marks every line.

pub use accidental_syncs_solution::{Batch, Report, Settings, train_loop};

pub mod snippets {
    //! The solution's, with other marks.

    use std::sync::LazyLock;

    pub use accidental_syncs_solution::snippets::*;

    pub static SOURCE: LazyLock<String> = LazyLock::new(|| {
        let lines = accidental_syncs_solution::snippets::SOURCE.lines();
        let is_statement = |line: &str| line.starts_with("    ") && line.ends_with(';');
        let mark = |line: &str| if is_statement(line) { " //~ SYNC\n" } else { "\n" };
        lines.flat_map(|line| [line, mark(line)]).collect()
    });
}
