//! The effect of a job on an instance as people name it: create, change, replace, delete.
//!
//! Plans, approval prompts, progress, summaries and commit messages use the same words, so the effect is
//! derived from tasks in one place.

use indexmap::IndexMap;

use super::proposal::{Proposal, ProposedTask};
use crate::name::OperationRef;
use crate::plan::{RunCondition, StepActivity, StepId};
use crate::value::Handle;

/// The effect of a job on an instance, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstanceAction {
    /// A crashed job left an operation whose effect is unknown. The operation runs again.
    InDoubt,
    /// The instance is deleted and created again.
    Replace,
    Create,
    Delete,
    Change,
    Stop,
    /// An operation runs that neither creates nor changes the instance by definition: an ad hoc run or a
    /// step of a workflow that the model defines.
    Run,
    /// The instance is only looked at: `check` or `discover`.
    Check,
}

impl InstanceAction {
    /// Returns the effect of one task. `reason` is the name of the reason, such as `add`.
    pub fn of_task(operation: &OperationRef, reason: &str) -> Self {
        let name = &operation.operation;
        if reason == "in-doubt" {
            Self::InDoubt
        } else if matches!(name.as_str(), "check" | "discover") {
            Self::Check
        } else if name.as_str() == "stop" {
            Self::Stop
        } else if name.is_teardown() {
            Self::Delete
        } else if matches!(reason, "add" | "missing") {
            Self::Create
        } else if operation.interface.is_lifecycle() && reason != "run" {
            Self::Change
        } else {
            Self::Run
        }
    }

    /// Returns the effect of two tasks on the same instance.
    #[must_use]
    pub fn combine(self, other: Self) -> Self {
        let both = (self.min(other), self.max(other));
        match both {
            (Self::Create, Self::Delete) | (Self::Delete, Self::Change) => Self::Replace,
            (strongest, _) => strongest,
        }
    }
}

impl Proposal {
    /// Returns true if a step only runs if another one fails.
    pub fn is_conditional(&self, step: StepId) -> bool {
        let mut group = self.plan.steps[step].group;
        while let Some(id) = group {
            let within = &self.plan.groups[id];
            if matches!(within.condition, RunCondition::Failed(_)) {
                return true;
            }
            group = within.parent;
        }
        false
    }

    /// Returns the planned effect on each instance that a task will run for, in the order of the plan.
    ///
    /// A task of a relationship counts for the instance that has the requirement.
    pub fn instance_actions(&self) -> IndexMap<Handle, InstanceAction> {
        let mut actions: IndexMap<Handle, InstanceAction> = IndexMap::new();
        for (step, task) in self.tasks.iter().enumerate() {
            let is_run = |task: &ProposedTask| task.is_included && !task.is_skipped();
            let Some(owner) = self.owner_of(step) else {
                continue;
            };
            let action = match (&self.plan.steps[step].activity, task) {
                (_, Some(task)) if !is_run(task) => continue,
                (_, Some(_)) if self.is_conditional(step) => InstanceAction::Run,
                (StepActivity::Operation { reference, .. }, Some(task)) => {
                    InstanceAction::of_task(reference, &task.reason.to_string())
                }
                _ => InstanceAction::Run,
            };
            let known = actions.entry(owner).or_insert(action);
            *known = known.combine(action);
        }
        actions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(operation: &str, reason: &str) -> InstanceAction {
        let (interface, operation) = operation.split_once('.').unwrap();
        let reference = OperationRef::new(interface, operation);
        InstanceAction::of_task(&reference, reason)
    }

    #[test]
    fn operation_and_reason_tell_the_effect() {
        use InstanceAction::{Change, Check, Create, Delete, InDoubt, Run, Stop};
        for (operation, reason, action) in [
            ("Standard.configure", "add", Create),
            ("Standard.create", "missing", Create),
            ("Standard.configure", "reconfigure", Change),
            ("Standard.start", "repair", Change),
            ("Standard.delete", "prune", Delete),
            ("Standard.stop", "undeploy", Stop),
            ("Standard.configure", "in-doubt", InDoubt),
            ("Install.check", "check", Check),
            ("Install.discover", "discover", Check),
            ("Standard.configure", "run", Run),
            ("Mgmt.backup", "run", Run),
        ] {
            assert_eq!(of(operation, reason), action, "{operation} {reason}");
        }
    }

    #[test]
    fn tasks_on_one_instance_have_one_effect() {
        use InstanceAction::{Change, Check, Create, Delete, Replace, Stop};
        assert_eq!(Stop.combine(Delete), Delete);
        assert_eq!(Delete.combine(Create), Replace);
        assert_eq!(Change.combine(Delete), Replace);
        assert_eq!(Check.combine(Create), Create);
        assert_eq!(Replace.combine(Create), Replace);
    }
}
