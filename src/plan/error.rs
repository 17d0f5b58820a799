//! Why a plan cannot be made.

use crate::name::{InstanceName, TemplateName};

/// Why a plan cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The template of `--template` is not in the model.
    #[error("specified template not found: `{0}`")]
    UnknownTemplate(TemplateName),
    /// The instance that an ad-hoc run names does not exist.
    #[error("specified instance not found: `{0}`")]
    UnknownInstance(InstanceName),
    /// The model has no workflow of this name.
    #[error("workflow not found: `{0}`")]
    UnknownWorkflow(String),
    /// Instances are hosted on each other.
    #[error("`{0}` is hosted on itself, through the instances that it is hosted on")]
    HostCycle(TemplateName),
}
