//! Change detection for `create` and `start`: on a working instance they run again only if model values
//! that they read have changed.
//!
//! Results of tasks must not count, otherwise a deployment would change its own inputs: an attribute that
//! `configure` sets and `create` reads would repeat `create` at each job. Therefore live attributes are
//! left out, and an input that depends on one is compared as written. The compared values are evaluated
//! at the end of a job, which is the state that the next job starts with.

use std::sync::Arc;

use super::change::DetectedChange;
use super::digest::{AS_WRITTEN_PREFIX, DigestEntries, ENVIRONMENT_KEY, written_value};
use super::evaluation::Evaluation;
use super::history::LastOperation;
use super::live_attributes::is_live;
use super::task::Task;
use crate::expr::{Evaluator, Inputs, Read, Reads, Var};
use crate::topology::EntityKind;
use crate::tosca::Operation;
use crate::value::{Handle, Value};

/// The maximum number of attributes to search for a live one.
const MAX_READS: usize = 1000;

/// Special keys that depend on the life cycle of an instance.
const LIFE_CYCLE_KEYS: &[&str] = &[
    ".status",
    ".state",
    ".local_status",
    ".created",
    ".protected",
    ".customized",
    ".operational",
];

impl Evaluation<'_> {
    /// Returns the change of the model values that an operation on an instance read at its last run.
    pub(super) fn model_change(
        &self,
        target: Handle,
        operation: &Arc<Operation>,
    ) -> DetectedChange {
        let name = operation.reference.operation.as_str();
        let last = self.last_operation(target, name);
        let Some(last) = last.filter(LastOperation::is_exact) else {
            return DetectedChange::None;
        };
        let reference = operation.reference.clone();
        let mut task = self.make_task(target, reference, Arc::clone(operation), None);
        if !task.errors.is_empty() {
            return DetectedChange::None;
        }
        self.set_model_variables(&mut task);
        let evaluator = self.evaluator_for(&task);
        let change = self.compare(&task, &last, &evaluator);
        match &change {
            // A model value has since become one that tasks set, so the record cannot be compared.
            DetectedChange::Values | DetectedChange::Secrets => {
                let mut keys = last.exact_keys.iter().chain(&last.secret_keys);
                if keys.any(|key| self.is_unstable(&task, key, &evaluator)) {
                    return DetectedChange::None;
                }
            }
            _ => {}
        }
        change
    }

    /// Whether a task is compared by its model values only.
    pub(super) fn compares_model_only(&self, task: &Task) -> bool {
        let is_node = matches!(
            self.topology.entity(task.spec.target).kind,
            EntityKind::Node(_)
        );
        let operation = task.spec.reference.operation.as_str();
        is_node
            && task.spec.reference.interface.as_str() == "Standard"
            && matches!(operation, "create" | "start")
    }

    /// Returns the model values that a task read, as they are now.
    pub(super) fn model_entries(&self, task: &Task) -> DigestEntries {
        let (reference, operation) = (
            task.spec.reference.clone(),
            Arc::clone(&task.spec.operation),
        );
        let mut probe = self.make_task(task.spec.target, reference, operation, None);
        probe.inputs.raw = Arc::clone(&task.inputs.raw);
        self.set_model_variables(&mut probe);
        let evaluator = self.evaluator_for(&probe);
        let mut entries = indexmap::IndexMap::new();
        let environment = written_value(task, ENVIRONMENT_KEY).map(|_| ENVIRONMENT_KEY.to_owned());
        for key in task.reads.exact.keys().cloned().chain(environment) {
            for (key, value) in self.stable_entries(&probe, &key, &evaluator) {
                entries.entry(key).or_insert(value);
            }
        }
        entries.into_iter().collect()
    }

    /// Returns the entries to compare for a key: its value if no task changes it, otherwise the written
    /// input and the model values it depends on.
    fn stable_entries(&self, task: &Task, key: &str, evaluator: &Evaluator) -> DigestEntries {
        drop(evaluator.take_reads());
        let value = self.current_value(task, key, evaluator);
        let reads = evaluator.take_reads();
        if let Ok(value) = value
            && !self.has_unstable_reads(&reads)
        {
            return vec![(key.to_owned(), value)];
        }
        let mut entries = DigestEntries::new();
        if let Some(written) = written_value(task, key) {
            entries.push((format!("{AS_WRITTEN_PREFIX}{key}"), written));
        }
        for (of, name, _) in evaluator.closure(&reads, MAX_READS) {
            if is_live(self.topology, of, &name) == Some(true) {
                continue;
            }
            let inner = self.attribute_key(of, &name).filter(|inner| inner != key);
            let Some(inner) = inner else { continue };
            drop(evaluator.take_reads());
            if let Ok(value) = self.current_value(task, &inner, evaluator)
                && !self.has_unstable_reads(&evaluator.take_reads())
            {
                entries.push((inner, value));
            }
        }
        entries
    }

    fn is_unstable(&self, task: &Task, key: &str, evaluator: &Evaluator) -> bool {
        drop(evaluator.take_reads());
        let value = self.current_value(task, key, evaluator);
        value.is_err() || self.has_unstable_reads(&evaluator.take_reads())
    }

    /// Whether any value that was read, directly or indirectly, is not determined by the model: it is
    /// live, missing, or volatile.
    fn has_unstable_reads(&self, reads: &Reads) -> bool {
        self.context
            .memo
            .any_read(reads, MAX_READS, &mut |read| match read {
                Read::Absent { .. } | Read::Volatile => true,
                Read::Attribute { of, name } => is_live(self.topology, *of, name) == Some(true),
                Read::Special { key, .. } => LIFE_CYCLE_KEYS.contains(&&**key),
                _ => false,
            })
    }

    /// Sets the task's variables to values that are the same in every job.
    fn set_model_variables(&self, task: &mut Task) {
        self.set_task_variables(task);
        let settings = Value::map([
            ("name", Value::from(task.spec.reference.to_string())),
            (
                "operation",
                Value::str(task.spec.reference.operation.as_str()),
            ),
            (
                "target",
                Value::str(self.topology.entity(task.spec.target).local_name()),
            ),
            ("workflow", "deploy".into()),
            ("reason", "".into()),
            ("timeout", Value::Null),
            ("dryrun", Value::Bool(false)),
            ("verbose", Value::Int(0)),
            ("cwd", ".".into()),
        ]);
        let vars = &mut task.inputs.context.vars;
        vars.set("task", Var::Value(settings));
        let inputs = Inputs::new(task.inputs.raw.as_ref().clone());
        vars.set("inputs", Var::Inputs(Arc::new(inputs)));
    }
}
