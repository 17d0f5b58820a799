//! What a job was to reach, in a form that is kept.

use serde::{Deserialize, Serialize};

use super::goal::{AdHoc, ChangeDetection, Goal, Removal, Repair, Workflow};
use crate::name::OperationRef;

/// A goal as it is kept; what is not written is as it is by default.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option that users switch on"
)]
struct KeptGoal {
    workflow: String,
    template: Option<String>,
    instances: Vec<String>,
    excluded: Vec<String>,
    force: bool,
    skip_new: bool,
    repair: String,
    change_detection: String,
    upgrade: bool,
    check: bool,
    prune: bool,
    destroy_unmanaged: bool,
    operation: Option<(String, String)>,
    command: Vec<String>,
    operation_host: Option<String>,
}

impl Goal {
    /// The goal as data, to go on with it later.
    pub fn to_kept(&self) -> serde_json::Value {
        let mut excluded: Vec<String> = self.excluded.iter().map(ToString::to_string).collect();
        excluded.sort_unstable();
        let operation = self.ad_hoc.operation.as_ref();
        let kept = KeptGoal {
            workflow: self.workflow.to_string(),
            template: self.template.as_ref().map(ToString::to_string),
            instances: self.instances.iter().map(ToString::to_string).collect(),
            excluded,
            force: self.force,
            skip_new: self.skip_new,
            repair: match self.repair {
                Repair::None => "none",
                Repair::Error => "error",
                Repair::Degraded => "degraded",
            }
            .to_owned(),
            change_detection: match self.change_detection {
                ChangeDetection::Skip => "skip",
                ChangeDetection::Evaluate => "evaluate",
                ChangeDetection::Always => "always",
            }
            .to_owned(),
            upgrade: self.upgrade,
            check: self.check,
            prune: self.removal.prune,
            destroy_unmanaged: self.removal.unmanaged,
            operation_host: self.ad_hoc.host.as_ref().map(ToString::to_string),
            operation: operation.map(|it| (it.interface.to_string(), it.operation.to_string())),
            command: self.ad_hoc.command.clone(),
        };
        serde_json::to_value(kept).unwrap_or_default()
    }

    /// The goal that was kept; none if the data is none.
    pub fn from_kept(kept: &serde_json::Value) -> Option<Self> {
        let kept: KeptGoal = serde_json::from_value(kept.clone()).ok()?;
        Some(Self {
            workflow: Workflow::parse(&kept.workflow),
            template: kept.template.map(Into::into),
            instances: kept.instances.into_iter().map(Into::into).collect(),
            excluded: kept.excluded.into_iter().map(Into::into).collect(),
            force: kept.force,
            skip_new: kept.skip_new,
            repair: match kept.repair.as_str() {
                "none" => Repair::None,
                "degraded" => Repair::Degraded,
                _ => Repair::Error,
            },
            change_detection: match kept.change_detection.as_str() {
                "skip" => ChangeDetection::Skip,
                "always" => ChangeDetection::Always,
                _ => ChangeDetection::Evaluate,
            },
            upgrade: kept.upgrade,
            check: kept.check,
            removal: Removal {
                prune: kept.prune,
                unmanaged: kept.destroy_unmanaged,
            },
            ad_hoc: AdHoc {
                operation: kept
                    .operation
                    .map(|(interface, name)| OperationRef::new(interface, name)),
                command: kept.command,
                host: kept.operation_host.map(Into::into),
            },
            ..Self::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_that_was_kept_is_the_same() {
        let goal = Goal {
            workflow: Workflow::parse("backup"),
            template: Some("web".into()),
            instances: vec!["a".into()],
            excluded: ["b".into(), "c".into()].into(),
            force: true,
            repair: Repair::Degraded,
            change_detection: ChangeDetection::Always,
            removal: Removal {
                prune: true,
                unmanaged: false,
            },
            ad_hoc: AdHoc {
                operation: Some(OperationRef::new("Standard", "create")),
                command: vec!["true".into()],
                host: Some("a".into()),
            },
            ..Goal::default()
        };
        assert_eq!(Goal::from_kept(&goal.to_kept()), Some(goal));
        assert_eq!(
            Goal::from_kept(&Goal::default().to_kept()),
            Some(Goal::default())
        );
        assert_eq!(Goal::from_kept(&serde_json::json!([1])), None);
    }
}
