//! Tasks that other tasks ask for.

use std::sync::Arc;

use super::engine::Engine;
use super::evaluation::Evaluation;
use super::event::Error;
use super::render::NO_DRY_RUN;
use super::stage::Stage;
use super::start::Next;
use super::task::{Task, TaskIndex};
use crate::name::OperationRef;
use crate::plan::{Reason, find_operation};
use crate::task::{EffectResult, Outcome, Subtask};
use crate::topology::Kind;
use crate::tosca::Operations;
use crate::value::{Handle, Value};

/// How many tasks may ask for each other in a row.
const MAX_SUBTASKS: usize = 100;

impl Engine {
    pub(super) fn start_subtask(
        &mut self,
        parent: TaskIndex,
        subtask: &Subtask,
    ) -> Result<Next, Error> {
        let asking = &self.ledger.tasks[parent];
        let depth = asking.spec.depth + 1;
        if depth > MAX_SUBTASKS {
            let message = format!("tasks ask for each other more than {MAX_SUBTASKS} deep");
            return self.refuse_subtask(parent, message);
        }
        let evaluation = self.evaluation();
        let mut task = match evaluation.subtask(asking, subtask) {
            Ok(task) => task,
            Err(message) => return self.refuse_subtask(parent, message),
        };
        task.spec.parent = Some(parent);
        task.spec.depth = depth;
        let name = format!("for {}: {}", asking.spec.reason, asking.spec.reference);
        task.spec.reason = Reason::Subtask(name.into());
        evaluation.set_task_variables(&mut task);
        let index = self.ledger.add(task);
        self.run_subtask(index)
    }

    /// Lets a task go on with a subtask that failed before it began.
    fn refuse_subtask(&mut self, parent: TaskIndex, message: String) -> Result<Next, Error> {
        let outcome = Outcome {
            errors: vec![message.clone()],
            ..Outcome::refused(message)
        };
        self.proceed(parent, Some(EffectResult::Subtask(Some(outcome))))
    }

    fn run_subtask(&mut self, index: TaskIndex) -> Result<Next, Error> {
        if self.options.goal.dry_run {
            let (can, reads) = self.evaluation().can_dry_run(&self.ledger.tasks[index]);
            self.commit_reads(index, &reads);
            if !can {
                let task = &mut self.ledger.tasks[index];
                task.stage = Stage::Skipped(NO_DRY_RUN.to_owned());
                let parent = task.spec.parent.unwrap_or(index);
                return self.proceed(parent, Some(EffectResult::Subtask(None)));
            }
        }
        let (rendered, reads) = self.evaluation().render(&self.ledger.tasks[index]);
        self.commit_reads(index, &reads);
        match rendered {
            Ok(rendered) => self.ledger.tasks[index].stage = Stage::Rendered(rendered),
            Err(error) => {
                let error = error.hushed(&reads);
                self.tell_problem(index, &error);
                self.ledger.list(index);
                self.finish(index, Outcome::refused(error.to_string()))?;
                return self.end(index);
            }
        }
        self.enter(index)
    }
}

impl Evaluation<'_> {
    /// The task that another asks for, or why there is none.
    fn subtask(&self, asking: &Task, subtask: &Subtask) -> Result<Task, String> {
        let target = match &subtask.target {
            None => asking.spec.target,
            Some(Value::Entity(handle)) if self.topology.get(*handle).is_some() => *handle,
            Some(Value::Entity(_)) => {
                let message = "an operation of another ensemble's instance cannot be delegated to";
                return Err(message.to_owned());
            }
            Some(name) => {
                let from = asking.spec.target;
                let found = name.as_str().and_then(|name| self.named(from, name));
                found.ok_or_else(|| format!("there is no instance `{name}` to delegate to"))?
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
        // Without inputs of its own it has those of the task that asks for it.
        let own = || {
            let mut inputs = asking.inputs.raw.as_ref().clone();
            inputs.retain(|name, _| !subtask.control.contains(&&**name));
            inputs
        };
        let inputs = match &subtask.inputs {
            Value::Null => own(),
            stated => stated.as_map().cloned().unwrap_or_default(),
        };
        let reference = OperationRef::new(interface, name);
        Ok(self.make_task(target, reference, operation, Some(&inputs)))
    }

    fn named(&self, from: Handle, name: &str) -> Option<Handle> {
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
            Kind::Node(node) => Some(&node.template.operations),
            Kind::Relationship { template, .. } => Some(&template.operations),
            _ => None,
        }
    }
}
