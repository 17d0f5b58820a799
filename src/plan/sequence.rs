//! The declarative workflows (deploy, undeploy, stop, check): which operations bring an instance to which
//! status (rules 14 to 17).

use std::sync::Arc;

use super::goal::{JobGoal, WorkflowKind};
use super::operation::{entry_state, find_operation};
use super::planner::{PlannedInstance, Planner};
use super::step::{GroupId, PlanStep, Reason, StepActivity, StepTarget};
use crate::name::{NodeState, OperationRef, Status};
use crate::tosca::{Operation, Operations};

/// The common properties of a sequence of steps: group, reason and workflow.
#[derive(Debug, Clone)]
pub(super) struct StepSequence {
    pub(super) group: Option<GroupId>,
    pub(super) reason: Option<Reason>,
    pub(super) workflow: Arc<str>,
}

impl Planner<'_> {
    /// Adds the steps that a workflow needs for one instance.
    pub(super) fn plan_workflow(
        &mut self,
        subject: &PlannedInstance,
        reason: Option<Reason>,
        workflow: &str,
    ) {
        if self.generate_custom(subject, workflow) {
            return;
        }
        let target = StepTarget::Node(subject.name.clone());
        let group = (workflow != "check").then(|| self.open_group(target, workflow, None));
        let sequence = StepSequence {
            group,
            reason,
            workflow: workflow.into(),
        };
        self.declarative(subject, &sequence);
    }

    /// Adds the steps of a declarative workflow to a group. Returns false if the workflow is not
    /// declarative.
    pub(super) fn declarative(
        &mut self,
        subject: &PlannedInstance,
        sequence: &StepSequence,
    ) -> bool {
        match &*sequence.workflow {
            "deploy" => self.bring_up(subject, sequence),
            "undeploy" | "stop" => self.take_down(subject, sequence),
            "check" | "discover" | "connect" => self.install(subject, sequence),
            _ => return false,
        }
        true
    }

    fn bring_up(&mut self, subject: &PlannedInstance, sequence: &StepSequence) {
        let status = subject.status.unwrap_or(Status::Unknown);
        let state = self.state(subject);
        let force = self.goal.force;
        // A stopped instance is started, or created again if it has no `start` operation.
        let stopped = state == Some(NodeState::Stopped);
        let restarts = stopped && subject.template.operations.implemented("Standard", "start");
        let missing = matches!(status, Status::Unknown | Status::Absent | Status::Pending);
        let missing = missing && !restarts;
        // A deleted instance starts from scratch, because its configuration was deleted with it.
        let was_deleted = matches!(state, Some(NodeState::Deleting | NodeState::Deleted));
        let was_removed = missing && (was_deleted || stopped);
        let mut initial = was_removed || state.is_none_or(|state| state == NodeState::Creating);
        if missing || force || (status == Status::Error && initial) {
            let created = self.operation(
                subject,
                sequence,
                "Standard",
                "create",
                Some(NodeState::Creating),
            );
            initial |= !created;
        }
        let unconfigured = state.is_none_or(|state| state < NodeState::Configured);
        let started = state == Some(NodeState::Started);
        let is_repaired = status == Status::Degraded && sequence.reason == Some(Reason::Degraded);
        let repairs = status == Status::Error || is_repaired;
        if initial || unconfigured || (force && !started) || repairs {
            self.configure(subject, sequence);
        } else {
            self.restore_lost(subject, sequence);
        }
        if initial || !started || force {
            self.operation(
                subject,
                sequence,
                "Standard",
                "start",
                Some(NodeState::Starting),
            );
        }
    }

    pub(super) fn configure(&mut self, subject: &PlannedInstance, sequence: &StepSequence) {
        let state = Some(NodeState::Configuring);
        self.incoming(subject, sequence, "pre_configure_target", state);
        self.outgoing(subject, sequence, "pre_configure_source", state);
        self.operation(subject, sequence, "Standard", "configure", state);
        self.outgoing(subject, sequence, "post_configure_source", state);
        self.incoming(subject, sequence, "post_configure_target", state);
    }

    fn take_down(&mut self, subject: &PlannedInstance, sequence: &StepSequence) {
        let running = match self.state(subject) {
            Some(NodeState::Starting | NodeState::Started) => true,
            // An instance that was reconfigured while running is still running.
            Some(NodeState::Configuring | NodeState::Configured) => {
                let operations = &subject.template.operations;
                subject.status.is_some_and(Status::is_operational)
                    && operations.implemented("Standard", "start")
            }
            _ => false,
        };
        let only_stop = &*sequence.workflow == "stop";
        let entity = self.entity(subject);
        let doubt =
            entity.is_some_and(|it| it.in_doubt.as_ref().is_some_and(|doubt| *doubt == "stop"));
        if running || doubt || only_stop {
            self.operation(
                subject,
                sequence,
                "Standard",
                "stop",
                Some(NodeState::Stopping),
            );
        }
        if only_stop {
            return;
        }
        self.incoming(
            subject,
            sequence,
            "remove_target",
            Some(NodeState::Configuring),
        );
        self.outgoing(
            subject,
            sequence,
            "remove_source",
            Some(NodeState::Configuring),
        );
        if self.is_created(subject)
            || self.is_partially_created(subject)
            || self.goal.removal.unmanaged
        {
            self.operation(
                subject,
                sequence,
                "Standard",
                "delete",
                Some(NodeState::Deleting),
            );
        } else {
            self.operation(subject, sequence, "Install", "revert", None);
        }
    }

    fn install(&mut self, subject: &PlannedInstance, sequence: &StepSequence) {
        let operation = Arc::clone(&sequence.workflow);
        self.operation(subject, sequence, "Install", &operation, None);
        if &*operation != "check" {
            self.outgoing(subject, sequence, "add_source", None);
            self.incoming(subject, sequence, "add_target", None);
        }
    }

    /// Adds one operation of the instance itself. Returns whether it is implemented and part of the plan.
    pub(super) fn operation(
        &mut self,
        subject: &PlannedInstance,
        sequence: &StepSequence,
        interface: &str,
        operation: &str,
        state: Option<NodeState>,
    ) -> bool {
        let operations = Arc::clone(&subject.template.operations);
        let target = StepTarget::Node(subject.name.clone());
        self.implemented(
            target,
            &operations,
            sequence,
            OperationRef::new(interface, operation),
            state,
        )
    }

    /// Adds an operation for each relationship whose source is the instance.
    fn outgoing(
        &mut self,
        subject: &PlannedInstance,
        sequence: &StepSequence,
        operation: &str,
        state: Option<NodeState>,
    ) {
        for (target, place) in Self::own_relationships(subject) {
            let relationship = &subject.template.requirements[place].relationship;
            let operations = Arc::clone(&relationship.operations);
            let reference = OperationRef::new("Configure", operation);
            self.implemented(target, &operations, sequence, reference, state);
        }
    }

    /// Adds an operation for each relationship that points at the instance.
    fn incoming(
        &mut self,
        subject: &PlannedInstance,
        sequence: &StepSequence,
        operation: &str,
        state: Option<NodeState>,
    ) {
        for (target, operations) in self.incoming_relationships(subject) {
            let reference = OperationRef::new("Configure", operation);
            self.implemented(target, &operations, sequence, reference, state);
        }
    }

    /// Returns the relationships that point at an instance, with their operations.
    ///
    /// Excluded templates, and templates without instances during a teardown, contribute none.
    pub(super) fn incoming_relationships(
        &self,
        subject: &PlannedInstance,
    ) -> Vec<(StepTarget, Arc<Operations>)> {
        let sources = self.topology.templates_requiring(&subject.template.name);
        let all = sources.iter().flat_map(|(source, place)| {
            let template = self.topology.template().nodes.get(source);
            let relationship = template.map(|it| &it.requirements[*place].relationship);
            let names = self.present_or_planned(source).into_iter();
            names
                .zip(std::iter::repeat(relationship))
                .filter_map(|(source, relationship)| {
                    let place = *place;
                    let operations = Arc::clone(&relationship?.operations);
                    Some((
                        StepTarget::Relationship {
                            source,
                            requirement_index: place,
                        },
                        operations,
                    ))
                })
        });
        all.collect()
    }

    pub(super) fn implemented(
        &mut self,
        target: StepTarget,
        operations: &Operations,
        sequence: &StepSequence,
        reference: OperationRef,
        start_state: Option<NodeState>,
    ) -> bool {
        let (interface, name) = (reference.interface.as_str(), reference.operation.as_str());
        let Some(operation) = find_operation(operations, interface, name, self.goal.dry_run) else {
            return false;
        };
        let deploys = &*sequence.workflow == "deploy" && !self.goal.force;
        // An established relationship needs nothing once its target exists, and the target comes first.
        let established = deploys && self.relationship_status(&target) == Some(Status::Ok);
        if !self.admits_target(&target) || established {
            return false;
        }
        let is_final = is_last(&sequence.workflow, self.goal, operations, &reference);
        let reason = sequence
            .reason
            .clone()
            .unwrap_or_else(|| Reason::Workflow(name.into()));
        let start_state = start_state.or(entry_state(&operation));
        let is_final = is_final && sequence.group.is_some();
        let step = PlanStep {
            start_state,
            is_final,
            ..step_of(target, reference, operation, reason)
        };
        self.push_step(step, sequence.group);
        true
    }

    /// Returns the own status of an existing relationship.
    pub(super) fn relationship_status(&self, target: &StepTarget) -> Option<Status> {
        let StepTarget::Relationship {
            source,
            requirement_index: place,
        } = target
        else {
            return None;
        };
        let node = self.topology.find(source.as_str())?;
        let node = self.topology.entity(node).node()?;
        let relationship = node.requirements.get(*place)?;
        self.topology.entity(*relationship).local
    }

    fn admits_target(&self, target: &StepTarget) -> bool {
        match target {
            StepTarget::Node(name) => self.goal.admits(name),
            // Relationships are named after their requirement, so no filter can name them.
            StepTarget::Relationship { source, .. } => {
                self.goal.instances.is_empty() && !self.goal.excludes(source.as_str())
            }
        }
    }

    /// Adds a step for an operation that the caller has found.
    pub(super) fn push_operation(
        &mut self,
        target: StepTarget,
        operation: Arc<Operation>,
        reason: Reason,
        group: Option<GroupId>,
    ) {
        let reference = operation.reference.clone();
        let step = PlanStep {
            group,
            ..step_of(target, reference, operation, reason)
        };
        self.push_step(step, group);
    }
}

/// Returns a step for an operation, without a group and not final.
fn step_of(
    target: StepTarget,
    reference: OperationRef,
    operation: Arc<Operation>,
    reason: Reason,
) -> PlanStep {
    PlanStep {
        target,
        reason,
        start_state: entry_state(&operation),
        activity: StepActivity::Operation {
            reference,
            operation,
        },
        group: None,
        is_final: false,
        critical: false,
    }
}

/// Whether an operation is the last implemented one of those that complete a workflow.
fn is_last(workflow: &str, goal: &JobGoal, operations: &Operations, of: &OperationRef) -> bool {
    let undeploys = matches!(goal.workflow, WorkflowKind::Undeploy | WorkflowKind::Stop)
        || workflow == "undeploy";
    let order: &[&str] = match (of.interface.as_str(), undeploys) {
        ("Standard", false) if goal.workflow == WorkflowKind::Deploy => {
            &["create", "configure", "start"]
        }
        ("Standard", true) if goal.workflow == WorkflowKind::Stop => &["stop"],
        ("Standard", true) => &["stop", "delete"],
        // The last one depends on which ends take part. The job determines it.
        ("Configure", false) if goal.workflow == WorkflowKind::Deploy => {
            return of.operation.as_str().contains("_configure_");
        }
        ("Configure", true) => return of.operation.as_str().starts_with("remove_"),
        _ => return false,
    };
    let interface = of.interface.as_str();
    let last = order
        .iter()
        .rev()
        .find(|name| operations.implemented(interface, name));
    last.is_some_and(|last| *last == of.operation.as_str())
}
