//! The port through which the checks ask about the machine and the project.

use std::path::Path;

/// Answers questions about the machine and the project around a model.
pub trait Surroundings {
    /// Whether a file or folder exists. `None` if the project must not look at it.
    fn exists(&self, path: &Path) -> Option<bool>;

    /// Whether a program of this name is on the `PATH`.
    fn has_program(&self, name: &str) -> bool;
}
