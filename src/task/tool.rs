//! The port through which tasks use tools that keep a state of their own, such as Terraform.

use std::path::{Path, PathBuf};

use super::saved_plan::SavedPlan;
use crate::expr::Error;
use crate::value::{Map, Value};

/// Encrypts and decrypts the state of a tool for the people who work on an ensemble.
pub trait StateCipher {
    /// Returns the state that a file has, as JSON.
    ///
    /// # Errors
    ///
    /// The text says why the file cannot be read, and what to do.
    fn open(&self, path: &Path, content: &[u8]) -> Result<Vec<u8>, String>;

    /// Returns a state as its file has it. The text beside it is a warning.
    fn seal(&self, clear: &[u8]) -> Result<(String, Option<String>), String>;

    /// Returns a state of which everybody may see what is not secret. `state` has its secret values marked.
    fn seal_values(&self, state: &Value, clear: &[u8]) -> Result<(String, Option<String>), String>;

    /// Returns the beginning of the names of the ensemble's private folders.
    fn folder_prefix(&self) -> &str;
}

/// The places of a task's files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolFacts {
    /// The name of the target's folders.
    pub instance: String,
    /// The folder `tasks` of the target while the job runs.
    pub working: PathBuf,
    /// The name of the private folder of the target.
    pub private: String,
    /// True if rendered files are written. Jobs that only look write none.
    pub writes_files: bool,
}

/// Provides what a tool with a state needs to know about its task.
pub trait ToolProvider {
    /// Returns the places of the task's files.
    fn facts(&self) -> ToolFacts;

    /// Returns true if the workflow of the task removes its target.
    fn removes_target(&self) -> bool;

    /// Returns true if the target exists, and an operation that applied a configuration with the input `main` is on record.
    fn was_applied(&self) -> bool;

    /// Returns the plan that the last task of the target in this job has saved.
    fn saved_plan(&self) -> Option<&SavedPlan>;

    /// Returns the cipher for states.
    fn cipher(&self) -> &dyn StateCipher;

    /// Returns the properties of the target whose definitions have a key in their metadata. The reads are recorded.
    fn marked_properties(&self, key: &str) -> Result<Map, Error>;

    /// Returns the names of the outputs that the operation uses: the attributes of the target that outputs set by their
    /// metadata, and those that the operation maps.
    fn used_outputs(&self) -> Vec<String>;
}
