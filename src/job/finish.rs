//! What the end of a task means for its target (§ (g), status update table).

use std::sync::Arc;

use super::engine::Engine;
use super::error::Error;
use super::event::{Event, Finished};
use super::observe::redacted;
use super::task::{Stage, Task, TaskIndex};
use crate::name::{ChangeId, NodeState, Priority, Status};
use crate::plan::{Reason, Workflow};
use crate::task::Outcome;
use crate::topology::Created;
use crate::value::{Map, Value};

impl Engine {
    /// Ends a task: gives it its id and updates the target.
    pub(super) fn finish(&mut self, index: TaskIndex, mut outcome: Outcome) -> Result<(), Error> {
        self.apply_updates(index, &mut outcome);
        self.apply_outputs(index, &mut outcome);
        self.finished += 1;
        let id = ChangeId::task(self.options.start, self.finished)?;
        let target = self.tasks[index].target;
        let on_record = self.topology.entity(target).last_change().is_some();
        self.touch_changed(index, id);
        let before = self.tasks[index].target_status;
        self.update_status(index, &outcome, id);
        self.find_relationships(index, id);
        let changed = self.update_last_change(index, &outcome, id);
        if on_record {
            self.note_state_change(index, id);
        }
        let local = self.topology.entity(target).local;
        let task = &mut self.tasks[index];
        task.id = Some(id);
        task.ended = Some(self.world.now());
        task.status = Some(if outcome.success {
            Status::Ok
        } else {
            Status::Error
        });
        task.changed = changed || before != local;
        task.errors.extend(outcome.errors.iter().cloned());
        if !outcome.success {
            task.errors.append(&mut outcome.notes);
        }
        task.outcome = Some(outcome);
        task.stage = Stage::Finished;
        if changed {
            self.set_customized(index, id);
        }
        self.tasks[index].target_status = local;
        self.tasks[index].target_state = self.topology.entity(target).state;
        Ok(())
    }

    /// Advances the node state after a task that ran, and tells that it has ended.
    pub(super) fn advance(&mut self, index: TaskIndex) {
        let task = &self.tasks[index];
        let (target, start) = (task.target, task.start_state);
        let entity = self.topology.entity(target);
        let success = task.status == Some(Status::Ok);
        if success && entity.state == task.before.0 {
            let is_check = task.reference.operation.as_str() == "check";
            let next = match start {
                Some(start) => start.next(),
                None if is_check && task.before.1 != entity.local => {
                    state_of_status(entity.local, entity.state).or(entity.state)
                }
                None => entity.state,
            };
            self.topology_mut().set_state(target, next);
        }
        self.tasks[index].target_state = self.topology.entity(target).state;
    }

    /// Notes the change on all entities that the task added or whose attributes or status it set.
    fn touch_changed(&mut self, index: TaskIndex, id: ChangeId) {
        let changed: Vec<_> = self.tasks[index]
            .changes
            .iter()
            .filter(|(_, changes)| !changes.is_empty())
            .map(|(of, _)| *of)
            .collect();
        for of in changed {
            self.topology_mut().set_last_config_change(of, id);
        }
    }

    fn update_status(&mut self, index: TaskIndex, outcome: &Outcome, id: ChangeId) {
        let task = &self.tasks[index];
        let (target, required) = (task.target, task.priority == Priority::Required);
        let asks = matches!(task.reference.operation.as_str(), "check" | "discover");
        let entity = self.topology.entity(target);
        let (new, is_relationship) = (entity.created.is_none(), entity.is_relationship());
        // What is found and was begun here is ours.
        let finds_other = asks && !entity.begun;
        let workflow = self.options.goal.workflow.as_str().to_owned();
        let topology = self.topology_mut();
        if let Some(status) = outcome.status {
            topology.set_local(target, Some(status));
            if status.is_present() && new && !finds_other {
                topology.set_created(target, Some(Created::By(id)));
            }
        } else if !outcome.success {
            match outcome.modified {
                Some(true) => {
                    let status = if required {
                        Status::Error
                    } else {
                        Status::Degraded
                    };
                    topology.set_local(target, Some(status));
                    if new {
                        topology.set_created(target, Some(Created::By(id)));
                    }
                }
                None => topology.set_local(target, Some(Status::Unknown)),
                Some(false) => {}
            }
        } else if outcome.modified == Some(true) && is_relationship {
            topology.set_local(target, Workflow::success_status(&workflow));
        }
    }

    /// Notes that a look at an instance has shown another state than the one on record.
    fn note_state_change(&mut self, index: TaskIndex, id: ChangeId) {
        let task = &self.tasks[index];
        let looks = task.reference.interface.as_str() == "Install"
            && matches!(task.reference.operation.as_str(), "check" | "discover");
        if !looks {
            return;
        }
        let target = task.target;
        let attributes = task.changes.iter();
        let mut seen: Vec<_> = attributes
            .filter(|(_, changes)| !changes.attributes.is_empty())
            .map(|(of, _)| *of)
            .collect();
        let before = self.recorded.get(&target).copied();
        if self.topology.entity(target).local != before.unwrap_or(task.target_status) {
            seen.push(target);
        }
        for of in seen {
            self.topology_mut()
                .record(of, |entity| entity.last_state_change = Some(id));
        }
    }

    /// What was found has its relationships, too: nothing will establish them.
    fn find_relationships(&mut self, index: TaskIndex, id: ChangeId) {
        let task = &self.tasks[index];
        let found = self.topology.entity(task.target);
        let finds = task.reference.operation.as_str() == "discover";
        let Some(node) = found
            .node()
            .filter(|_| finds && found.local == Some(Status::Ok))
        else {
            return;
        };
        for relationship in node.requirements.clone() {
            let it = self.topology.entity(relationship);
            if it.local == Some(Status::Pending) && !it.computed {
                let topology = self.topology_mut();
                topology.set_local(relationship, Some(Status::Ok));
                topology.set_last_config_change(relationship, id);
            }
        }
    }

    fn update_last_change(&mut self, index: TaskIndex, outcome: &Outcome, id: ChangeId) -> bool {
        let target = self.tasks[index].target;
        let last = self.topology.entity(target).last_change();
        if last.is_none() && self.topology.effective(target) != Status::Pending {
            self.topology_mut().set_last_config_change(target, id);
            return true;
        }
        let own = self.tasks[index].changes.get(&target);
        let attributes_changed = own.is_some_and(|changes| !changes.attributes.is_empty());
        if outcome.modified == Some(true) || attributes_changed {
            if last != Some(id) {
                self.tasks[index].previous = last;
            }
            self.topology_mut().set_last_config_change(target, id);
            return true;
        }
        false
    }

    /// A change by other than the life cycle that touches what `configure` depends on customises
    /// the target; a successful reconfigure clears that.
    fn set_customized(&mut self, index: TaskIndex, id: ChangeId) {
        let task = &self.tasks[index];
        let target = task.target;
        let entity = self.topology.entity(target);
        let customized = entity.customized.is_some();
        if task.reference.interface.as_str() != "Standard"
            && task.reference.operation.as_str() != "check"
            && !customized
        {
            let Some(last) = self.last_operation(target, "configure") else {
                return;
            };
            let mut changed = task.changes.iter().flat_map(|(of, changes)| {
                changes
                    .attributes
                    .keys()
                    .filter_map(|name| self.attribute_key(*of, name))
            });
            if changed.any(|key| last.digest_keys.contains(&key) || last.digest_put.contains(&key))
            {
                let value = Value::str(id.as_str());
                self.topology_mut()
                    .record(target, |entity| entity.customized = Some(value));
            }
        } else if matches!(task.reason, Reason::Reconfigure | Reason::Upgrade)
            && task.status == Some(Status::Ok)
            && customized
        {
            self.topology_mut()
                .record(target, |entity| entity.customized = None);
        }
    }

    /// Completes the workflow of a group whose last task succeeded.
    pub(super) fn finish_workflow(&mut self, index: TaskIndex) {
        let task = &self.tasks[index];
        let (Some(group), Some(id)) = (task.group, task.id) else {
            return;
        };
        if task.has_failed() {
            return;
        }
        let workflow = Arc::clone(&self.plan.groups[group].workflow);
        let explicit = task.outcome.as_ref().and_then(|outcome| outcome.status);
        if explicit.is_none() && Workflow::success_status(&workflow).is_none() {
            // The workflow brings its target to no status of its own.
            return;
        }
        let target = task.target;
        let entity = self.topology.entity(target);
        // What is there as soon as its ends are does not go before them.
        let stays = entity.computed && entity.is_relationship();
        let default = Workflow::success_status(&workflow).filter(|_| !stays);
        let status = explicit.or(default).or(entity.local);
        let last = self.topology.entity(target).last_change();
        if self.topology.entity(target).local != status {
            self.topology_mut().set_local(target, status);
            self.tasks[index].changed = true;
            self.tasks[index].target_status = status;
        }
        if last != Some(id) {
            self.tasks[index].previous = last;
        }
        self.topology_mut().set_last_config_change(target, id);
        let new = self.topology.entity(target).created.is_none();
        if &*workflow == "deploy" && status == Some(Status::Ok) && new {
            self.topology_mut()
                .set_created(target, Some(Created::By(id)));
        }
    }

    /// Tells journal and sinks that a task has ended.
    pub(super) fn tell_finished(&mut self, index: TaskIndex) {
        let task = &self.tasks[index];
        let changes: Map = task
            .changes
            .iter()
            .map(|(of, changes)| {
                (
                    self.topology.entity(*of).key.shared(),
                    redacted(&changes.attributes),
                )
            })
            .collect();
        let finished = Finished {
            task: index + 1,
            id: task.id.map(|id| id.to_string()).unwrap_or_default(),
            target: self.topology.entity(task.target).key.to_string(),
            operation: task.reference.to_string(),
            success: task.status == Some(Status::Ok),
            blocked: task.blocked,
            status: task.target_status.map(Status::as_str),
            state: task.target_state.map(NodeState::as_str),
            changes: Value::from(changes),
            errors: reasons(task),
        };
        self.events.push(Event::TaskFinished(Box::new(finished)));
    }
}

/// Why a task failed, in words: its errors, or else what it gave instead of a result.
fn reasons(task: &Task) -> Vec<String> {
    let outcome = task.outcome.as_ref().filter(|outcome| !outcome.success);
    let said = outcome.and_then(|outcome| outcome.result.as_ref()?.as_str());
    match said {
        Some(said) if task.errors.is_empty() => vec![said.to_owned()],
        _ => task.errors.clone(),
    }
}

/// The node state that a status found by a check stands for.
fn state_of_status(status: Option<Status>, state: Option<NodeState>) -> Option<NodeState> {
    Some(match status? {
        Status::Ok => NodeState::Started,
        Status::Error => NodeState::Error,
        Status::Absent if state.is_none_or(|state| state == NodeState::Initial) => {
            NodeState::Initial
        }
        Status::Absent => NodeState::Deleted,
        Status::Pending => NodeState::Initial,
        Status::Unknown | Status::Degraded => return None,
    })
}
