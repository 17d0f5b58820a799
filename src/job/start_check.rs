//! Start checks: decides whether a due task may start (rule U-g, 5).

use super::engine::Engine;
use super::schedule::Steps as _;
use super::task::{Task, TaskIndex};
use crate::name::{NodeState, Priority, Status};
use crate::plan::{Reason, WorkflowKind};
use crate::topology::{Creator, EntityKind};
use crate::value::Handle;

/// The decision about a due task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StartDecision {
    Start,
    /// The task need not run, for this reason.
    Pass(String),
}

/// The level that the dependencies of an entity must have reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DependencyLevel {
    /// Their own status is `ok` or `degraded`, or they have no operations.
    Ready,
    /// Their effective status is `ok` or `degraded`.
    Operational,
    /// They have entered a node state.
    Entered(NodeState),
}

impl Engine {
    /// Decides whether the target still needs the operation, because other tasks may have advanced it
    /// meanwhile.
    pub(super) fn decide_start(&mut self, index: TaskIndex) -> StartDecision {
        if let Some(why) = self.already_done_reason(index) {
            return StartDecision::Pass(why.to_owned());
        }
        let task = &self.ledger.tasks[index].spec;
        if self.options.goal.force || self.options.goal.drift {
            return StartDecision::Start;
        }
        let workflow = task
            .group
            .map(|group| self.plan.groups[group].workflow.clone());
        let entity = self.topology.entity(task.target);
        let operation = task.reference.operation.as_str();
        if operation == "check" {
            let missing = self.unmet_dependencies(task.target, DependencyLevel::Operational);
            if !missing.is_empty() {
                return StartDecision::Pass(self.describe_unmet(&missing, "operational"));
            }
            if workflow.is_none() {
                return self.decide_check(index);
            }
        } else if operation == "restart" && !entity.local.is_some_and(Status::is_present) {
            return StartDecision::Pass("instance can't be restart".to_owned());
        }
        // The instance exists and is configured again.
        if task.reason == Reason::Reconfigure {
            return StartDecision::Start;
        }
        // The planner has chosen the operations that repair a degraded instance, whatever state it has entered.
        let is_degraded = self.topology.entity(task.target).local == Some(Status::Degraded);
        if task.reason == Reason::Degraded && is_degraded {
            return StartDecision::Start;
        }
        let desired = workflow.as_deref().and_then(WorkflowKind::success_status);
        if desired.is_some() && desired == Some(self.topology.effective(task.target)) {
            return StartDecision::Pass("instance already has desired status".to_owned());
        }
        if workflow.as_deref() == Some("deploy") {
            self.decide_by_state(index)
        } else {
            StartDecision::Start
        }
    }

    /// Decides about a check. An instance that cannot exist yet is not checked.
    fn decide_check(&mut self, index: TaskIndex) -> StartDecision {
        let target = self.ledger.tasks[index].spec.target;
        let parent = self.topology.entity(target).parent;
        let created = parent.and_then(|parent| self.topology.entity(parent).created.clone());
        let prefix = self
            .id()
            .map(|id| id.prefix().to_owned())
            .unwrap_or_default();
        if let Some(Creator::Task(id)) = created
            && id.prefix() == prefix
        {
            self.topology_mut().set_local(target, Some(Status::Pending));
            return StartDecision::Pass("skipping check on a new instance".to_owned());
        }
        StartDecision::Start
    }

    fn decide_by_state(&self, index: TaskIndex) -> StartDecision {
        let task = &self.ledger.tasks[index].spec;
        let state = self.topology.entity(task.target).state;
        let (Some(start), Some(state)) = (task.start_state, state) else {
            return StartDecision::Start;
        };
        if state > NodeState::Started {
            let starts = task.reference.operation.as_str() == "start";
            if starts && state > NodeState::Stopped && !self.has_only_start(task.target) {
                return StartDecision::Pass("can't start a missing instance".to_owned());
            }
        } else if start.next().is_some_and(|entered| state > entered) {
            return StartDecision::Pass("instance already entered state".to_owned());
        }
        StartDecision::Start
    }

    /// Whether `start` is the only operation that creates an instance.
    fn has_only_start(&self, instance: Handle) -> bool {
        let node = self.topology.entity(instance).node();
        node.is_some_and(|node| {
            let operations = &node.template.operations;
            let mut creating = ["create", "configure"].into_iter();
            !creating.any(|operation| operations.implemented("Standard", operation))
        })
    }

    /// Returns a message about unmet dependencies of a task. None if it can run.
    pub(super) fn blocking_reason(&self, index: TaskIndex) -> Option<String> {
        let Task {
            spec: task, reads, ..
        } = &self.ledger.tasks[index];
        let steps = self.job_steps();
        let operation = task.reference.operation.as_str();
        if self.options.goal.drift
            || matches!(operation, "check" | "delete")
            || matches!(task.reason, Reason::Force | Reason::Run)
        {
            return None;
        }
        let live = reads
            .dependencies
            .iter()
            .filter(|(_, dependency)| dependency.live);
        // Operations of relationships run while their ends are not complete yet.
        let turn = task.step.map(|step| steps.instance(step));
        let turn = turn.filter(|turn| *turn != task.target);
        // An artifact is installed for its owner, which is not complete yet.
        let turn = turn.or_else(|| self.topology.owner_of_artifact(task.target));
        let live = live.map(|((of, _), _)| *of);
        // Values that a removal reads from other instances are on record, even if those were removed
        // before.
        let removes = task.step.is_some_and(|step| steps.removes(step));
        let live = live.filter(|of| !removes && *of != task.target && Some(*of) != turn);
        let mut missing: Vec<Handle> = live
            .filter(|of| {
                let entity = self.topology.entity(*of);
                !entity.computed && !is_ready(entity.local)
            })
            .collect();
        missing.sort_unstable();
        missing.dedup();
        if !missing.is_empty() {
            return Some(self.describe_unmet(&missing, "ready"));
        }
        let entered = task.operation.entry_state.as_deref();
        let need = entered
            .and_then(NodeState::parse)
            .map_or(DependencyLevel::Ready, DependencyLevel::Entered);
        let missing = self.unmet_dependencies(task.target, need);
        let missing: Vec<_> = missing
            .into_iter()
            .filter(|other| {
                let (scheduler, target) = (&self.scheduler, task.target);
                Some(*other) != turn && !scheduler.instance_waits_on(*other, target, &steps)
            })
            .collect();
        let state = match need {
            DependencyLevel::Entered(state) => state.as_str(),
            DependencyLevel::Ready | DependencyLevel::Operational => "ready",
        };
        (!missing.is_empty()).then(|| self.describe_unmet(&missing, state))
    }

    /// Returns the required dependencies of an entity that have not reached a level.
    ///
    /// A relationship needs its target to be operational but not ready: operations that connect the two
    /// may come before the target's own.
    fn unmet_dependencies(&self, of: Handle, need: DependencyLevel) -> Vec<Handle> {
        if self.topology.entity(of).is_relationship() && need != DependencyLevel::Operational {
            return Vec::new();
        }
        let ends = self
            .topology
            .operational_dependencies(of)
            .into_iter()
            .filter_map(|handle| match self.topology.entity(handle).kind {
                EntityKind::Relationship { .. } => self.topology.target_of(handle),
                _ => Some(handle),
            });
        let required = ends.filter(|end| self.topology.priority(*end) == Priority::Required);
        required
            .filter(|end| {
                let entity = self.topology.entity(*end);
                if entity.local == Some(Status::Error) {
                    true
                } else {
                    match need {
                        DependencyLevel::Entered(state) => {
                            !entity.state.is_some_and(|at| at.has_passed(state))
                        }
                        DependencyLevel::Operational => !self.topology.is_operational(*end),
                        DependencyLevel::Ready => !entity.computed && !is_ready(entity.local),
                    }
                }
            })
            .collect()
    }

    fn describe_unmet(&self, missing: &[Handle], ready: &str) -> String {
        let words: Vec<String> = missing
            .iter()
            .map(|handle| {
                let name = &self.topology.entity(*handle).name;
                match self.topology.effective(*handle) {
                    Status::Pending => format!("{name} is not created yet"),
                    status => format!("{name} is {status}"),
                }
            })
            .collect();
        format!("required dependencies not {ready}: {}", words.join(", "))
    }
}

fn is_ready(local: Option<Status>) -> bool {
    matches!(local, Some(Status::Ok | Status::Degraded))
}
