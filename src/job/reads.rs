//! Recording of reads: stores in the topology and the task which attributes were read and with which
//! values.

use std::sync::Arc;

use super::engine::Engine;
use super::live_attributes::is_live;
use super::task::{TaskDependency, TaskIndex};
use crate::expr::{Read, Reads, RequestedWrites};
use crate::topology::EntityKind;
use crate::value::{Handle, Value};

/// The maximum number of attributes in one task's record.
///
/// Unfurl (Python)'s format includes attributes read through others, which would be very many for long
/// chains.
const MAX_DEPENDENCIES: usize = 1000;

impl Engine {
    /// Stores observed values in the topology.
    pub(super) fn observe(&mut self, reads: &Reads) {
        // The evaluator must be dropped before the topology changes.
        let closure = self
            .evaluation()
            .evaluator()
            .closure(reads, MAX_DEPENDENCIES);
        for (of, name, value) in closure {
            self.observe_one(of, &name, value);
        }
    }

    fn observe_one(&mut self, of: Handle, name: &Arc<str>, value: Value) -> Option<bool> {
        let of = self.topology.stand_in(of).unwrap_or(of);
        let live = is_live(&self.topology, of, name)?;
        if live {
            self.topology_mut().set_attribute(of, name, value);
        } else {
            let value = self.evaluation().mark_local(of, name, value);
            self.topology_mut().observe_property(of, name, value);
        }
        Some(live)
    }

    /// Adds the values that a task has read to the task and to the topology.
    pub(super) fn commit_reads(&mut self, index: TaskIndex, reads: &Reads) {
        let mut read_inputs = false;
        let task = &mut self.ledger.tasks[index];
        task.writes.requested.append(reads.writes());
        let task = &self.ledger.tasks[index];
        let (closure, seen) = {
            let evaluator = self.evaluation().evaluator_for(task);
            let closure = evaluator.closure(reads, MAX_DEPENDENCIES);
            (closure, evaluator.seen_by_upstream(reads, MAX_DEPENDENCIES))
        };
        for (of, name, value) in closure {
            if of == self.topology.inputs() {
                read_inputs = true;
                continue;
            }
            let is_seen = seen
                .as_ref()
                .is_none_or(|seen| seen.contains(&(of, Arc::clone(&name))));
            let of = self.topology.stand_in(of).unwrap_or(of);
            let Some(live) = self.observe_one(of, &name, value.clone()) else {
                continue;
            };
            let value = self.evaluation().mark_local(of, &name, value);
            let dependencies = &self.ledger.tasks[index].reads.dependencies;
            let known = dependencies.get(&(of, Arc::clone(&name)));
            let was_seen = known.is_some_and(|known| known.in_digest && !known.write_only);
            let dependency = TaskDependency {
                in_digest: is_seen || was_seen || live,
                value,
                live,
                write_only: false,
            };
            let reads = &mut self.ledger.tasks[index].reads;
            reads.dependencies.insert((of, name), dependency);
        }
        if read_inputs {
            let inputs = self.evaluation().inputs();
            let inputs = self
                .evaluation()
                .mark_locals(self.topology.inputs(), inputs);
            let value = Value::from(inputs);
            let dependency = TaskDependency {
                in_digest: true,
                value,
                live: false,
                write_only: false,
            };
            let key = (self.topology.root(), Arc::from("inputs"));
            let reads = &mut self.ledger.tasks[index].reads;
            reads.dependencies.insert(key, dependency);
        }
        self.commit_inputs(index, reads);
    }

    /// Writes the files that the expressions of a task request, because the task runs. Each is written once.
    ///
    /// A dry run writes temporary files only.
    pub(super) fn perform_writes(&mut self, index: TaskIndex) -> Result<(), String> {
        let of_environment = std::mem::take(&mut self.environment_writes);
        let writes = &mut self.ledger.tasks[index].writes;
        writes.requested.append(&of_environment);
        if writes.requested.is_empty() {
            return Ok(());
        }
        let mut due = writes.requested.without(&writes.performed);
        if self.options.goal.dry_run || self.options.goal.drift {
            let open = due;
            due = open.below(&self.context.local_context.temp_dir());
            self.compare_files(index, &open.without(&due));
        }
        let performed = self.evaluation().evaluator().perform_writes(&due);
        let writes = &mut self.ledger.tasks[index].writes;
        writes.requested = RequestedWrites::default();
        performed.map_err(|error| error.to_string())?;
        writes.performed.append(&due);
        Ok(())
    }

    fn commit_inputs(&mut self, index: TaskIndex, reads: &Reads) {
        // Reads of all inputs or outputs as a whole are left out, because their parts are recorded
        // individually.
        let task = &self.ledger.tasks[index];
        let evaluation = self.evaluation();
        let target = task.spec.target;
        let is_whole = |of: &Handle| matches!(self.topology.entity(*of).kind, EntityKind::Root);
        let exact = reads.iter().filter_map(|(read, value)| {
            let key = match read {
                Read::Attribute { of, .. } if is_whole(of) => return None,
                Read::Input(name) if task.counts_in_digest(name) => name.to_string(),
                Read::Attribute { of, name } => evaluation.exact_key(target, *of, name)?,
                _ => return None,
            };
            Some((key, value.clone()))
        });
        let exact: Vec<_> = exact.collect();
        let task = &mut self.ledger.tasks[index];
        task.reads.exact.extend(exact);
        let inputs = reads.iter().filter_map(|(read, value)| match read {
            Read::Input(name) => Some((name, value)),
            _ => None,
        });
        // Unfurl (Python) lists the operation's own inputs as declared, followed by the others as read.
        let mut inputs: Vec<_> = inputs.collect();
        let own = &task.inputs;
        let place = |name: &str| own.raw.get_index_of(name).unwrap_or(own.declared);
        inputs.sort_by_key(|(name, _)| place(name).min(own.declared));
        let task = &self.ledger.tasks[index];
        let evaluation = self.evaluation();
        let inputs = inputs.into_iter().map(|(name, value)| {
            let value = evaluation.mark_local_input(task, name, value.clone());
            (Arc::clone(name), value)
        });
        let inputs: Vec<_> = inputs.collect();
        self.ledger.tasks[index].reads.resolved.extend(inputs);
        self.commit_files(index, reads);
    }

    /// Adds the files that recorded reads name, with their contents as they are before the task runs.
    fn commit_files(&mut self, index: TaskIndex, reads: &Reads) {
        let task = &self.ledger.tasks[index];
        let evaluation = self.evaluation();
        let paths = evaluation.files_read(task, reads);
        let known = |key: &String| !task.reads.files.contains_key(key);
        let keys = paths.iter().filter_map(|path| evaluation.file_key(path));
        let keys: Vec<String> = keys.filter(known).collect();
        let found = keys
            .into_iter()
            .map(|key| (evaluation.file_digest(&key), key));
        let found: Vec<_> = found.collect();
        let files = &mut self.ledger.tasks[index].reads.files;
        files.extend(found.into_iter().map(|(digest, key)| (key, digest)));
    }

    /// Sets an attribute on behalf of a task and records the change.
    pub(super) fn set_attribute(
        &mut self,
        index: TaskIndex,
        of: Handle,
        name: &Arc<str>,
        value: &Value,
    ) {
        let of = self.topology.stand_in(of).unwrap_or(of);
        let value = value.with_externals_resolved();
        let value = self.mark_sensitive(of, name, self.foreign(value));
        // The value in the record must have the same digest.
        let value = value.with_whole_secrets();
        let was_set = self.topology.entity(of).attributes.contains_key(name);
        let changed = self.topology_mut().set_attribute(of, name, value.clone());
        // Setting a missing attribute to null stores it but does not count as a change.
        let changed = changed && (was_set || !value.is_null());
        let key = (of, Arc::clone(name));
        let task = &mut self.ledger.tasks[index];
        if changed {
            let changes = task.changes.entry(of).or_default();
            changes.attributes.insert(Arc::clone(name), value.clone());
        }
        task.reads
            .dependencies
            .entry(key)
            .and_modify(|dependency| {
                dependency.value = value.clone();
                dependency.live = true;
            })
            .or_insert(TaskDependency {
                in_digest: true,
                value,
                live: true,
                write_only: true,
            });
    }

    /// Marks a value that a task has set as data, unless the user allows the evaluation of results.
    fn foreign(&self, value: Value) -> Value {
        value.data_if(!self.context.local_context.evaluates_results())
    }

    fn mark_sensitive(&self, of: Handle, name: &str, value: Value) -> Value {
        use crate::expr::Scope as _;
        let declared = self.topology.attribute(of, name);
        value.sensitive_if(declared.is_some_and(|attribute| attribute.sensitive))
    }
}
