//! Whether what an operation read has changed since it ran last.

use std::collections::BTreeSet;

use super::change::Change;
use super::digest::{AS_WRITTEN, ENVIRONMENT, Entries, as_written, exact_digest, pairs};
use super::evaluation::Evaluation;
use super::history::LastOperation;
use super::task::Task;
use crate::expr::{Evaluator, Read, Reads};
use crate::value::{Handle, upstream_digest};

/// How many instances a message names.
const MOST_NAMES: usize = 5;

/// The result of comparing a task with the last record of its operation.
#[derive(Debug)]
pub(super) struct Compared {
    pub(super) change: Change,
    /// The values that were read to find out.
    pub(super) reads: Reads,
    /// Whether nobody can tell if secrets have changed.
    pub(super) has_unknown_secrets: bool,
}

impl Evaluation<'_> {
    /// What has changed of what the operation of a task read last time, and what was read to find
    /// out. An operation without a record, or one that read nothing, has not changed.
    pub(super) fn has_changed(&self, task: &Task) -> Compared {
        let mut compared = Compared {
            change: Change::None,
            reads: Reads::default(),
            has_unknown_secrets: false,
        };
        let operation = task.spec.reference.operation.as_str();
        let Some(last) = self.last_operation(task.spec.target, operation) else {
            return compared;
        };
        let evaluator = self.evaluator_for(task);
        compared.change = self.compare(task, &last, &evaluator);
        compared.reads = evaluator.take_reads();
        let reads = &compared.reads;
        if compared.change.is_change() && self.withheld_read(task, reads).is_some() {
            // What is not on record cannot be told from what it was.
            compared.change = Change::CannotTell;
            return compared;
        }
        compared.has_unknown_secrets = compared.change == Change::CannotTell;
        if !last.is_exact() && !last.digest_keys.is_empty() && !compared.change.is_change() {
            compared.change = new_inputs(task, &last, reads);
        }
        compared
    }

    /// The last record of an operation on an entity. In records of Unfurl the entities of nested
    /// topologies are not told apart.
    pub(super) fn last_operation(&self, of: Handle, operation: &str) -> Option<LastOperation> {
        let key = &self.topology.entity(of).key;
        let whole = self.topology.whole_key(of);
        let found = self.surroundings.history.last(&whole, operation);
        found.or_else(|| self.surroundings.history.last(key.as_str(), operation))
    }

    /// What a comparison with a record shows: with our fields if it has them, else as upstream
    /// does it.
    pub(super) fn compare(
        &self,
        task: &Task,
        last: &LastOperation,
        evaluator: &Evaluator,
    ) -> Change {
        if !last.is_exact() {
            return self.compare_as_upstream(task, last, evaluator);
        }
        let removed = removed_of(task, last.exact_keys.iter().chain(&last.secret_keys));
        if !removed.is_empty() {
            return Change::Keys(removed);
        }
        let written = format!("{AS_WRITTEN}{ENVIRONMENT}");
        let has_environment = last.has(ENVIRONMENT) || last.has(&written);
        if !has_environment && as_written(task, ENVIRONMENT).is_some() {
            return Change::Inputs(vec![ENVIRONMENT.to_owned()]);
        }
        let open = match self.evaluate_keys(task, &last.exact_keys, evaluator) {
            Ok(entries) => entries,
            Err(keys) => return Change::Keys(keys),
        };
        if exact_digest(&open) != last.exact_value {
            return Change::Values;
        }
        self.compare_secrets(task, last, evaluator)
    }

    fn compare_secrets(&self, task: &Task, last: &LastOperation, evaluator: &Evaluator) -> Change {
        if last.secret_keys.is_empty() {
            return Change::None;
        }
        let Ok(Some(key)) = self.surroundings.keys.of_id(&last.secret_key) else {
            return Change::CannotTell;
        };
        match self.evaluate_keys(task, &last.secret_keys, evaluator) {
            Err(keys) => Change::Keys(keys),
            Ok(entries) if key.digest(pairs(&entries)) == last.secret_value => Change::None,
            Ok(_) => Change::Secrets,
        }
    }

    fn compare_as_upstream(
        &self,
        task: &Task,
        last: &LastOperation,
        evaluator: &Evaluator,
    ) -> Change {
        let keys = &last.digest_keys;
        if keys.is_empty() {
            return Change::None;
        }
        let removed = removed_of(task, keys.iter());
        if !removed.is_empty() {
            return Change::Keys(removed);
        }
        let entries = match self.evaluate_keys(task, keys, evaluator) {
            Ok(entries) => entries,
            Err(keys) => return Change::Keys(keys),
        };
        if upstream_digest(entries.iter().map(|(_, value)| value)) == last.digest_value {
            Change::None
        } else {
            Change::Values
        }
    }

    /// The keys with their values now. What cannot be evaluated any more is a change: running it
    /// shows why.
    fn evaluate_keys(
        &self,
        task: &Task,
        keys: &[String],
        evaluator: &Evaluator,
    ) -> Result<Entries, Vec<String>> {
        let mut entries = Entries::with_capacity(keys.len());
        for key in keys {
            match self.current(task, key, evaluator) {
                Ok(value) => entries.push((key.clone(), value)),
                Err(_) => return Err(vec![key.clone()]),
            }
        }
        Ok(entries)
    }

    /// A warning about the instances of which nobody can tell whether secrets have changed, with
    /// what to do; none if there are none.
    pub(super) fn describe_unknown_secrets(&self, unknown: &BTreeSet<Handle>) -> Option<String> {
        if unknown.is_empty() {
            return None;
        }
        let name = |of: &Handle| format!("`{}`", self.topology.entity(*of).name);
        let mut names: Vec<String> = unknown.iter().take(MOST_NAMES).map(name).collect();
        if unknown.len() > MOST_NAMES {
            names.push(format!("{} more", unknown.len() - MOST_NAMES));
        }
        let why = match self.surroundings.keys.for_records(false) {
            Err(problem) => format!("{problem}; {}", problem.help()),
            Ok(_) => "the key of their recorded digests is not here; give the vault password that \
                      was given then (`UNFURL_VAULT_DEFAULT_PASSWORD`), or restore `local/digest.key`. `--force` deploys them again \
                      and records new digests"
                .to_owned(),
        };
        Some(format!(
            "cannot tell whether secrets that {} read have changed, so they are taken for \
             unchanged: {why}",
            names.join(", ")
        ))
    }
}

/// The inputs that what was read before makes use of now, where they are not among it (§ (i)).
fn new_inputs(task: &Task, last: &LastOperation, reads: &Reads) -> Change {
    let is_new = |name: &str| {
        let known = last.digest_keys.iter().any(|key| key.as_str() == name);
        !known && task.counts_in_digest(name)
    };
    let new = reads.iter().filter_map(|(read, _)| match read {
        Read::Input(name) if is_new(name) => Some(name.to_string()),
        _ => None,
    });
    let new: Vec<_> = new.collect();
    if new.is_empty() {
        Change::None
    } else {
        Change::Inputs(new)
    }
}

/// The keys of a record whose inputs are not there any more.
fn removed_of<'k>(task: &Task, keys: impl Iterator<Item = &'k String>) -> Vec<String> {
    let is_removed = |key: &&String| {
        let name = key.strip_prefix(AS_WRITTEN).unwrap_or(key);
        let is_input = name == ENVIRONMENT || !name.contains("::");
        is_input && as_written(task, name).is_none()
    };
    keys.filter(is_removed).cloned().collect()
}
