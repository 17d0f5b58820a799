//! Reconnecting: restores relationships that a teardown of the other end removed from a remaining
//! instance.

use std::sync::Arc;

use super::planner::{PlannedInstance, Planner};
use super::sequence::StepSequence;
use super::step::{Reason, StepTarget};
use crate::name::{NodeState, OperationRef, Status};
use crate::tosca::Operations;

/// The operations that establish a relationship, in order, each with whether it runs with the target
/// (true) or the source (false).
const ESTABLISHING_OPERATIONS: [(&str, bool); 4] = [
    ("pre_configure_target", true),
    ("pre_configure_source", false),
    ("post_configure_source", false),
    ("post_configure_target", true),
];

impl Planner<'_> {
    /// Restores lost relationships of an instance that needs nothing else. Their other end may be newly
    /// created.
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
        self.restore_lost(subject, &sequence);
    }

    /// Adds the operations that restore lost relationships.
    pub(super) fn restore_lost(&mut self, subject: &PlannedInstance, sequence: &StepSequence) {
        let lost = self.lost_relationships(subject);
        for (operation, incoming) in ESTABLISHING_OPERATIONS {
            for (target, operations, _) in lost.iter().filter(|lost| lost.2 == incoming) {
                let reference = OperationRef::new("Configure", operation);
                let state = Some(NodeState::Configuring);
                self.implemented(target.clone(), operations, sequence, reference, state);
            }
        }
    }

    /// Returns the absent relationships of an instance that have operations for it to run, each with
    /// whether it points at the instance.
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
