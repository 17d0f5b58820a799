//! The effects of a finished task on its target: status, node state and change ids (rule U-g, status
//! update table).

use std::sync::Arc;

use super::engine::Engine;
use super::event::Error;
use super::event::{JobEvent, LogLevel};
use super::task::{TargetState, TaskIndex};
use super::task_stage::{FinishedTask, TaskStage};
use crate::name::{ChangeId, NodeState, Priority, Status};
use crate::plan::{Reason, StepId, WorkflowKind};
use crate::task::{SavedPlan, TaskOutcome};
use crate::topology::Creator;
use crate::value::Value;

impl Engine {
    /// Finishes a task: assigns its id and updates the target.
    pub(super) fn finish(&mut self, index: TaskIndex, outcome: TaskOutcome) -> Result<(), Error> {
        self.record_task_end(index, outcome, false)
    }

    /// Finishes a task that never ran because a dependency has failed.
    pub(super) fn finish_blocked(
        &mut self,
        index: TaskIndex,
        outcome: TaskOutcome,
    ) -> Result<(), Error> {
        self.record_task_end(index, outcome, true)
    }

    fn record_task_end(
        &mut self,
        index: TaskIndex,
        mut outcome: TaskOutcome,
        blocked: bool,
    ) -> Result<(), Error> {
        if self.ledger.tasks[index].spec.check_only {
            drop_predictions(&mut outcome);
        }
        self.keep_plan(index, outcome.saved_plan.take());
        self.apply_updates(index, &mut outcome);
        self.apply_outputs(index, &mut outcome);
        self.hide_secrets(index, &mut outcome);
        let number = self.ledger.next_number();
        let id = ChangeId::task(self.options.start, number)?;
        let target = self.ledger.tasks[index].spec.target;
        let on_record = self.topology.entity(target).last_change().is_some();
        self.touch_changed(index, id);
        let before = self.ledger.tasks[index].target_state.status;
        self.update_status(index, &outcome, id);
        self.mark_relationships_found(index, id);
        let (changed, previous) = self.update_last_change(index, &outcome, id);
        if on_record {
            self.note_state_change(index, id);
        }
        let entity = self.topology.entity(target);
        let (local, state) = (entity.local, entity.state);
        let ended = self.context.local_context.now();
        let task = &mut self.ledger.tasks[index];
        let (entry, cut_off) = task.stage.entry();
        let cut_off = cut_off || outcome.is_cut_off;
        task.errors.extend(outcome.errors.iter().cloned());
        if !outcome.success {
            task.errors.append(&mut outcome.notes);
        }
        let warnings = std::mem::take(&mut outcome.warnings);
        task.target_state = TargetState {
            status: local,
            state,
        };
        task.stage = TaskStage::Finished(Box::new(FinishedTask {
            id,
            number,
            outcome,
            entry,
            finished_at: ended,
            blocked,
            interrupted: cut_off,
            changed: changed || before != local,
            previous,
        }));
        if changed {
            self.set_customized(index, id);
        }
        self.log_warnings(index, warnings);
        Ok(())
    }

    /// Keeps the plan that a task has saved for the next task of its target, and drops an earlier one. Only a deployment
    /// applies plans.
    fn keep_plan(&mut self, index: TaskIndex, plan: Option<SavedPlan>) {
        let target = self.ledger.tasks[index].spec.target;
        self.saved_plans.remove(&target);
        let deploys = self.options.goal.workflow == WorkflowKind::Deploy;
        if let Some(plan) = plan.filter(|_| deploys) {
            self.saved_plans.insert(target, plan);
        }
    }

    fn log_warnings(&mut self, index: TaskIndex, warnings: Vec<String>) {
        for warning in warnings {
            let text = format!("{}: {warning}", self.label(index));
            self.log(LogLevel::Warning, text);
        }
    }

    /// Advances the node state after a successful task.
    pub(super) fn advance_state(&mut self, index: TaskIndex) {
        let task = &self.ledger.tasks[index];
        let (target, start) = (task.spec.target, task.spec.start_state);
        let entity = self.topology.entity(target);
        let entry = task.finished().and_then(|finished| finished.entry);
        let (before, status) = entry.map_or((None, None), |entry| (entry.state, entry.status));
        if task.status() == Some(Status::Ok) && entity.state == before {
            let is_check = task.spec.reference.operation.as_str() == "check";
            let next = match start {
                Some(start) => start.next(),
                None if is_check && status != entity.local => {
                    state_of_status(entity.local, entity.state).or(entity.state)
                }
                None => entity.state,
            };
            self.topology_mut().set_state(target, next);
        }
        let state = self.topology.entity(target).state;
        self.ledger.tasks[index].target_state.state = state;
    }

    /// Records the change on all entities that the task added or modified.
    fn touch_changed(&mut self, index: TaskIndex, id: ChangeId) {
        let changed: Vec<_> = self.ledger.tasks[index]
            .changes
            .iter()
            .filter(|(_, changes)| !changes.is_empty())
            .map(|(of, _)| *of)
            .collect();
        for of in changed {
            self.topology_mut().set_last_config_change(of, id);
        }
    }

    fn update_status(&mut self, index: TaskIndex, outcome: &TaskOutcome, id: ChangeId) {
        let task = &self.ledger.tasks[index].spec;
        let (target, required) = (task.target, task.priority == Priority::Required);
        let asks = matches!(task.reference.operation.as_str(), "check" | "discover");
        let entity = self.topology.entity(target);
        let (new, is_relationship) = (entity.created.is_none(), entity.is_relationship());
        // An instance that a check finds counts as created by this ensemble if the ensemble had begun to
        // create it.
        let found_other_state = asks && !entity.partially_created;
        let changes = self.ledger.tasks[index].changes.get(&target);
        let stated = changes.and_then(|changes| changes.status);
        let workflow = self.options.goal.workflow.as_str().to_owned();
        let topology = self.topology_mut();
        if let Some(status) = outcome.status {
            topology.set_local(target, Some(status));
            if status.is_present() && new && !found_other_state {
                topology.set_created(target, Some(Creator::Task(id)));
            }
        } else if let (false, Some(status)) = (outcome.success, stated) {
            // The result of a failed task states the same status as before, so the outcome does not repeat it.
            topology.set_local(target, Some(status));
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
                        topology.set_created(target, Some(Creator::Task(id)));
                    }
                }
                None => topology.set_local(target, Some(Status::Unknown)),
                Some(false) => {}
            }
        } else if outcome.modified == Some(true) && is_relationship {
            topology.set_local(target, WorkflowKind::success_status(&workflow));
        }
    }

    /// Records that a check or discover found a state different from the recorded one.
    fn note_state_change(&mut self, index: TaskIndex, id: ChangeId) {
        let task = &self.ledger.tasks[index];
        let reference = &task.spec.reference;
        let looks = reference.interface.as_str() == "Install"
            && matches!(reference.operation.as_str(), "check" | "discover");
        if !looks {
            return;
        }
        let target = task.spec.target;
        let attributes = task.changes.iter();
        let mut seen: Vec<_> = attributes
            .filter(|(_, changes)| !changes.attributes.is_empty())
            .map(|(of, _)| *of)
            .collect();
        let before = self.recorded_statuses.get(&target).copied();
        if self.topology.entity(target).local != before.unwrap_or(task.target_state.status) {
            seen.push(target);
        }
        for of in seen {
            self.topology_mut()
                .update_record(of, |entity| entity.last_state_change = Some(id));
        }
    }

    /// Marks the relationships of a discovered instance as established, because no operation will
    /// establish them.
    fn mark_relationships_found(&mut self, index: TaskIndex, id: ChangeId) {
        let task = &self.ledger.tasks[index].spec;
        let found = self.topology.entity(task.target);
        let is_discover = task.reference.operation.as_str() == "discover";
        let Some(node) = found
            .node()
            .filter(|_| is_discover && found.local == Some(Status::Ok))
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

    /// Records a change of the target. Returns whether there is one, and the id of the previous change.
    fn update_last_change(
        &mut self,
        index: TaskIndex,
        outcome: &TaskOutcome,
        id: ChangeId,
    ) -> (bool, Option<ChangeId>) {
        let target = self.ledger.tasks[index].spec.target;
        let last = self.topology.entity(target).last_change();
        if last.is_none() && self.topology.effective(target) != Status::Pending {
            self.topology_mut().set_last_config_change(target, id);
            return (true, None);
        }
        let own = self.ledger.tasks[index].changes.get(&target);
        let attributes_changed = own.is_some_and(|changes| !changes.attributes.is_empty());
        if outcome.modified == Some(true) || attributes_changed {
            self.topology_mut().set_last_config_change(target, id);
            return (true, last.filter(|last| *last != id));
        }
        (false, None)
    }

    /// Updates whether the target is customised.
    ///
    /// An operation outside the life cycle that changes values which `configure` depends on customises
    /// the target. A successful reconfigure clears this.
    fn set_customized(&mut self, index: TaskIndex, id: ChangeId) {
        let task = &self.ledger.tasks[index];
        let (target, reference) = (task.spec.target, &task.spec.reference);
        let evaluation = self.evaluation();
        let customized = self.topology.entity(target).customized.is_some();
        if reference.interface.as_str() != "Standard"
            && reference.operation.as_str() != "check"
            && !customized
        {
            let Some(last) = evaluation.last_operation(target, "configure") else {
                return;
            };
            let mut changed = task.changes.iter().flat_map(|(of, changes)| {
                changes
                    .attributes
                    .keys()
                    .filter_map(|name| evaluation.attribute_key(*of, name))
            });
            if changed.any(|key| last.digest_keys.contains(&key) || last.digest_put.contains(&key))
            {
                let value = Value::str(id.as_str());
                self.topology_mut()
                    .update_record(target, |entity| entity.customized = Some(value));
            }
        } else if matches!(task.spec.reason, Reason::Reconfigure | Reason::Upgrade)
            && task.status() == Some(Status::Ok)
            && customized
        {
            self.topology_mut()
                .update_record(target, |entity| entity.customized = None);
        }
    }

    /// Completes the workflow of a group whose last task succeeded.
    pub(super) fn finish_workflow(&mut self, index: TaskIndex) {
        let task = &self.ledger.tasks[index];
        let finished = task.finished().filter(|finished| finished.outcome.success);
        let (Some(group), Some(finished)) = (task.spec.group, finished) else {
            return;
        };
        let (id, explicit) = (finished.id, finished.outcome.status);
        let workflow = Arc::clone(&self.plan.groups[group].workflow);
        if explicit.is_none() && WorkflowKind::success_status(&workflow).is_none() {
            // The workflow implies no status for its target.
            return;
        }
        let target = task.spec.target;
        let entity = self.topology.entity(target);
        // A relationship that exists implicitly with its ends is not removed before them.
        let stays = entity.computed && entity.is_relationship();
        let default = WorkflowKind::success_status(&workflow).filter(|_| !stays);
        let status = explicit.or(default).or(entity.local);
        let last = self.topology.entity(target).last_change();
        let is_new_status = self.topology.entity(target).local != status;
        if is_new_status {
            self.topology_mut().set_local(target, status);
        }
        let task = &mut self.ledger.tasks[index];
        if is_new_status {
            task.target_state.status = status;
        }
        if let Some(finished) = task.finished_mut() {
            finished.changed |= is_new_status;
            if last != Some(id) {
                finished.previous = last;
            }
        }
        self.topology_mut().set_last_config_change(target, id);
        let new = self.topology.entity(target).created.is_none();
        if &*workflow == "deploy" && status == Some(Status::Ok) && new {
            self.topology_mut()
                .set_created(target, Some(Creator::Task(id)));
        }
    }

    /// Reports that a task cannot be rendered, with source positions.
    pub(super) fn report_problem(&mut self, index: TaskIndex, error: &crate::expr::Error) {
        let mut error = error.clone();
        error.redact(&self.secrets_of(index));
        let problem = self
            .evaluation()
            .render_problem(&self.ledger.tasks[index], &error);
        self.ledger.log_problem(problem);
    }

    /// Marks a step as done for the scheduler and for the readers of its attributes.
    pub(super) fn finish_step(&mut self, step: StepId) {
        let (scheduler, steps) = self.schedule();
        scheduler.finish(step, &steps);
    }

    /// Emits an event if a finished task's record has changed since it was reported.
    pub(super) fn emit_amended(&mut self, index: TaskIndex) {
        let Some(record) = self.amended_record(index).map(Arc::new) else {
            return;
        };
        self.ledger.store_record(index, Arc::clone(&record));
        self.ledger.push(JobEvent::TaskAmended(record));
    }

    /// Emits the event that a task has finished.
    pub(super) fn emit_finished(&mut self, index: TaskIndex) {
        let (record, warning) = self.record_end(index);
        self.ledger.push(JobEvent::TaskFinished(record));
        if let Some(warning) = warning {
            self.log(LogLevel::Warning, warning);
        }
    }
}

/// Drops the updates of a test run: they describe what the operation would make, and nothing of it has happened.
fn drop_predictions(outcome: &mut TaskOutcome) {
    outcome.updates = None;
    outcome.outputs = None;
}

/// Returns the node state that corresponds to a status found by a check.
pub(super) fn state_of_status(
    status: Option<Status>,
    state: Option<NodeState>,
) -> Option<NodeState> {
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
