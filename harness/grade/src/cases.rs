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
    /// Whether the exercise passes without it.
    pub optional: bool,
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
    pub fn case(self, name: &'static str, run: CaseFn) -> Cases {
        self.add(Case { name, run, optional: false })
    }

    /// Adds a case that is reported, and without which the exercise passes all the same.
    ///
    /// For it to count as optional, the exercise's `exercise.toml` has to say so, too.
    ///
    /// # Panics
    /// If there is one of that name.
    pub fn optional(self, name: &'static str, run: CaseFn) -> Cases {
        self.add(Case { name, run, optional: true })
    }

    fn add(mut self, case: Case) -> Cases {
        assert!(self.find(case.name).is_none(), "there are two cases `{}`", case.name);
        self.0.push(case);
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
