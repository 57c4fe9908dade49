//! Wrong variants of exercise 04, each with the diagnosis that it must get.
fn main() {}
