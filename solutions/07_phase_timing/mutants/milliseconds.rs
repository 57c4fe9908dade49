//! Writes the timeline in milliseconds, where the format wants microseconds.

pub use phase_timing_solution::{Profile, Timed, profile, table};

pub fn timeline(profile: &Profile) -> String {
    let mut profile = profile.clone();
    for timed in &mut profile.phases {
        timed.start_ms /= 1e3;
        timed.ms /= 1e3;
    }
    phase_timing_solution::timeline(&profile)
}
