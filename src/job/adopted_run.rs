//! The tasks of instances that are taken over: they count as done, and nothing runs.

use super::adopted::Adopted;
use super::engine::Engine;
use super::task::TaskIndex;
use crate::name::Status;
use crate::task::{EffectResult, OperationRun, RunStep, TaskOutcome, TaskView};

impl Engine {
    /// Returns the run of a task whose target is taken over. None for any other task.
    pub(super) fn adopted_run(&self, index: TaskIndex) -> Option<Box<dyn OperationRun>> {
        let target = self.ledger.tasks[index].spec.target;
        let name = self.topology.entity(target).local_name();
        let mut adopted = self.options.adopted.iter();
        let adopted = adopted.find(|it| it.instance == name)?;
        Some(Box::new(AdoptedRun(adopted.clone())))
    }

    /// Returns the reason why the configurator of a task declines to run it. None for an instance that is taken over.
    pub(super) fn declined_by_configurator(&mut self, index: TaskIndex) -> Option<String> {
        let task = &self.ledger.tasks[index];
        let configurator = &task.spec.configurator;
        let (can, reads) = self
            .evaluation()
            .with_view(task, true, |view| configurator.can_run(view));
        self.commit_reads(index, &reads);
        let refusal = can.err()?;
        let is_adopted = self.adopted_run(index).is_some();
        (!is_adopted).then(|| format!("configurator declined: {refusal}"))
    }
}

/// A run that reports what exists.
#[derive(Debug)]
struct AdoptedRun(Adopted);

impl OperationRun for AdoptedRun {
    fn step(&mut self, _task: &TaskView<'_>, _last: Option<EffectResult>) -> RunStep {
        RunStep::Done(Box::new(TaskOutcome {
            success: true,
            modified: Some(false),
            status: Some(Status::Ok),
            result: Some(self.0.result.clone()),
            outputs: Some(self.0.outputs.clone()),
            ..TaskOutcome::default()
        }))
    }
}
