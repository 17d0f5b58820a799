//! Jobs that only look for drift: comparison of files with what an operation would write, and the results of the
//! checks.

use std::collections::HashSet;
use std::sync::Arc;

use super::compared_file::{ComparedFile, FileState};
use super::engine::Engine;
use super::task::{Task, TaskIndex};
use super::task_record::TaskRecord;
use crate::expr::{Effect, RequestedWrites};
use crate::name::Status;
use crate::value::{Handle, Map};

/// The result of looking at one instance.
#[derive(Debug, Clone)]
pub struct CheckedInstance {
    pub target: Handle,
    pub record: Arc<TaskRecord>,
    /// True if a test run of the operation that made the instance compared it. Otherwise its own check ran.
    pub is_test: bool,
    /// The machine that was asked, if it is not this one.
    pub host: Option<Arc<str>>,
    /// The status that the check found. None if it found none.
    pub status: Option<Status>,
    /// The attributes that the check set, by entity. Secrets are redacted.
    pub attributes: Vec<(Handle, Map)>,
    /// The files that a test run compared.
    pub files: Vec<ComparedFile>,
    /// The record keys of the values that the check read.
    pub reads: HashSet<String>,
}

impl Engine {
    /// Compares the files that a test run would write with those that exist. Tasks other than test runs compare
    /// nothing.
    pub(super) fn compare_files(&mut self, index: TaskIndex, writes: &RequestedWrites) {
        if !self.ledger.tasks[index].spec.check_only || writes.is_empty() {
            return;
        }
        let secrets = self.secrets_of_job(index).clone();
        let context = &self.context.local_context;
        let mut compared = Vec::new();
        for effect in writes.iter() {
            let Effect::WriteFile {
                path,
                contents,
                sensitive,
            } = &**effect
            else {
                continue;
            };
            let path = self.options.base_dir.join(path);
            // The id of a finding is the same in each clone.
            let name = path.strip_prefix(&self.options.base_dir).unwrap_or(&path);
            let state = |state| ComparedFile {
                path: name.to_owned(),
                state,
            };
            compared.push(if let Err(problem) = context.check_read(&path) {
                state(FileState::Unreadable(problem.to_string()))
            } else if !context.exists(&path) {
                state(FileState::Missing)
            } else {
                match context.read(&path) {
                    Ok(found) => ComparedFile::of(name, &found, contents, *sensitive, &secrets),
                    Err(problem) => state(FileState::Unreadable(problem.to_string())),
                }
            });
        }
        let root = self.ledger.root_task(index);
        let files = &mut self.ledger.tasks[root].compared;
        for file in compared {
            files.retain(|known| known.path != file.path);
            files.push(file);
        }
    }

    /// Returns the results of a job that only looks for drift, in the order of its plan. Empty for other jobs.
    pub(super) fn checked_instances(&self) -> Vec<CheckedInstance> {
        if !self.options.goal.drift {
            return Vec::new();
        }
        let tasks = self.steps.tasks.iter().flatten();
        let checked = tasks.filter_map(|index| {
            let task = &self.ledger.tasks[*index];
            let record = self.ledger.record(*index);
            let record = record.map_or_else(|| Arc::new(self.record_of(*index)), Arc::clone);
            self.includes(*index)
                .then(|| self.checked_instance(task, record))
        });
        checked.collect()
    }

    fn checked_instance(&self, task: &Task, record: Arc<TaskRecord>) -> CheckedInstance {
        let target = task.spec.target;
        let set = task.changes.get(&target).and_then(|changes| changes.status);
        let outcome = task.finished().map(|finished| &finished.outcome);
        let changed = task.changes.iter();
        let changed = changed.filter(|(_, changes)| !changes.attributes.is_empty());
        let attributes = changed.map(|(of, changes)| {
            let values = changes.attributes.iter();
            let values = values.map(|(name, value)| (Arc::clone(name), value.redacted()));
            (*of, values.collect())
        });
        CheckedInstance {
            target,
            record,
            is_test: task.spec.check_only,
            host: self.machine_of(task),
            status: set.or(outcome.and_then(|outcome| outcome.status)),
            attributes: attributes.collect(),
            files: task.compared.clone(),
            reads: task.reads.exact.keys().cloned().collect(),
        }
    }

    /// Returns the machine on which an operation runs. None for this one, and if the machine is not known.
    fn machine_of(&self, task: &Task) -> Option<Arc<str>> {
        let operation = &task.spec.operation;
        operation.implementation.as_ref()?.operation_host.as_ref()?;
        if !task.spec.configurator.runs_on_operation_host() {
            return None;
        }
        let evaluation = self.evaluation();
        let evaluator = evaluation.evaluator_for(task);
        let place = evaluation.operation_location(task.spec.target, operation, &evaluator);
        let place = place.ok().filter(|place| !place.is_local())?;
        Some(place.to_string().into())
    }
}
