//! Repair: the operations that bring a degraded or drifted instance back to its specification.

use std::sync::Arc;

use super::no_action::NoActionReason;
use super::operation::find_operation;
use super::planner::{PlannedInstance, Planner};
use super::sequence::StepSequence;
use super::step::{GroupId, PlanItem, Reason, StepActivity, StepTarget};
use crate::name::{NodeState, OperationRef, Status};

/// The name of the operation that repairs an instance, in any interface of the model.
const REPAIR_OPERATION: &str = "repair";

impl Planner<'_> {
    /// Plans the repair of an instance that exists and works with faults, or not at all: the `repair` operation of the
    /// model, else `configure` for a degraded instance. Returns false if the workflow `deploy` repairs the instance.
    pub(super) fn plan_repair(&mut self, subject: &PlannedInstance) -> bool {
        let operation = self.repair_operation(subject);
        let is_degraded = subject.status == Some(Status::Degraded);
        if operation.is_none() && (!is_degraded || self.generate_custom(subject, "deploy")) {
            return is_degraded;
        }
        let target = StepTarget::Node(subject.name.clone());
        let group = self.open_group(target.clone(), "deploy", None);
        let sequence = StepSequence {
            group: Some(group),
            reason: Some(Reason::Degraded),
            workflow: "deploy".into(),
        };
        match operation {
            Some(reference) => {
                let operations = Arc::clone(&subject.template.operations);
                self.implemented(target, &operations, &sequence, reference, None);
            }
            None if self.is_configured(subject) => self.configure(subject, &sequence),
            None => {
                self.declarative(subject, &sequence);
            }
        }
        self.complete_with_last(group, subject);
        true
    }

    /// Whether an instance was configured completely. A start that was cut off is to be repeated.
    fn is_configured(&self, subject: &PlannedInstance) -> bool {
        matches!(
            self.state(subject),
            Some(NodeState::Configured | NodeState::Started)
        )
    }

    /// Returns the first implemented operation `repair` among the interfaces of an instance.
    fn repair_operation(&self, subject: &PlannedInstance) -> Option<OperationRef> {
        let operations = &subject.template.operations;
        let mut names = operations
            .interfaces()
            .map(|interface| interface.name.as_str());
        let dry_run = self.goal.dry_run;
        let has_repair = |name: &&str| {
            *name != "Mock" && find_operation(operations, name, REPAIR_OPERATION, dry_run).is_some()
        };
        let name = names.find(has_repair)?;
        Some(OperationRef::new(name, REPAIR_OPERATION))
    }

    /// Marks the last operation of the instance itself as the one that completes the workflow of a group. The last
    /// operation of a deploy may be one that a repair leaves out.
    fn complete_with_last(&mut self, group: GroupId, subject: &PlannedInstance) {
        let own = StepTarget::Node(subject.name.clone());
        let steps = self.plan.groups[group].items.iter();
        let last = steps.rev().find_map(|item| match item {
            PlanItem::Step(step) => {
                let planned = &self.plan.steps[*step];
                let is_operation = matches!(planned.activity, StepActivity::Operation { .. });
                (is_operation && planned.target == own).then_some(*step)
            }
            PlanItem::Group(_) => None,
        });
        if let Some(last) = last {
            self.plan.steps[last].is_final = true;
        } else {
            self.note_no_action(subject, NoActionReason::NoRepairOperation);
        }
    }
}
