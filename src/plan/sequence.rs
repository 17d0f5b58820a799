//! The declarative workflows: which operations bring an instance to a status (rules 14 to 17).

use std::sync::Arc;

use super::goal::{Goal, Workflow};
use super::operation::{entry_state, find_operation};
use super::planner::{Planner, Subject};
use super::step::{Activity, GroupId, Reason, Step, Target};
use crate::name::{NodeState, OperationRef, Status};
use crate::tosca::{Operation, Operations};

/// Where the steps of a sequence go, and what they share.
#[derive(Debug, Clone)]
pub(super) struct Sequence {
    pub(super) group: Option<GroupId>,
    pub(super) reason: Option<Reason>,
    pub(super) workflow: Arc<str>,
}

impl Planner<'_> {
    /// Adds the steps that a workflow needs for one instance.
    pub(super) fn generate(&mut self, subject: &Subject, reason: Option<Reason>, workflow: &str) {
        if self.generate_custom(subject, workflow) {
            return;
        }
        let target = Target::Node(subject.name.clone());
        let group = (workflow != "check").then(|| self.open(target, workflow, None));
        let sequence = Sequence {
            group,
            reason,
            workflow: workflow.into(),
        };
        self.declarative(subject, &sequence);
    }

    /// Adds the steps of a declarative workflow to a group.
    pub(super) fn declarative(&mut self, subject: &Subject, sequence: &Sequence) -> bool {
        match &*sequence.workflow {
            "deploy" => self.bring_up(subject, sequence),
            "undeploy" | "stop" => self.take_down(subject, sequence),
            "check" | "discover" | "connect" => self.install(subject, sequence),
            _ => return false,
        }
        true
    }

    fn bring_up(&mut self, subject: &Subject, sequence: &Sequence) {
        let status = subject.status.unwrap_or(Status::Unknown);
        let state = self.state(subject);
        let force = self.goal.force;
        // What was stopped is started; where it cannot be, it is made anew.
        let stopped = state == Some(NodeState::Stopped);
        let restarts = stopped && subject.template.operations.implemented("Standard", "start");
        let missing = matches!(status, Status::Unknown | Status::Absent | Status::Pending);
        let missing = missing && !restarts;
        // What was deleted begins anew: what configured it then is gone with it.
        let ended = matches!(state, Some(NodeState::Deleting | NodeState::Deleted));
        let gone = missing && (ended || stopped);
        let mut initial = gone || state.is_none_or(|state| state == NodeState::Creating);
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
        if initial || unconfigured || (force && !started) || status == Status::Error {
            self.configure(subject, sequence);
        } else {
            self.establish_lost(subject, sequence);
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

    fn configure(&mut self, subject: &Subject, sequence: &Sequence) {
        let state = Some(NodeState::Configuring);
        self.incoming(subject, sequence, "pre_configure_target", state);
        self.outgoing(subject, sequence, "pre_configure_source", state);
        self.operation(subject, sequence, "Standard", "configure", state);
        self.outgoing(subject, sequence, "post_configure_source", state);
        self.incoming(subject, sequence, "post_configure_target", state);
    }

    fn take_down(&mut self, subject: &Subject, sequence: &Sequence) {
        let running = match self.state(subject) {
            Some(NodeState::Starting | NodeState::Started) => true,
            // One that was configured again while it ran still runs.
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
        if self.is_created(subject) || self.was_begun(subject) || self.goal.removal.unmanaged {
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

    fn install(&mut self, subject: &Subject, sequence: &Sequence) {
        let operation = Arc::clone(&sequence.workflow);
        self.operation(subject, sequence, "Install", &operation, None);
        if &*operation != "check" {
            self.outgoing(subject, sequence, "add_source", None);
            self.incoming(subject, sequence, "add_target", None);
        }
    }

    /// Adds one operation of the instance itself; says whether it is implemented.
    pub(super) fn operation(
        &mut self,
        subject: &Subject,
        sequence: &Sequence,
        interface: &str,
        operation: &str,
        state: Option<NodeState>,
    ) -> bool {
        let operations = Arc::clone(&subject.template.operations);
        let target = Target::Node(subject.name.clone());
        self.implemented(
            target,
            &operations,
            sequence,
            OperationRef::new(interface, operation),
            state,
        )
    }

    /// Adds an operation of each relationship that the instance is the source of.
    fn outgoing(
        &mut self,
        subject: &Subject,
        sequence: &Sequence,
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

    /// Adds an operation of each relationship that points at the instance.
    fn incoming(
        &mut self,
        subject: &Subject,
        sequence: &Sequence,
        operation: &str,
        state: Option<NodeState>,
    ) {
        for (target, operations) in self.incoming_relationships(subject) {
            let reference = OperationRef::new("Configure", operation);
            self.implemented(target, &operations, sequence, reference, state);
        }
    }

    /// The relationships that point at an instance, with their operations. A template that is left
    /// out, or new to a teardown, has none.
    pub(super) fn incoming_relationships(
        &self,
        subject: &Subject,
    ) -> Vec<(Target, Arc<Operations>)> {
        let sources = self.topology.templates_requiring(&subject.template.name);
        let all = sources.iter().flat_map(|(source, place)| {
            let template = self.topology.template().nodes.get(source);
            let relationship = template.map(|it| &it.requirements[*place].relationship);
            let names = self.present_or_coming(source).into_iter();
            names
                .zip(std::iter::repeat(relationship))
                .filter_map(|(source, relationship)| {
                    let place = *place;
                    let operations = Arc::clone(&relationship?.operations);
                    Some((Target::Relationship { source, place }, operations))
                })
        });
        all.collect()
    }

    pub(super) fn implemented(
        &mut self,
        target: Target,
        operations: &Operations,
        sequence: &Sequence,
        reference: OperationRef,
        start_state: Option<NodeState>,
    ) -> bool {
        let (interface, name) = (reference.interface.as_str(), reference.operation.as_str());
        let Some(operation) = find_operation(operations, interface, name, self.goal.dry_run) else {
            return false;
        };
        let deploys = &*sequence.workflow == "deploy" && !self.goal.force;
        // What is established needs nothing once its target is there, which comes before.
        let established = deploys && self.local_of(&target) == Some(Status::Ok);
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
        let step = Step {
            start_state,
            is_final,
            ..step_of(target, reference, operation, reason)
        };
        self.push(step, sequence.group);
        true
    }

    /// The own status of a relationship that exists.
    pub(super) fn local_of(&self, target: &Target) -> Option<Status> {
        let Target::Relationship { source, place } = target else {
            return None;
        };
        let node = self.topology.find(source.as_str())?;
        let node = self.topology.entity(node).node()?;
        let relationship = node.requirements.get(*place)?;
        self.topology.entity(*relationship).local
    }

    fn admits_target(&self, target: &Target) -> bool {
        match target {
            Target::Node(name) => self.goal.admits(name),
            // Relationships are named after their requirement, which no filter can mean.
            Target::Relationship { source, .. } => {
                self.goal.instances.is_empty() && !self.goal.excludes(source.as_str())
            }
        }
    }

    /// Adds a step for an operation that the caller found.
    pub(super) fn push_operation(
        &mut self,
        target: Target,
        operation: Arc<Operation>,
        reason: Reason,
        group: Option<GroupId>,
    ) {
        let reference = operation.reference.clone();
        let step = Step {
            group,
            ..step_of(target, reference, operation, reason)
        };
        self.push(step, group);
    }
}

/// A step for an operation, alone and not final.
fn step_of(
    target: Target,
    reference: OperationRef,
    operation: Arc<Operation>,
    reason: Reason,
) -> Step {
    Step {
        target,
        reason,
        start_state: entry_state(&operation),
        activity: Activity::Operation {
            reference,
            operation,
        },
        group: None,
        is_final: false,
        critical: false,
    }
}

/// Whether an operation is the last one implemented of those that complete a workflow.
fn is_last(workflow: &str, goal: &Goal, operations: &Operations, of: &OperationRef) -> bool {
    let undeploys =
        matches!(goal.workflow, Workflow::Undeploy | Workflow::Stop) || workflow == "undeploy";
    let order: &[&str] = match (of.interface.as_str(), undeploys) {
        ("Standard", false) if goal.workflow == Workflow::Deploy => {
            &["create", "configure", "start"]
        }
        ("Standard", true) if goal.workflow == Workflow::Stop => &["stop"],
        ("Standard", true) => &["stop", "delete"],
        // Which of them comes last depends on which ends take part: the job finds out.
        ("Configure", false) if goal.workflow == Workflow::Deploy => {
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
