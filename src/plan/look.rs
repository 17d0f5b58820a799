//! Plans how to look at recorded instances without changing anything: by their `check` operation, or by a test run of
//! the operation that made them.

use std::sync::Arc;

use super::check_ability::CheckAbility;
use super::operation::find_operation;
use super::order::template_order;
use super::planner::{PlannedInstance, Planner};
use super::step::{Reason, StepTarget};
use crate::name::Status;
use crate::tosca::Operation;

/// The operations that make an instance. The first one that is implemented says what the instance is like.
const MAKING: [&str; 3] = ["configure", "create", "start"];

impl Planner<'_> {
    /// Adds a step for each recorded instance that the filters admit.
    pub(super) fn look(&mut self) {
        for template in template_order(self.topology, self.goal) {
            for handle in self.topology.instances_of(&template.name).to_vec() {
                let subject = self.subject(handle);
                if self.admits(&subject) {
                    self.look_at(&subject);
                }
            }
        }
    }

    fn look_at(&mut self, subject: &PlannedInstance) {
        if self.generate_custom(subject, "check") {
            return;
        }
        let operations = Arc::clone(&subject.template.operations);
        if let Some(check) = find_operation(&operations, "Install", "check", self.goal.dry_run) {
            let target = StepTarget::Node(subject.name.clone());
            self.push_operation(target, check, Reason::Check, None);
            return;
        }
        let entity = self.entity(subject);
        let is_own = entity.is_some_and(|entity| {
            let node = entity.node();
            !entity.computed && node.is_some_and(|node| node.imported.is_none())
        });
        // An instance that does not exist has nothing that its operations could be compared with.
        let is_there = matches!(
            subject.status,
            Some(Status::Ok | Status::Degraded | Status::Error | Status::Unknown)
        );
        if !is_own || !is_there {
            return;
        }
        let making = |name: &&str| find_operation(&operations, "Standard", name, self.goal.dry_run);
        let Some(making) = MAKING.iter().find_map(making) else {
            return;
        };
        match self.repeat_policy.check_ability(&making) {
            CheckAbility::Compares => self.push_test(subject, making),
            CheckAbility::MakesNothing => {}
            CheckAbility::Cannot => {
                let reason = format!(
                    "no check operation, and `{}` cannot be compared",
                    making.reference
                );
                self.plan.unchecked.push((subject.name.clone(), reason));
            }
        }
    }

    /// Adds a step that runs an operation in test mode.
    fn push_test(&mut self, subject: &PlannedInstance, operation: Arc<Operation>) {
        let step = self.plan.steps.len();
        let target = StepTarget::Node(subject.name.clone());
        self.push_operation(target, operation, Reason::Check, None);
        self.plan.steps[step].start_state = None;
        self.plan.tests.insert(step);
    }
}
