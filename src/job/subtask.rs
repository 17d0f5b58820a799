//! Subtasks: tasks that other tasks request, for example through `Delegate`.

use std::sync::Arc;

use super::engine::Engine;
use super::evaluation::Evaluation;
use super::event::Error;
use super::render::NO_DRY_RUN;
use super::start::NextEffect;
use super::task::{Task, TaskIndex};
use super::task_stage::TaskStage;
use crate::name::OperationRef;
use crate::plan::{CheckAbility, Reason, find_operation};
use crate::task::{EffectResult, Subtask, TaskOutcome};
use crate::topology::EntityKind;
use crate::tosca::Operations;
use crate::value::{Handle, Value};

/// The maximum depth of tasks that request each other.
const MAX_SUBTASK_DEPTH: usize = 100;

impl Engine {
    pub(super) fn start_subtask(
        &mut self,
        parent: TaskIndex,
        subtask: &Subtask,
    ) -> Result<NextEffect, Error> {
        let caller = &self.ledger.tasks[parent];
        let depth = caller.spec.depth + 1;
        if depth > MAX_SUBTASK_DEPTH {
            let message = format!(
                "subtasks are nested more than {MAX_SUBTASK_DEPTH} levels deep; check for \
                 operations that delegate to each other"
            );
            return self.refuse_subtask(parent, message);
        }
        let evaluation = self.evaluation();
        let mut task = match evaluation.subtask(caller, subtask) {
            Ok(task) => task,
            Err(message) => return self.refuse_subtask(parent, message),
        };
        task.spec.parent = Some(parent);
        task.spec.depth = depth;
        task.spec.check_only = caller.spec.check_only;
        let name = format!("for {}: {}", caller.spec.reason, caller.spec.reference);
        task.spec.reason = Reason::Subtask(name.into());
        evaluation.set_task_variables(&mut task);
        if task.spec.check_only {
            match task.spec.configurator.check_ability(&task.inputs.raw) {
                CheckAbility::Compares => {}
                CheckAbility::MakesNothing => {
                    return self.proceed(parent, Some(EffectResult::Subtask(None)));
                }
                CheckAbility::Cannot => {
                    let message = format!("`{}` cannot be compared", task.spec.reference);
                    return self.refuse_subtask(parent, message);
                }
            }
        }
        let index = self.ledger.add(task);
        self.run_subtask(index)
    }

    /// Continues a task whose subtask failed before it began.
    fn refuse_subtask(&mut self, parent: TaskIndex, message: String) -> Result<NextEffect, Error> {
        let outcome = TaskOutcome {
            errors: vec![message.clone()],
            ..TaskOutcome::refused(message)
        };
        self.proceed(parent, Some(EffectResult::Subtask(Some(outcome))))
    }

    fn run_subtask(&mut self, index: TaskIndex) -> Result<NextEffect, Error> {
        if self.options.goal.dry_run {
            let (can, reads) = self.evaluation().can_dry_run(&self.ledger.tasks[index]);
            self.commit_reads(index, &reads);
            if !can {
                let task = &mut self.ledger.tasks[index];
                task.stage = TaskStage::Skipped(NO_DRY_RUN.to_owned());
                let parent = task.spec.parent.unwrap_or(index);
                return self.proceed(parent, Some(EffectResult::Subtask(None)));
            }
        }
        let (rendered, reads) = self.evaluation().render(&self.ledger.tasks[index]);
        self.commit_reads(index, &reads);
        match rendered {
            Ok(rendered) => self.ledger.tasks[index].stage = TaskStage::Rendered(rendered),
            Err(error) => {
                let error = error.redacted(&reads);
                self.report_problem(index, &error);
                self.ledger.list(index);
                self.finish(index, TaskOutcome::refused(error.to_string()))?;
                return self.complete_task(index);
            }
        }
        self.enter_task(index)
    }
}

impl Evaluation<'_> {
    /// Creates the requested task, or returns the reason why it cannot be created.
    fn subtask(&self, caller: &Task, subtask: &Subtask) -> Result<Task, String> {
        let target = match &subtask.target {
            None => caller.spec.target,
            Some(Value::Entity(entity)) if self.topology.get(entity.handle()).is_some() => {
                entity.handle()
            }
            Some(Value::Entity(_)) => {
                let message = "cannot delegate to an operation of another ensemble's instance";
                return Err(message.to_owned());
            }
            Some(name) => {
                let from = caller.spec.target;
                let found = name
                    .as_str()
                    .and_then(|name| self.find_instance(from, name));
                found.ok_or_else(|| {
                    format!("cannot delegate to the instance `{name}`: it does not exist")
                })?
            }
        };
        let (interface, name) = subtask
            .operation
            .rsplit_once('.')
            .unwrap_or(("Standard", &subtask.operation));
        let operation = self.operations_of(target);
        let dry_run = self.options.goal.dry_run;
        let operation = operation.and_then(|all| find_operation(all, interface, name, dry_run));
        let Some(operation) = operation else {
            let on = &self.topology.entity(target).name;
            return Err(format!("`{on}` has no operation `{interface}.{name}`"));
        };
        // Without inputs of its own, a subtask gets those of the requesting task.
        let own = || {
            let mut inputs = caller.inputs.raw.as_ref().clone();
            inputs.retain(|name, _| !subtask.control.contains(&&**name));
            inputs
        };
        let inputs = match &subtask.inputs {
            Value::Null => own(),
            // The values were evaluated for the caller, so data among them stays data.
            stated => stated.marked_entries().unwrap_or_default(),
        };
        let reference = OperationRef::new(interface, name);
        Ok(self.make_task(target, reference, operation, Some(&inputs)))
    }

    fn find_instance(&self, from: Handle, name: &str) -> Option<Handle> {
        match name {
            "SELF" => Some(from),
            "HOST" => self.topology.entity(from).parent,
            "SOURCE" => self.topology.source_of(from),
            "TARGET" => self.topology.target_of(from),
            other => self.topology.find_from(from, other),
        }
    }

    fn operations_of(&self, of: Handle) -> Option<&Arc<Operations>> {
        match &self.topology.entity(of).kind {
            EntityKind::Node(node) => Some(&node.template.operations),
            EntityKind::Relationship { template, .. } => Some(&template.operations),
            EntityKind::Artifact { .. } => {
                let artifact = self.topology.entity(of).artifact();
                artifact.map(|artifact| &artifact.operations)
            }
            _ => None,
        }
    }
}
