//! What a task must wait for: steps that may still set what it reads.

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
    /// The steps that may still set a live attribute among those that a task read.
    ///
    /// An attribute that is set, or declared, makes the task wait until the steps of its instance
    /// have ended, in the second round. One that only an open type lets somebody set, and those
    /// of the task's own target, are read again after the steps before this one, in its place.
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

    /// The reads of a step that follows a failed one; none if it is deferred and could not be
    /// rendered, since it reads what belongs to instances that do not work.
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

    /// Whether a step waited for one that never ran.
    pub(super) fn waited_for_unrun(&self, step: StepId) -> bool {
        let on = self.scheduler.waits_for(step).iter();
        let tasks = on.filter_map(|on| self.steps.tasks[*on]);
        let mut finished = tasks.filter_map(|task| self.ledger.tasks[task].finished());
        finished.any(|it| it.entry.is_none() && it.outcome.status.is_none())
    }

    /// Whether an instance works by itself, or together with what it depends on.
    pub(super) fn is_working(&self, of: Handle) -> bool {
        let local = self.topology.entity(of).local;
        local.is_some_and(Status::is_operational) || self.topology.is_operational(of)
    }

    /// Whether a step that waits for others, which wait for it, can go on with what there is: those
    /// before it in its group have ended, and what it reads belongs to what works.
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
    /// The live attributes among those that a task read, directly and through others, and those
    /// that were not there but may be set.
    fn live_reads(&self, task: &Task, reads: &Reads) -> Vec<AwaitedAttribute> {
        let nested = self.evaluator_for(task).closure(reads, usize::MAX);
        let absent = self.context.memo.absent(reads, usize::MAX).into_iter();
        let absent = absent.filter(|(of, name)| may_be_set(self.topology, *of, name));
        let absent = absent.map(|(of, name)| (of, name, Value::Null));
        let all = absent.chain(nested);
        let live = all.filter(|(of, name, _)| is_live(self.topology, *of, name) == Some(true));
        live.map(|(of, name, value)| AwaitedAttribute { of, name, value })
            .collect()
    }
}
