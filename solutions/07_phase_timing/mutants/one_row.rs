//! Shows both streams in one row.

pub use phase_timing_solution::{Profile, Timed, profile, table};

pub fn timeline(profile: &Profile) -> String {
    phase_timing_solution::timeline(profile).replace("\"tid\": 1", "\"tid\": 0")
}
