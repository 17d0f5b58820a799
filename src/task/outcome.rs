//! The data that rendering a task produces, and the outcome of its run.

use super::saved_plan::SavedPlan;
use crate::name::Status;
use crate::value::{Map, Value};

/// The folder of the ensemble that a rendered file belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WorkFolder {
    /// The folder of the task itself, `tasks/<instance>/<operation>`.
    Operation,
    /// The folder of all tasks of the instance, `tasks/<instance>`.
    Tasks,
    /// Files that the deployment needs permanently.
    Artifacts,
    /// Files that the deployment needs permanently and that are secret.
    Secrets,
    /// Files that stay on this machine and are not shared.
    Local,
}

/// A file that a configurator wants written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedFile {
    pub folder: WorkFolder,
    /// The file's path within the folder.
    pub path: String,
    pub bytes: Vec<u8>,
    /// Whether only the owner may read the file.
    pub sensitive: bool,
}

/// The result of rendering a task: files to write and data for the run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RenderedTask {
    pub files: Vec<RenderedFile>,
    /// Data that rendering hands to the run. Each configurator has a form of its own.
    pub data: Value,
}

/// The outcome of a run: its success, its result and its updates.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskOutcome {
    /// Whether the operation achieved its purpose.
    pub success: bool,
    /// Whether the run changed anything. None if the run cannot tell.
    pub modified: Option<bool>,
    /// The target's new status, if the run knows it.
    pub status: Option<Status>,
    /// The result that is reported and recorded.
    pub result: Option<Value>,
    pub outputs: Option<Map>,
    /// Changes to instances, already evaluated: a list of maps.
    pub updates: Option<Value>,
    /// Whether the updates were written as text. The record then shows them without additions.
    pub updates_as_text: bool,
    /// Error messages besides those in the result.
    pub errors: Vec<String>,
    /// Notes to report with a failure.
    pub notes: Vec<String>,
    /// Warnings to report in any case.
    pub warnings: Vec<String>,
    /// True if the tool of the task was killed, so that it is not known what the tool has done.
    pub is_cut_off: bool,
    /// The plan that the tool has saved for the next task of the same target.
    pub saved_plan: Option<SavedPlan>,
}

impl TaskOutcome {
    /// Returns a failure that changed nothing, with a message for the record.
    pub fn refused(message: impl Into<String>) -> Self {
        let message: String = message.into();
        Self {
            modified: Some(false),
            result: Some(Value::from(message)),
            ..Self::default()
        }
    }
}
