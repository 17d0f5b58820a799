//! Relationships that a teardown took away from instances that it left.

use std::sync::Arc;

use super::planner::{Planner, Subject};
use super::sequence::Sequence;
use super::step::{Reason, Target};
use crate::name::{NodeState, OperationRef, Status};
use crate::tosca::Operations;

/// The operations that establish a relationship, in order: those in its target's turn and those in
/// its source's.
const ESTABLISH: [(&str, bool); 4] = [
    ("pre_configure_target", true),
    ("pre_configure_source", false),
    ("post_configure_source", false),
    ("post_configure_target", true),
];

impl Planner<'_> {
    /// Establishes again what a teardown took away, where the instance itself needs nothing: its
    /// other end may be made anew.
    pub(super) fn reconnect(&mut self, subject: &Subject) {
        if self.lost(subject).is_empty() {
            return;
        }
        let target = Target::Node(subject.name.clone());
        let sequence = Sequence {
            group: Some(self.open(target, "deploy", None)),
            reason: Some(Reason::Missing),
            workflow: "deploy".into(),
        };
        self.establish_lost(subject, &sequence);
    }

    /// Adds the operations that establish what a teardown took away.
    pub(super) fn establish_lost(&mut self, subject: &Subject, sequence: &Sequence) {
        let lost = self.lost(subject);
        for (operation, incoming) in ESTABLISH {
            for (target, operations, _) in lost.iter().filter(|lost| lost.2 == incoming) {
                let reference = OperationRef::new("Configure", operation);
                let state = Some(NodeState::Configuring);
                self.implemented(target.clone(), operations, sequence, reference, state);
            }
        }
    }

    /// The relationships of an instance that are absent and have operations for its turn; whether
    /// each points at it.
    fn lost(&self, subject: &Subject) -> Vec<(Target, Arc<Operations>, bool)> {
        let own = Self::own_relationships(subject).map(|(target, place)| {
            let relationship = &subject.template.requirements[place].relationship;
            (target, Arc::clone(&relationship.operations), false)
        });
        let others = self.incoming_relationships(subject).into_iter();
        let all = own.chain(others.map(|(target, operations)| (target, operations, true)));
        all.filter(|(target, operations, incoming)| {
            let here = ESTABLISH.iter().filter(|(_, target)| target == incoming);
            let mut names = here.map(|(operation, _)| *operation);
            self.local_of(target) == Some(Status::Absent)
                && names.any(|operation| operations.implemented("Configure", operation))
        })
        .collect()
    }
}
