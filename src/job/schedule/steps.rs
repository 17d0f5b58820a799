//! The interface through which the scheduler queries the steps of a job.

use crate::plan::{GroupId, Plan, PlanItem, StepId};
use crate::value::Handle;

/// Answers the scheduler's questions about the steps of a job.
pub(crate) trait Steps {
    /// Returns the plan that contains the steps.
    fn plan(&self) -> &Plan;

    /// Returns the target entity of a step.
    fn target(&self, step: StepId) -> Handle;

    /// Returns the instance to whose group a step belongs: its target, or one end of the relationship.
    fn instance(&self, step: StepId) -> Handle;

    /// Whether a step is part of the job.
    fn runs(&self, step: StepId) -> bool;

    /// Whether a step reads attributes that others have yet to set.
    fn is_deferred(&self, step: StepId) -> bool;

    /// Whether the task of a step has failed.
    fn has_failed(&self, step: StepId) -> bool;

    /// Whether a step removes or stops its target, even as part of a deployment.
    fn removes(&self, step: StepId) -> bool;

    /// Returns the instances that an instance requires, and those nested in them.
    fn required(&self, instance: Handle) -> Vec<Handle>;

    /// Returns the node on which a step needs exclusive access, if any.
    fn exclusive_key(&self, step: StepId) -> Option<Handle>;

    /// Returns the group of a step.
    fn group(&self, step: StepId) -> Option<GroupId> {
        self.plan().steps[step].group
    }

    /// Returns the steps directly in a group, in order.
    fn steps_of(&self, group: GroupId) -> Vec<StepId> {
        let items = self.plan().groups[group].items.iter();
        items
            .filter_map(|item| match item {
                PlanItem::Step(step) => Some(*step),
                PlanItem::Group(_) => None,
            })
            .collect()
    }

    /// Returns the steps of each top-level item of the plan, starting with the given item.
    fn units(&self, first: usize) -> Vec<Vec<StepId>> {
        let plan = self.plan();
        plan.items[first..]
            .iter()
            .map(|item| {
                let (mut steps, mut stack) = (Vec::new(), vec![*item]);
                while let Some(item) = stack.pop() {
                    match item {
                        PlanItem::Step(step) => steps.push(step),
                        PlanItem::Group(group) => {
                            stack.extend(plan.groups[group].items.iter().rev());
                        }
                    }
                }
                steps
            })
            .collect()
    }
}
