//! The problems of one ensemble or service template.

use crate::diagnostic::{Diagnostics, Sources};

/// What was found in one ensemble or service template.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    /// Every problem, in no order.
    pub problems: Diagnostics,
    /// The texts that the problems point into.
    pub sources: Sources,
}
