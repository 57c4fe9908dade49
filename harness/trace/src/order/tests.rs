//! The rules one by one, the analysis against an obvious reference, and what the learner reads.

mod programs;
mod reference;
mod rules;
