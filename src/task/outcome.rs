//! What a configurator renders, and how a run ends.

use crate::name::Status;
use crate::value::{Map, Value};

/// Where a rendered file belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WorkFolder {
    /// The task's own folder, `tasks/<instance>/<operation>`.
    Operation,
    /// Files that the deployment needs for good.
    Artifacts,
    /// The same, secret.
    Secrets,
    /// Files that stay on this machine.
    Local,
}

/// A file that a configurator wants written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedFile {
    /// Where it belongs.
    pub folder: WorkFolder,
    /// Its path within the folder.
    pub path: String,
    /// What it holds.
    pub bytes: Vec<u8>,
    /// Whether only its owner may read it.
    pub sensitive: bool,
}

/// What rendering gave: files, and whatever the run needs to know of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RenderedTask {
    /// Files to be written.
    pub files: Vec<RenderedFile>,
    /// What the run takes over; its form is the configurator's own.
    pub data: Value,
}

/// How a run ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskOutcome {
    /// Whether the operation did what it is for.
    pub success: bool,
    /// Whether it changed anything; none where it cannot tell.
    pub modified: Option<bool>,
    /// The status that the target has now, where the run knows it.
    pub status: Option<Status>,
    /// What is told and recorded of it.
    pub result: Option<Value>,
    /// Outputs of the operation.
    pub outputs: Option<Map>,
    /// Changes to instances, evaluated: a list of maps.
    pub updates: Option<Value>,
    /// Whether these were written as text: then the record shows them without additions.
    pub updates_as_text: bool,
    /// What went wrong besides, in words.
    pub errors: Vec<String>,
    /// What to say of a failure.
    pub notes: Vec<String>,
}

impl TaskOutcome {
    /// A failure that changed nothing, with words for the record.
    pub fn refused(message: impl Into<String>) -> Self {
        let message: String = message.into();
        Self {
            modified: Some(false),
            result: Some(Value::from(message)),
            ..Self::default()
        }
    }
}
