//! The grading cases of exercise 06.

use super::exercise;
use streamlings::grade::Cases;

// By path, because this file is a module of other crates, too.
#[path = "cases/snippets.rs"]
mod snippets;
#[path = "cases/train_loop.rs"]
mod train_loop;

pub fn cases() -> Cases {
    Cases::new().case("train_loop", train_loop::train_loop).case("snippets", snippets::snippets)
}
