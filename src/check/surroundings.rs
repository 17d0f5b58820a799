//! The port through which the checks ask about the machine and the project.

use std::path::Path;

/// Answers questions about the machine and the project around a model.
pub trait Surroundings {
    /// Whether a file or folder exists. `None` if the project must not look at it.
    fn exists(&self, path: &Path) -> Option<bool>;

    /// Returns the names of the files in a folder, as far as the project may look at it.
    fn list(&self, folder: &Path) -> Vec<String>;

    /// Whether a program of this name is on the `PATH`.
    fn has_program(&self, name: &str) -> bool;
}
