//! Has a file that is a link to somebody else's.

pub const USERS: &str = include_str!("users.txt");
