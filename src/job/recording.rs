//! Building of task records: while tasks run, when they end, and when the job ends.

use std::sync::Arc;

use super::digest::TaskDigest;
use super::engine::Engine;
use super::event::LogLevel;
use super::options::Recording;
use super::task::{Task, TaskIndex};
use super::task_record::{
    Completion, DependencyRecord, TargetName, TaskData, TaskEnd, TaskRecord, TaskUnit,
};
use super::task_stage::FinishedTask;
use crate::topology::without_directives;
use crate::value::{Handle, Map, Value, insert_some};

impl Engine {
    /// Returns the current record of a task, without digests.
    pub(super) fn record_of(&self, index: TaskIndex) -> TaskRecord {
        let task = &self.ledger.tasks[index];
        let spec = &task.spec;
        TaskRecord {
            task: index + 1,
            target: self.target_name(spec.target),
            operation: spec.reference.clone(),
            class_name: task.class_name(),
            reason: spec.reason.to_string(),
            priority: spec.priority,
            start_state: spec.start_state,
            target_state: task.target_state,
            unit: self.unit_record(task),
            folder: self.folder_key(index),
            place: spec.operation.place(),
            started: task.started().unwrap_or(self.options.start),
            end: task
                .finished()
                .map(|finished| self.task_end(task, finished)),
            data: self.task_data(task),
            digest: TaskDigest::default(),
        }
    }

    fn target_name(&self, of: Handle) -> TargetName {
        let topology = &self.topology;
        let entity = topology.entity(of);
        TargetName {
            key: entity.key.shared(),
            unique_key: topology.unique_key(of),
            is_nested: topology.root_of(of) != topology.root(),
            name: entity.local_name().to_owned(),
            nested_name: entity.name.to_string(),
            template: entity.template_name().to_owned(),
            type_name: entity.type_name().to_owned(),
        }
    }

    fn unit_record(&self, task: &Task) -> TaskUnit {
        let instance = self.task_instance(task);
        let workflow = self.evaluation().workflow_of(task.spec.group);
        TaskUnit {
            group: task.spec.group,
            workflow: workflow.map(ToString::to_string),
            instance: self
                .topology
                .unique_key(instance.unwrap_or(task.spec.target)),
            record_path: instance.map_or_else(Vec::new, |of| self.topology.record_path(of)),
        }
    }

    fn task_end(&self, task: &Task, finished: &FinishedTask) -> TaskEnd {
        TaskEnd {
            id: finished.id,
            number: finished.number,
            status: finished.status(),
            time: finished.finished_at,
            previous: finished.previous,
            blocked: finished.blocked,
            changed: finished.changed,
            completion: self.completion(task, finished),
        }
    }

    fn completion(&self, task: &Task, finished: &FinishedTask) -> Completion {
        if self.is_in_doubt(task) {
            Completion::InDoubt
        } else if self.is_half_done(task) {
            Completion::HalfDone
        } else if finished.interrupted {
            Completion::Interrupted
        } else {
            Completion::Complete
        }
    }

    fn task_data(&self, task: &Task) -> TaskData {
        let inputs = task.reads.resolved.iter();
        let inputs = inputs.map(|(name, value)| (Arc::clone(name), with_secrets(value)));
        let outcome = task.finished().map(|finished| &finished.outcome);
        let result = outcome.and_then(|outcome| outcome.result.as_ref());
        let outputs = outcome.and_then(|outcome| outcome.outputs.as_ref());
        TaskData {
            inputs: inputs.collect(),
            changes: self.entity_changes(task),
            messages: task.errors.clone(),
            dependencies: self.dependency_records(task),
            outputs: outputs.map(redacted_map),
            result: result.map(recorded).unwrap_or_default(),
        }
    }

    fn entity_changes(&self, task: &Task) -> Map {
        let mut changes = Map::new();
        for (of, change) in &task.changes {
            let mut entries: Map = change.attributes.clone();
            let status = change.status.map(|status| Value::from(status.as_str()));
            insert_some(&mut entries, ".status", status);
            insert_some(&mut entries, ".added", change.added.clone());
            if !entries.is_empty() {
                let key = self.topology.entity(*of).key.shared();
                changes.insert(key, with_secrets(&Value::from(entries)));
            }
        }
        changes
    }

    fn dependency_records(&self, task: &Task) -> Vec<DependencyRecord> {
        let all = task.reads.dependencies.iter();
        all.map(|((of, name), dependency)| DependencyRecord {
            key: format!("{}::{name}", self.topology.entity(*of).key),
            value: if dependency.value.is_null() {
                Value::Null
            } else {
                with_secrets(&dependency.value)
            },
            write_only: dependency.write_only,
        })
        .collect()
    }

    /// Makes the record of a finished task. If the job is journaled, digests are included.
    ///
    /// Returns a warning if the key for digests is not available.
    pub(super) fn record_end(&mut self, index: TaskIndex) -> (Arc<TaskRecord>, Option<String>) {
        let mut record = self.record_of(index);
        let mut warning = None;
        if self.recording == Recording::Journal {
            warning = self.get_digest_key_for(index);
            record.digest = self.evaluation().digest(&self.ledger.tasks[index]);
        }
        let record = Arc::new(record);
        self.ledger.store_record(index, Arc::clone(&record));
        (record, warning)
    }

    /// Gets the digest key for one finished task, like [`Self::get_digest_key`].
    fn get_digest_key_for(&mut self, index: TaskIndex) -> Option<String> {
        let task = &self.ledger.tasks[index];
        let is_missing = self.is_digest_key_missing(std::iter::once(task));
        is_missing.then(|| self.fetch_digest_key()).flatten()
    }

    /// Gets the key for digests of secrets if a listed task has read any.
    ///
    /// Without a key, records contain no digests of secrets. Returns a warning if the key should exist
    /// but does not.
    fn get_digest_key(&mut self) -> Option<String> {
        let is_missing = self.is_digest_key_missing(self.ledger.listed());
        is_missing.then(|| self.fetch_digest_key()).flatten()
    }

    /// Whether a key is needed because one of these tasks has read secrets, and none is loaded.
    fn is_digest_key_missing<'t>(&self, mut tasks: impl Iterator<Item = &'t Task>) -> bool {
        let evaluation = self.evaluation();
        self.context.digest_key.is_none() && tasks.any(|it| evaluation.has_read_secrets(it))
    }

    fn fetch_digest_key(&mut self) -> Option<String> {
        let may_create = !self.options.goal.dry_run;
        match self.context.keys.recording_key(may_create) {
            Ok(key) => {
                self.context.digest_key = key;
                None
            }
            Err(problem) => Some(format!(
                "no digests of secrets are recorded, so changed secrets will not be detected: \
                 {problem}; {}",
                problem.help()
            )),
        }
    }

    /// Completes the records of listed tasks at the end of the job, and returns those that differ from
    /// the ones reported before.
    ///
    /// Later tasks may add to a record. Digests of model values use the final values, because the next
    /// job compares with those.
    pub(super) fn complete_records(&mut self) -> Vec<Arc<TaskRecord>> {
        let mut changed = Vec::new();
        if std::mem::replace(&mut self.ledger.has_complete_records, true) {
            return changed;
        }
        if self.recording != Recording::Disabled
            && let Some(warning) = self.get_digest_key()
        {
            self.log(LogLevel::Warning, warning);
        }
        for index in self.ledger.listed_order.clone() {
            let is_new = self.ledger.record(index).is_none();
            let Some(record) = self.final_record(index) else {
                continue;
            };
            let record = Arc::new(record);
            self.ledger.store_record(index, Arc::clone(&record));
            if !is_new {
                changed.push(record);
            }
        }
        changed
    }

    /// Returns the final record of a task. None if it equals the stored one.
    fn final_record(&self, index: TaskIndex) -> Option<TaskRecord> {
        let task = &self.ledger.tasks[index];
        let digest = || self.evaluation().digest(task);
        let recording = self.recording;
        let Some(stored) = self.ledger.record(index) else {
            let mut record = self.record_of(index);
            if recording != Recording::Disabled {
                record.digest = digest();
            }
            return Some(record);
        };
        let needs_digest = match recording {
            Recording::Disabled => false,
            Recording::AtEnd => true,
            Recording::Journal => self.reads_state_at_end(task),
        };
        let digest = needs_digest.then(digest);
        let digest = digest.filter(|digest| *digest != stored.digest);
        match (self.amended_record(index), digest) {
            (amended, None) => amended,
            (amended, Some(digest)) => {
                let mut record = amended.unwrap_or_else(|| TaskRecord::clone(stored));
                record.digest = digest;
                Some(record)
            }
        }
    }

    /// Returns an updated record if a task's end has changed since it was reported. None if it has not
    /// changed or was not reported.
    pub(super) fn amended_record(&self, index: TaskIndex) -> Option<TaskRecord> {
        let task = &self.ledger.tasks[index];
        let stored = self.ledger.record(index)?;
        let end = task
            .finished()
            .map(|finished| self.task_end(task, finished));
        if stored.end == end && stored.target_state == task.target_state {
            return None;
        }
        let mut record = TaskRecord::clone(stored);
        record.end = end;
        record.target_state = task.target_state;
        Some(record)
    }

    /// Whether the task's digest uses the values at the end of the job.
    fn reads_state_at_end(&self, task: &Task) -> bool {
        let implementation = task.spec.operation.implementation.as_ref();
        let has_environment = implementation.is_some_and(|it| !it.environment.is_empty());
        has_environment || self.evaluation().compares_model_only(task)
    }
}

fn redacted_map(map: &Map) -> Map {
    let entries = map.iter();
    entries
        .map(|(name, value)| (Arc::clone(name), recorded(value)))
        .collect()
}

/// Returns a value as records of tasks contain it. They encrypt or redact its secrets when they are written.
fn with_secrets(value: &Value) -> Value {
    without_directives(value.with_secret_externals_resolved())
}

/// Returns a value as records of tasks contain it, redacted.
fn recorded(value: &Value) -> Value {
    without_directives(value.redacted())
}
