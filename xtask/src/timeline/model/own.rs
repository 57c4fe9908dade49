//! Which calls are the grader's own: a kernel that keeps a stream busy, and the like.

use std::collections::HashSet;

use streamlings_trace::{Call, Item, StackId, Trace};

/// The stacks without a line of the code that is graded.
#[derive(Debug)]
pub(super) struct Own(HashSet<StackId>);

impl Own {
    /// None if the trace tells of no line that is graded: then nothing is known of its calls either.
    pub fn of(trace: &Trace) -> Own {
        let stacks = || {
            trace.items.iter().filter_map(|item| match item {
                Item::Stack { id, stack } if !stack.frames.is_empty() => Some((*id, stack)),
                _ => None,
            })
        };
        if !stacks().any(|(_, stack)| stack.learner.is_some()) {
            return Own(HashSet::new());
        }
        Own(stacks().filter(|(_, stack)| stack.learner.is_none()).map(|(id, _)| id).collect())
    }

    /// Whether the call is one of them.
    pub fn has(&self, call: &Call) -> bool {
        call.stack.is_some_and(|stack| self.0.contains(&stack))
    }
}
