//! Relationships that a teardown took away from instances that it left.

use std::sync::Arc;

use super::planner::{PlannedInstance, Planner};
use super::sequence::StepSequence;
use super::step::{Reason, StepTarget};
use crate::name::{NodeState, OperationRef, Status};
use crate::tosca::Operations;

/// The operations that establish a relationship, in order: those in its target's turn and those in
/// its source's.
const ESTABLISHING_OPERATIONS: [(&str, bool); 4] = [
    ("pre_configure_target", true),
    ("pre_configure_source", false),
    ("post_configure_source", false),
    ("post_configure_target", true),
];

impl Planner<'_> {
    /// Establishes again what a teardown took away, where the instance itself needs nothing: its
    /// other end may be made anew.
    pub(super) fn reconnect(&mut self, subject: &PlannedInstance) {
        if self.lost_relationships(subject).is_empty() {
            return;
        }
        let target = StepTarget::Node(subject.name.clone());
        let sequence = StepSequence {
            group: Some(self.open_group(target, "deploy", None)),
            reason: Some(Reason::Missing),
            workflow: "deploy".into(),
        };
        self.establish_lost(subject, &sequence);
    }

    /// Adds the operations that establish what a teardown took away.
    pub(super) fn establish_lost(&mut self, subject: &PlannedInstance, sequence: &StepSequence) {
        let lost = self.lost_relationships(subject);
        for (operation, incoming) in ESTABLISHING_OPERATIONS {
            for (target, operations, _) in lost.iter().filter(|lost| lost.2 == incoming) {
                let reference = OperationRef::new("Configure", operation);
                let state = Some(NodeState::Configuring);
                self.implemented(target.clone(), operations, sequence, reference, state);
            }
        }
    }

    /// The relationships of an instance that are absent and have operations for its turn; whether
    /// each points at it.
    fn lost_relationships(
        &self,
        subject: &PlannedInstance,
    ) -> Vec<(StepTarget, Arc<Operations>, bool)> {
        let own = Self::own_relationships(subject).map(|(target, place)| {
            let relationship = &subject.template.requirements[place].relationship;
            (target, Arc::clone(&relationship.operations), false)
        });
        let others = self.incoming_relationships(subject).into_iter();
        let all = own.chain(others.map(|(target, operations)| (target, operations, true)));
        all.filter(|(target, operations, incoming)| {
            let here = ESTABLISHING_OPERATIONS
                .iter()
                .filter(|(_, target)| target == incoming);
            let mut names = here.map(|(operation, _)| *operation);
            self.relationship_status(target) == Some(Status::Absent)
                && names.any(|operation| operations.implemented("Configure", operation))
        })
        .collect()
    }
}
