//! Crash recovery. A task that started but has no result leaves its instance `unknown`; this decides
//! whether the next job checks it, repeats it or refuses.

use std::collections::BTreeMap;

use super::engine::Engine;
use super::evaluation::Evaluation;
use super::schedule::Steps as _;
use super::task::{Task, TaskIndex};
use super::task_stage::TaskStage;
use crate::host::Action;
use crate::name::Status;
use crate::plan::Reason;
use crate::task::TaskEffect;
use crate::value::{Handle, Value, canonical_sha256};

/// The variable that lets external systems recognise repeated calls for the same task.
///
/// The leading underscore follows the convention for internal variables, so programs that list their
/// environment may ignore it.
const IDEMPOTENCY_VARIABLE: &str = "_UNFURL_IDEMPOTENCY_KEY";
/// The number of hexadecimal digits of an idempotency key.
const KEY_LENGTH: usize = 32;

impl Evaluation<'_> {
    /// Returns the idempotency key of a task (R15).
    ///
    /// The key depends on the ensemble, the target, the operation, and the operation's last record. It
    /// stays the same if an operation in doubt is repeated, and differs for each further intended run.
    pub(super) fn idempotency_key(&self, task: &Task) -> String {
        let target = self.topology.unique_key(task.spec.target);
        let name = task.spec.reference.operation.as_str();
        let last = self.context.history.last_operation(&target, name);
        let before = last.and_then(|last| last.id);
        let before = before.map(|id| id.to_string()).unwrap_or_default();
        let parts = [
            self.options.ensemble.clone(),
            target,
            task.spec.reference.to_string(),
            before,
        ];
        let mut key = canonical_sha256(&Value::list(parts.map(Value::from)));
        key.truncate(KEY_LENGTH);
        key
    }
}

impl Engine {
    /// Notes the role of an effect and adds the idempotency variable to its command.
    pub(super) fn mark_effect(&mut self, index: TaskIndex, effect: &mut TaskEffect) {
        let task = &mut self.ledger.tasks[index];
        if let TaskStage::Running(running) = &mut task.stage {
            running.role = effect.role;
        }
        if let Action::Run(command) = &mut effect.action {
            let key = self.evaluation().idempotency_key(&self.ledger.tasks[index]);
            command.env.add(IDEMPOTENCY_VARIABLE, key);
        }
    }

    /// Updates the target's status if only some steps of its group succeeded.
    ///
    /// An instance whose reconfiguration did not finish gets the status error, so the next job repairs
    /// it. An absent instance whose creation has begun becomes pending.
    pub(super) fn mark_partial_unit(&mut self, index: TaskIndex) {
        let task = &self.ledger.tasks[index];
        let (target, again) = (task.spec.target, task.spec.reason == Reason::Reconfigure);
        let Some(group) = task.spec.group else {
            return;
        };
        let local = self.topology.entity(target).local;
        let now = match local {
            Some(status) if again && status.is_operational() => Status::Error,
            Some(Status::Absent) if &*self.plan.groups[group].workflow == "deploy" => {
                Status::Pending
            }
            _ => return,
        };
        let steps = self.job_steps().steps_of(group).into_iter();
        let mut others = steps.filter_map(|step| self.steps.tasks[step]);
        if others.any(|other| self.ledger.tasks[other].status() == Some(Status::Ok)) {
            self.topology_mut().set_local(target, Some(now));
            self.ledger.tasks[index].target_state.status = Some(now);
        }
    }

    /// Whether a task completed in an interrupted job before the rest of its group ran. The next job then
    /// runs the rest only.
    pub(super) fn is_half_done(&self, task: &Task) -> bool {
        let was_interrupted = self.ledger.interrupted.is_some();
        let Some(group) = task.spec.group.filter(|_| was_interrupted) else {
            return false;
        };
        let steps = self.job_steps().steps_of(group).into_iter();
        let mut others = steps.filter_map(|step| self.steps.tasks[step]);
        task.status() == Some(Status::Ok)
            && others.any(|other| {
                let other = &self.ledger.tasks[other];
                let finished = other.finished();
                !other.was_entered() && finished.is_none_or(|finished| finished.blocked)
            })
    }

    /// Whether it is unknown if a task completed, because it was interrupted.
    pub(super) fn is_in_doubt(&self, task: &Task) -> bool {
        let turn = self.task_instance(task);
        let unknown =
            turn.is_some_and(|of| self.topology.entity(of).local == Some(Status::Unknown));
        task.is_interrupted() && unknown && task.spec.reference.interface.is_lifecycle()
    }

    /// Returns the instance whose group of steps a task belongs to. None for the root.
    pub(super) fn task_instance(&self, task: &Task) -> Option<Handle> {
        let steps = self.job_steps();
        let of = task.spec.step.map(|step| steps.instance(step));
        self.topology.instance_of(of.unwrap_or(task.spec.target))
    }

    /// Returns the reason to skip a task that an interrupted job has already completed.
    pub(super) fn already_done_reason(&mut self, index: TaskIndex) -> Option<&'static str> {
        if !self.options.goal.is_resumed() && !self.context.history.has_unfinished_work() {
            return None;
        }
        let task = &self.ledger.tasks[index].spec;
        let target = self.topology.unique_key(task.target);
        let operation = (target, task.reference.to_string());
        let goal = &self.options.goal;
        if goal.resumed.done.contains(&operation) {
            return Some("the interrupted job has already done it");
        }
        let planned = goal.resumed.planned.get(&operation.0);
        let is_install = task.reference.interface.as_str() == "Install";
        if !is_install && planned.is_some_and(|all| !all.contains(&operation.1)) {
            return Some("it is not part of the interrupted plan that this job resumes");
        }
        if task.group.is_none() || self.options.goal.force {
            return None;
        }
        let unfinished = self.context.history.unfinished_work(&operation.0)?;
        let name = task.reference.operation.as_str();
        let done = unfinished.half_done.iter().any(|done| done == name);
        let stays = done && !self.compare_model(index).is_change();
        stays.then_some("a crashed job has already done it")
    }

    /// Returns the reason to refuse a task with an operation in doubt.
    ///
    /// It is refused unless a check has determined the state or the user permits repeating the operation.
    pub(super) fn doubt_reason(&self, index: TaskIndex) -> Option<String> {
        let task = &self.ledger.tasks[index];
        let goal = &self.options.goal;
        let acts = task.spec.reference.interface.is_lifecycle();
        if goal.redo_in_doubt
            || goal.force
            || goal.drift
            || !acts
            || task.spec.reason == Reason::InDoubt
        {
            return None;
        }
        let instance = self.task_instance(task)?;
        let entity = self.topology.entity(instance);
        let doubt = entity.in_doubt.as_ref()?;
        let steps = self.job_steps();
        let removes = task.spec.step.is_some_and(|step| steps.removes(step));
        if removes && !doubt.is_teardown() {
            return None;
        }
        let unknown = matches!(entity.local, Some(Status::Unknown | Status::Error) | None);
        unknown.then(|| {
            format!(
                "an earlier job crashed during `{doubt}`, and the check could not determine the \
                 effect; `--redo-in-doubt` runs it again"
            )
        })
    }

    /// Returns the planned operations by the key of their target.
    pub fn planned_operations(&self) -> BTreeMap<String, Vec<String>> {
        let mut planned: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for step in 0..self.plan.steps.len() {
            let is_done = self.scheduler.is_done(step);
            let Some(index) = self.task_of(step).filter(|_| !is_done) else {
                continue;
            };
            let task = &self.ledger.tasks[index].spec;
            if self.includes(index) {
                let target = self.topology.unique_key(task.target);
                let operations = planned.entry(target).or_default();
                operations.push(task.reference.to_string());
            }
        }
        planned
    }

    /// Returns the operations in doubt that the plan repeats. They run only if the user permits it.
    pub fn operations_in_doubt(&self) -> Vec<String> {
        let steps = 0..self.plan.steps.len();
        let tasks = steps.filter_map(|step| self.task_of(step));
        let doubtful = tasks.filter(|index| {
            let task = &self.ledger.tasks[*index];
            let is_doubtful = task.spec.reason == Reason::InDoubt && !task.is_skipped();
            is_doubtful && self.includes(*index)
        });
        let mut labels = Vec::new();
        for index in doubtful {
            let entity = self.topology.entity(self.ledger.tasks[index].spec.target);
            let Some(doubt) = &entity.in_doubt else {
                continue;
            };
            let words = format!("`{doubt}` of `{}`", entity.name);
            if !labels.contains(&words) {
                labels.push(words);
            }
        }
        labels
    }
}
