//! Does not compile.

pub fn two_way() -> u32 {
    "42"
}
