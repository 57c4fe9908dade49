//! The list of an exercise's grading cases.

use crate::grader::Grader;
use crate::verdict::Finding;

/// A grading case: runs the learner's function and judges it.
pub type CaseFn = fn(&mut Grader) -> Result<(), Finding>;

/// A case and its name.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name, usually that of the function it grades.
    pub name: &'static str,
    /// What it does.
    pub run: CaseFn,
}

/// The grading cases of an exercise, in the order in which they are reported.
#[derive(Clone, Debug, Default)]
pub struct Cases(Vec<Case>);

impl Cases {
    /// No cases yet.
    pub fn new() -> Cases {
        Cases::default()
    }

    /// Adds a case.
    ///
    /// # Panics
    /// If there is one of that name.
    pub fn case(mut self, name: &'static str, run: CaseFn) -> Cases {
        assert!(self.find(name).is_none(), "there are two cases `{name}`");
        self.0.push(Case { name, run });
        self
    }

    /// The cases.
    pub fn iter(&self) -> impl Iterator<Item = &Case> {
        self.0.iter()
    }

    /// The case of that name.
    pub fn find(&self, name: &str) -> Option<&Case> {
        self.0.iter().find(|case| case.name == name)
    }
}
