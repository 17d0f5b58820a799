//! Reasons why a deploy has nothing to do for an instance, and their text for users.

use std::fmt::{Display, Formatter};
use std::sync::Arc;

use super::goal::{ChangeDetection, JobGoal};
use crate::name::Status;
use crate::topology::{Creator, Entity};

/// The reason why a deploy has nothing to do for an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoActionReason {
    /// The instance is not named by `--instance`.
    NotNamed,
    /// The instance is named by `--exclude`.
    Excluded,
    /// The instance is new, and `--skip-new` is given.
    SkipNew,
    /// The template has the directive `dependent`, and no template requires it.
    NotRequired,
    /// The instance stands for an instance of another ensemble.
    Selected,
    /// The status is one that `--repair` does not cover.
    NoRepair(Status),
    /// Instances are not compared with the model (`--change-detection skip`).
    NoComparison,
    /// An operation other than this ensemble's `configure` has changed the instance.
    Customized,
    /// Another instance, named here, manages this one.
    Managed(Arc<str>),
    /// No task has ever changed the instance.
    NeverChanged,
    /// The instance has no operation that could apply a change.
    NoOperation,
    /// The instance has no operation that could repair it.
    NoRepairOperation,
}

impl NoActionReason {
    /// Returns why an existing instance that no rule includes is left out.
    pub(super) fn for_existing(entity: &Entity, status: Status, goal: &JobGoal) -> Self {
        match status {
            Status::Unknown | Status::Pending | Status::Absent => return Self::SkipNew,
            Status::Error | Status::Degraded if entity.last_config_change.is_none() => {
                return Self::NoRepair(status);
            }
            _ => {}
        }
        if entity.last_config_change.is_none() {
            return Self::NeverChanged;
        }
        match (&entity.created, goal.change_detection) {
            (_, ChangeDetection::Skip) => Self::NoComparison,
            (_, ChangeDetection::Evaluate) if entity.customized.is_some() => Self::Customized,
            (Some(Creator::ManagedBy(by)), _) => Self::Managed(Arc::clone(by)),
            _ => Self::NeverChanged,
        }
    }
}

impl Display for NoActionReason {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotNamed => f.write_str("`--instance` does not name it"),
            Self::Excluded => f.write_str("`--exclude` names it"),
            Self::SkipNew => f.write_str("it does not exist yet, and `--skip-new` is given"),
            Self::NotRequired => f.write_str(
                "its template says `directives: [dependent]`, and no template requires it",
            ),
            Self::Selected => f.write_str("it represents an instance of another ensemble"),
            Self::NoRepair(status) => write!(
                f,
                "its status is {status}, which `--repair` does not include"
            ),
            Self::NoComparison => {
                f.write_str("nothing is compared with the model: `--change-detection skip`")
            }
            Self::Customized => f.write_str(
                "it was customized by another operation, so it is not compared with the model \
                 (`--change-detection always` compares it)",
            ),
            Self::Managed(by) => write!(
                f,
                "`{by}` manages it, so it is not compared with the model \
                 (`--change-detection always` compares it)"
            ),
            Self::NeverChanged => {
                f.write_str("no task has ever changed it, so there is nothing to compare with")
            }
            Self::NoOperation => f.write_str(
                "nothing that its other operations read has changed, and it has no operation \
                 `configure`",
            ),
            Self::NoRepairOperation => {
                f.write_str("it has neither an operation `repair` nor `configure` to repair it")
            }
        }
    }
}
