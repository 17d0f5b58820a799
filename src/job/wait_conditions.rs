//! Wait conditions: determines which open steps may still set attributes that a task reads.

use super::engine::Engine;
use super::evaluation::Evaluation;
use super::live_attributes::{is_declared, is_live, may_be_set};
use super::schedule::{AwaitedAttribute, WaitSet};
use super::task::{Task, TaskIndex};
use super::task_stage::TaskStage;
use crate::expr::Reads;
use crate::name::Status;
use crate::plan::{StepId, WorkflowKind};
use crate::value::{Handle, Value};

impl Engine {
    /// Returns the steps that may still set live attributes which a task has read.
    ///
    /// A declared or existing attribute defers the task to the late round, until the steps of the
    /// attribute's instance have ended. Attributes that only an open type permits, and those of the
    /// task's own target, are read again when the task is due.
    pub(super) fn wait_set(
        &self,
        step: StepId,
        index: TaskIndex,
        reads: &Reads,
        failed: bool,
    ) -> WaitSet {
        let mut waits = WaitSet::default();
        let (evaluation, steps) = (self.evaluation(), self.job_steps());
        let task = &self.ledger.tasks[index];
        let workflow = evaluation.workflow_of(task.spec.group);
        if workflow.is_some_and(|workflow| &**workflow == "undeploy") {
            return waits;
        }
        let own = task.spec.target;
        for read in evaluation.live_reads(task, reads) {
            let declared = is_declared(&self.topology, read.of, &read.name);
            if read.of == own {
                if declared || !failed {
                    let is_null = read.value.is_null();
                    waits.add_own(self.scheduler.own_steps_before(step, is_null, &steps));
                }
                continue;
            }
            let open = self.scheduler.open_steps(read.of, &steps);
            if !open.is_empty() {
                let entity = self.topology.entity(read.of);
                let is_certain = declared || entity.attributes.contains_key(&read.name);
                waits.add_other(read, open, is_certain);
            }
        }
        waits
    }

    /// Returns the values read by a step that follows a failed one. None if the step is deferred and
    /// could not be rendered because it reads from instances that do not work.
    pub(super) fn reads_if_renderable(&self, step: StepId, index: TaskIndex) -> Option<Reads> {
        let task = &self.ledger.tasks[index];
        if !matches!(task.stage, TaskStage::Deferred) {
            return Some(Reads::default());
        }
        let evaluation = self.evaluation();
        let configurator = &task.spec.configurator;
        let (rendered, reads) = evaluation.with_view(task, true, |view| configurator.render(view));
        let others = evaluation.live_reads(task, &reads).into_iter();
        let mut others = others.filter(|read| read.of != task.spec.target);
        let is_missing = rendered.is_err()
            || self.scheduler.awaited(step).is_some()
            || others.any(|read| !self.is_working(read.of));
        (!is_missing).then_some(reads)
    }

    /// Whether a step waited for a step that never ran.
    pub(super) fn waited_for_unrun(&self, step: StepId) -> bool {
        let on = self.scheduler.waits_for(step).iter();
        let tasks = on.filter_map(|on| self.steps.tasks[*on]);
        let mut finished = tasks.filter_map(|task| self.ledger.tasks[task].finished());
        finished.any(|it| it.entry.is_none() && it.outcome.status.is_none())
    }

    /// Whether an instance works, by its own status or by its effective one.
    pub(super) fn is_working(&self, of: Handle) -> bool {
        let local = self.topology.entity(of).local;
        local.is_some_and(Status::is_operational) || self.topology.is_operational(of)
    }

    /// Whether a step in a cycle of waits can run with the current values: the steps before it in its
    /// group have ended, and the instances it reads from work.
    pub(super) fn can_proceed(&self, step: StepId) -> bool {
        if !self.scheduler.may_be_released(step, &self.job_steps()) {
            return false;
        }
        let deploys = self.options.goal.workflow == WorkflowKind::Deploy;
        let mut awaited = self.scheduler.awaited(step).unwrap_or_default().iter();
        !deploys || awaited.all(|read| self.is_working(read.of))
    }
}

impl Evaluation<'_> {
    /// Returns the live attributes that a task has read, directly or through others, and the missing
    /// attributes that may still be set.
    fn live_reads(&self, task: &Task, reads: &Reads) -> Vec<AwaitedAttribute> {
        let nested = self.evaluator_for(task).closure(reads, usize::MAX);
        let absent = self.context.memo.absent(reads, usize::MAX).into_iter();
        let absent = absent.filter(|(of, name)| may_be_set(self.topology, *of, name));
        let absent = absent.map(|(of, name)| (of, name, Value::Null));
        // Tasks of a nested topology set the attributes of the outer instance that it stands in for.
        let inner = |of: Handle| self.topology.stand_in(of).unwrap_or(of);
        let all = absent.chain(nested);
        let all = all.map(|(of, name, value)| (inner(of), name, value));
        let live = all.filter(|(of, name, _)| is_live(self.topology, *of, name) == Some(true));
        live.map(|(of, name, value)| AwaitedAttribute { of, name, value })
            .collect()
    }
}
