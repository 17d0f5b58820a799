//! The facts about the steps of a job that their order depends on.

use crate::plan::{GroupId, Plan, PlanItem, StepId};
use crate::value::Handle;

/// Answers what the scheduler asks about the steps of a job.
pub(crate) trait Steps {
    /// The plan that the steps are part of.
    fn plan(&self) -> &Plan;

    /// The entity that a step is applied to.
    fn target(&self, step: StepId) -> Handle;

    /// The instance whose turn a step is part of: its target, or an end of the relationship.
    fn instance(&self, step: StepId) -> Handle;

    /// Whether a step is part of the job.
    fn runs(&self, step: StepId) -> bool;

    /// Whether a step reads what others have yet to set.
    fn is_deferred(&self, step: StepId) -> bool;

    /// Whether the task of a step has failed.
    fn has_failed(&self, step: StepId) -> bool;

    /// Whether a step takes something away, be it as part of a deployment.
    fn removes(&self, step: StepId) -> bool;

    /// The instances that an instance requires, and what is within them.
    fn required(&self, instance: Handle) -> Vec<Handle>;

    /// The node whose instances must not be worked on at the same time, if a step works on one.
    fn exclusive_key(&self, step: StepId) -> Option<Handle>;

    /// The group of a step.
    fn group(&self, step: StepId) -> Option<GroupId> {
        self.plan().steps[step].group
    }

    /// The steps directly in a group, in order.
    fn steps_of(&self, group: GroupId) -> Vec<StepId> {
        let items = self.plan().groups[group].items.iter();
        items
            .filter_map(|item| match item {
                PlanItem::Step(step) => Some(*step),
                PlanItem::Group(_) => None,
            })
            .collect()
    }

    /// The steps of each top-level item of the plan from one on, in order.
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
