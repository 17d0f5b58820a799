//! What of the bring-up of an instance that works is done again.

use super::operation::find_operation;
use super::planner::{Planner, Subject};
use super::sequence::Sequence;
use super::step::{Reason, Target};
use crate::name::{NodeState, Status};

impl Planner<'_> {
    /// Adds what must be done again of an instance, where that is more than `configure`: from
    /// `create` on, or `configure` if that has changed, and `start`. Says whether it did.
    ///
    /// Upstream compares `configure` only, so that what does not change leaves no trace here.
    pub(super) fn repeat(&mut self, subject: &Subject) -> bool {
        if !subject.status.is_some_and(Status::is_operational) {
            return false;
        }
        let creates = self.must_repeat(subject, "create");
        if !creates && !self.must_repeat(subject, "start") {
            return false;
        }
        let target = Target::Node(subject.name.clone());
        let sequence = Sequence {
            group: Some(self.open(target, "deploy", None)),
            reason: Some(Reason::Reconfigure),
            workflow: "deploy".into(),
        };
        let all = [
            ("create", NodeState::Creating),
            ("configure", NodeState::Configuring),
            ("start", NodeState::Starting),
        ];
        for (operation, state) in all.into_iter().skip(usize::from(!creates)) {
            let step = self.plan.steps.len();
            let added = self.operation(subject, &sequence, "Standard", operation, Some(state));
            if added && (creates || operation == "start") {
                self.plan.decided.insert(step);
            }
        }
        true
    }

    fn must_repeat(&self, subject: &Subject, name: &str) -> bool {
        let (operations, dry_run) = (&subject.template.operations, self.goal.dry_run);
        let operation = find_operation(operations, "Standard", name, dry_run);
        let pair = subject.handle.zip(operation);
        pair.is_some_and(|(handle, operation)| self.repeats.must_repeat(handle, &operation))
    }
}
