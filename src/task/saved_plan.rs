//! The plan that a tool has saved for the next task of the same job.

use std::fmt::{Debug, Formatter};

use zeroize::Zeroizing;

/// A plan that a tool has saved. It stays in the memory of the job, because it may hold secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct SavedPlan {
    /// A digest of everything that the plan was made of. A task with another one makes a new plan.
    pub basis: String,
    pub bytes: Zeroizing<Vec<u8>>,
}

impl Debug for SavedPlan {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "SavedPlan({} bytes)", self.bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_debug_text_shows_no_content() {
        let plan = SavedPlan {
            basis: String::new(),
            bytes: Zeroizing::new(b"hunter2".to_vec()),
        };
        assert_eq!(format!("{plan:?}"), "SavedPlan(7 bytes)");
    }
}
