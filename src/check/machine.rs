//! The port through which the checks ask about this computer and the project.

use std::path::Path;

use crate::configurator::SourceProblem;
use crate::tosca::Operation;

/// This computer and the project of a model.
pub trait Machine {
    /// Returns true if a file or folder exists. `None` if the project must not look at it.
    fn exists(&self, path: &Path) -> Option<bool>;

    /// Returns the names of the files in a folder, as far as the project may look at it.
    fn list(&self, folder: &Path) -> Vec<String>;

    /// Returns the problem of the tasks or state files that an operation names, if they do not exist.
    fn source_problem(&self, operation: &Operation) -> Option<SourceProblem>;

    /// Returns true if a program of this name is on the `PATH`.
    fn has_program(&self, name: &str) -> bool;
}
