//! Compiles another function than the one that is to be marked.

pub use accidental_syncs_solution::{Batch, Report, Settings, train_loop};

pub mod snippets {
    //! The solution's, but for one that holds nobody.

    pub use accidental_syncs_solution::snippets::*;
    use streamlings::tensor::{Result, Tensor};

    pub fn print_loss(loss: &Tensor, _log: &mut Vec<String>) -> Result<()> {
        loss.scale(0.5).map(drop)
    }
}
