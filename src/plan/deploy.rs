//! Deploy: which instances take part, and why (rules 7 to 13).

use super::goal::{ChangeDetection, Repair};
use super::no_action::NoActionReason;
use super::operation::find_operation;
use super::planner::{PlannedInstance, Planner};
use super::sequence::StepSequence;
use super::step::{Reason, StepTarget};
use crate::name::{NodeState, Priority, Status};
use crate::topology::Entity;

impl Planner<'_> {
    pub(super) fn deploy(&mut self, subject: &PlannedInstance, exists: bool) {
        let is_imported = self
            .entity(subject)
            .and_then(|entity| entity.node())
            .is_some_and(|node| node.imported.is_some());
        let reason = if is_imported {
            Reason::Connect
        } else if !exists {
            Reason::Add
        } else {
            match self.deploy_reason(subject) {
                Ok(reason) => reason,
                Err(why) => return self.note_no_action(subject, why),
            }
        };
        let subject = &self.with_planned_status(subject);
        if let Some(operation) = self.install_operation(subject, is_imported) {
            let reason = Reason::Workflow(operation.into());
            self.plan_workflow(subject, Some(reason), operation);
            if is_imported || subject.template.has_directive("discover") {
                return;
            }
        }
        if matches!(reason, Reason::Reconfigure | Reason::Upgrade) {
            self.reconnect(subject);
            self.reconfigure(subject, reason);
        } else if reason != Reason::Degraded || !self.plan_repair(subject) {
            self.plan_workflow(subject, Some(reason), "deploy");
        }
    }

    /// Returns why an existing instance is part of a deploy, or why it is not (rule 9).
    fn deploy_reason(&mut self, subject: &PlannedInstance) -> Result<Reason, NoActionReason> {
        if self.goal.force {
            return Ok(Reason::Force);
        }
        let entity = self.entity(subject).ok_or(NoActionReason::NeverChanged)?;
        let status = subject.status.unwrap_or(Status::Unknown);
        if let Some(reason) = self.doubt_reason(subject, &["check"]) {
            return Ok(reason);
        }
        if !self.goal.skip_new && status != Status::Ok {
            if entity.last_change().is_none() {
                return Ok(Reason::Add);
            }
            if matches!(status, Status::Unknown | Status::Pending | Status::Absent) {
                return Ok(Reason::Missing);
            }
        }
        if let Some(reason) = self.repair_reason(subject, status) {
            return Ok(reason);
        }
        if subject.template.has_directive("check") {
            self.plan
                .statuses
                .push((subject.name.clone(), Status::Unknown));
            return Ok(Reason::Check);
        }
        if status == Status::Pending && self.goal.check {
            return Ok(Reason::Check);
        }
        if self.goal.upgrade && entity.last_config_change.is_some() && !entity.is_managed() {
            // A change of properties is detected later, when they are evaluated.
            return Ok(Reason::Upgrade);
        }
        if self.compares(entity) && entity.last_config_change.is_some() {
            Ok(Reason::Reconfigure)
        } else {
            Err(NoActionReason::for_existing(entity, status, self.goal))
        }
    }

    /// Returns the reason to repeat an operation in doubt, if none of the operations named can determine
    /// the real state first.
    pub(super) fn doubt_reason(
        &self,
        subject: &PlannedInstance,
        finding: &[&str],
    ) -> Option<Reason> {
        let entity = self.entity(subject)?;
        entity.in_doubt.as_ref()?;
        let operations = &subject.template.operations;
        let can_find = finding
            .iter()
            .any(|name| operations.implemented("Install", name));
        (!can_find).then_some(Reason::InDoubt)
    }

    /// Whether the goal compares this instance with the model.
    fn compares(&self, entity: &Entity) -> bool {
        match self.goal.change_detection {
            ChangeDetection::Skip => false,
            ChangeDetection::Evaluate => entity.customized.is_none() && !entity.is_managed(),
            ChangeDetection::Always => true,
        }
    }

    /// Returns the reason to repair an existing instance, if there is one (rule 10).
    fn repair_reason(&self, subject: &PlannedInstance, status: Status) -> Option<Reason> {
        let required = subject
            .handle
            .is_some_and(|handle| self.topology.priority(handle) == Priority::Required);
        let status = match status {
            Status::Unknown | Status::Pending if required => Status::Error,
            other => other,
        };
        match (self.goal.repair, status) {
            (Repair::Degraded, Status::Degraded | Status::Error) => Some(Reason::Degraded),
            (Repair::Error, Status::Error) => Some(Reason::Repair),
            _ => None,
        }
    }

    /// Returns the subject with the status that it will have when its steps begin.
    fn with_planned_status(&self, subject: &PlannedInstance) -> PlannedInstance {
        let mut subject = subject.clone();
        if let Some((name, status)) = self.plan.statuses.last()
            && *name == subject.name
        {
            subject.status = Some(*status);
        }
        subject
    }

    fn install_operation(
        &self,
        subject: &PlannedInstance,
        is_imported: bool,
    ) -> Option<&'static str> {
        let status = subject.status.unwrap_or(Status::Unknown);
        let operational = subject
            .handle
            .is_some_and(|handle| self.topology.is_operational(handle));
        if is_imported {
            Some("connect")
        } else if status == Status::Unknown || (status == Status::Pending && self.goal.check) {
            Some("check")
        } else if subject.template.has_directive("discover") && !operational {
            Some("discover")
        } else {
            None
        }
    }

    /// Plans a single operation outside of any group (rule 12).
    fn reconfigure(&mut self, subject: &PlannedInstance, reason: Reason) {
        let is_found = subject.template.has_directive("discover");
        let compared = self.entity(subject).is_some_and(|it| self.compares(it));
        if !is_found && compared && self.plan_repeat(subject) {
            return;
        }
        let sequence = StepSequence {
            group: None,
            reason: Some(reason),
            workflow: "deploy".into(),
        };
        let planned = if is_found {
            self.operation(subject, &sequence, "Install", "discover", None)
        } else {
            let state = Some(NodeState::Configuring);
            self.operation(subject, &sequence, "Standard", "configure", state)
        };
        if !planned {
            self.note_no_action(subject, NoActionReason::NoOperation);
        }
    }
}

impl Planner<'_> {
    /// Plans the operations to repeat if more than `configure` must run: from `create` on, or `configure`
    /// (if changed) and `start`. Returns whether any were planned.
    ///
    /// Unfurl (Python) compares `configure` only. If nothing else changed, this function adds nothing and
    /// the plan is the same.
    pub(super) fn plan_repeat(&mut self, subject: &PlannedInstance) -> bool {
        if !subject.status.is_some_and(Status::is_operational) {
            return false;
        }
        let creates = self.must_repeat(subject, "create");
        if !creates && !self.must_repeat(subject, "start") {
            return false;
        }
        let target = StepTarget::Node(subject.name.clone());
        let sequence = StepSequence {
            group: Some(self.open_group(target, "deploy", None)),
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

    fn must_repeat(&self, subject: &PlannedInstance, name: &str) -> bool {
        let (operations, dry_run) = (&subject.template.operations, self.goal.dry_run);
        let operation = find_operation(operations, "Standard", name, dry_run);
        let handle_and_operation = subject.handle.zip(operation);
        handle_and_operation
            .is_some_and(|(handle, operation)| self.repeat_policy.must_repeat(handle, &operation))
    }
}
