//! What the model says of `create` and `start`: they run again where that has changed, on
//! instances that work.
//!
//! What tasks do must not count, or a deployment would change what it depends on itself: an
//! attribute that `configure` sets and `create` reads would make `create` run each time. So what
//! is live is left out, and an input whose value depends on it counts as it is written. What is
//! compared is evaluated when a job ends, in the state that the next one begins with.

use std::sync::Arc;

use super::compare::{AS_WRITTEN, Change, ENVIRONMENT};
use super::digest::{Entries, as_written};
use super::engine::{Engine, LastOperation};
use super::observe::is_live;
use super::task::{Task, TaskIndex};
use crate::expr::{Evaluator, Inputs, Read, Reads, Var};
use crate::name::Status;
use crate::plan::{Reason, Repeats};
use crate::topology::Kind;
use crate::tosca::Operation;
use crate::value::{Handle, Value};

/// How many attributes are looked at to find out whether one of them is live.
const MOST_READS: usize = 1000;

/// The keys of entities that the life cycle changes.
const LIFE_CYCLE: &[&str] = &[
    ".status",
    ".state",
    ".local_status",
    ".created",
    ".protected",
    ".customized",
    ".operational",
];

impl Repeats for Engine {
    fn must_repeat(&self, target: Handle, operation: &Arc<Operation>) -> bool {
        self.model_change(target, operation).is_change()
    }
}

impl Engine {
    /// What of the model has changed that an operation on an instance read when it ran last.
    pub(super) fn model_change(&self, target: Handle, operation: &Arc<Operation>) -> Change {
        let name = operation.reference.operation.as_str();
        let last = self.last_operation(target, name);
        let Some(last) = last.filter(LastOperation::is_exact) else {
            return Change::None;
        };
        let reference = operation.reference.clone();
        let mut task = self.make_task(target, reference, Arc::clone(operation), None);
        if !task.errors.is_empty() {
            return Change::None;
        }
        self.set_model_variables(&mut task);
        let evaluator = self.evaluator_of(&task);
        let change = self.compare(&task, &last, &evaluator);
        match &change {
            Change::CannotTell => self.cannot_tell(target),
            // What was the model's is now set by tasks: the record says nothing of it.
            Change::Values | Change::Secrets => {
                let mut keys = last.exact_keys.iter().chain(&last.secret_keys);
                if keys.any(|key| self.is_unsteady(&task, key, &evaluator)) {
                    return Change::None;
                }
            }
            _ => {}
        }
        change
    }

    /// An instance that was to be brought up again, and was not to the end, does not work: it is
    /// repaired next time. One that was gone and begun anew is not gone any more.
    pub(super) fn note_half_done(&mut self, index: TaskIndex) {
        let task = &self.tasks[index];
        let (target, again) = (task.target, task.reason == Reason::Reconfigure);
        let Some(group) = task.group else {
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
        let steps = self.steps_of(group);
        let mut others = steps.iter().filter_map(|step| self.task_of[*step]);
        if others.any(|other| self.tasks[other].status == Some(Status::Ok)) {
            self.topology_mut().set_local(target, Some(now));
            self.tasks[index].target_status = Some(now);
        }
    }

    /// Whether a task is one of those of which only what the model says is compared.
    pub(super) fn is_of_the_model(&self, task: &Task) -> bool {
        let is_node = matches!(self.topology.entity(task.target).kind, Kind::Node(_));
        let operation = task.reference.operation.as_str();
        is_node
            && task.reference.interface.as_str() == "Standard"
            && matches!(operation, "create" | "start")
    }

    /// What a task read of the model, with its values now.
    pub(super) fn model_entries(&self, task: &Task) -> Entries {
        let (reference, operation) = (task.reference.clone(), Arc::clone(&task.operation));
        let mut probe = self.make_task(task.target, reference, operation, None);
        probe.inputs = Arc::clone(&task.inputs);
        self.set_model_variables(&mut probe);
        let evaluator = self.evaluator_of(&probe);
        let mut entries = indexmap::IndexMap::new();
        let environment = as_written(task, ENVIRONMENT).map(|_| ENVIRONMENT.to_owned());
        for key in task.exact.keys().cloned().chain(environment) {
            for (key, value) in self.steady(&probe, &key, &evaluator) {
                entries.entry(key).or_insert(value);
            }
        }
        entries.into_iter().collect()
    }

    /// What stands for a key: its value if tasks do not change it, else what the model says.
    fn steady(&self, task: &Task, key: &str, evaluator: &Evaluator) -> Entries {
        drop(evaluator.take_reads());
        let value = self.current(task, key, evaluator);
        let reads = evaluator.take_reads();
        if let Ok(value) = value
            && !self.are_unsteady(&reads)
        {
            return vec![(key.to_owned(), value)];
        }
        let mut entries = Entries::new();
        if let Some(written) = as_written(task, key) {
            entries.push((format!("{AS_WRITTEN}{key}"), written));
        }
        for (of, name, _) in evaluator.closure(&reads, MOST_READS) {
            if is_live(&self.topology, of, &name) == Some(true) {
                continue;
            }
            let inner = self.attribute_key(of, &name).filter(|inner| inner != key);
            let Some(inner) = inner else { continue };
            drop(evaluator.take_reads());
            if let Ok(value) = self.current(task, &inner, evaluator)
                && !self.are_unsteady(&evaluator.take_reads())
            {
                entries.push((inner, value));
            }
        }
        entries
    }

    fn is_unsteady(&self, task: &Task, key: &str, evaluator: &Evaluator) -> bool {
        drop(evaluator.take_reads());
        let value = self.current(task, key, evaluator);
        value.is_err() || self.are_unsteady(&evaluator.take_reads())
    }

    /// Whether something that was read, directly or not, is other than what the model says: live,
    /// not there, or different each time.
    fn are_unsteady(&self, reads: &Reads) -> bool {
        self.memo.any(reads, MOST_READS, &mut |read| match read {
            Read::Absent { .. } | Read::Volatile => true,
            Read::Attribute { of, name } => is_live(&self.topology, *of, name) == Some(true),
            Read::Special { key, .. } => LIFE_CYCLE.contains(&&**key),
            _ => false,
        })
    }

    /// Gives a task variables that are the same in each job.
    fn set_model_variables(&self, task: &mut Task) {
        self.set_task_variables(task);
        let settings = Value::map([
            ("name", Value::from(task.reference.to_string())),
            ("operation", Value::str(task.reference.operation.as_str())),
            (
                "target",
                Value::str(self.topology.entity(task.target).local_name()),
            ),
            ("workflow", "deploy".into()),
            ("reason", "".into()),
            ("timeout", Value::Null),
            ("dryrun", Value::Bool(false)),
            ("verbose", Value::Int(0)),
            ("cwd", ".".into()),
        ]);
        let vars = &mut task.context.vars;
        vars.set("task", Var::Value(settings));
        let inputs = Inputs::new(task.inputs.as_ref().clone());
        vars.set("inputs", Var::Inputs(Arc::new(inputs)));
    }
}
