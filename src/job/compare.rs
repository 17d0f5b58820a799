//! Change detection: compares the values that an operation read at its last run with the current ones.

use std::collections::BTreeSet;

use super::change::DetectedChange;
use super::digest::{
    AS_WRITTEN_PREFIX, DigestEntries, ENVIRONMENT_KEY, exact_digest, key_value_list, written_value,
};
use super::evaluation::Evaluation;
use super::history::LastOperation;
use super::task::Task;
use crate::expr::{Evaluator, Read, Reads};
use crate::value::{Handle, Value, matches_unfurl_digest, with_yaml_1_1_booleans};

/// The maximum number of instances that a message names.
const MAX_NAMES: usize = 5;

/// The result of comparing a task with the last record of its operation.
#[derive(Debug)]
pub(super) struct RecordComparison {
    pub(super) change: DetectedChange,
    /// The values that were read for the comparison.
    pub(super) reads: Reads,
    /// Whether it is unknown if secrets have changed.
    pub(super) has_unknown_secrets: bool,
}

impl Evaluation<'_> {
    /// Compares the values that a task's operation read last time with the current ones.
    ///
    /// An operation without a record, or one that read no values, counts as unchanged.
    pub(super) fn compare_with_last(&self, task: &Task) -> RecordComparison {
        let mut compared = RecordComparison {
            change: DetectedChange::None,
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
        if compared.change.is_change() && self.missing_secret_read(task, reads).is_some() {
            // A secret that is missing from the record cannot be compared.
            compared.change = DetectedChange::Unknown;
            return compared;
        }
        compared.has_unknown_secrets = compared.change == DetectedChange::Unknown;
        if !last.is_exact() && !last.digest_keys.is_empty() && !compared.change.is_change() {
            compared.change = added_inputs(task, &last, reads);
        }
        compared
    }

    /// Returns the last record of an operation on an entity.
    ///
    /// Records of Unfurl (Python) do not distinguish entities of nested topologies, so the plain key is
    /// tried second.
    pub(super) fn last_operation(&self, of: Handle, operation: &str) -> Option<LastOperation> {
        let key = &self.topology.entity(of).key;
        let whole = self.topology.unique_key(of);
        let found = self.context.history.last_operation(&whole, operation);
        found.or_else(|| self.context.history.last_operation(key.as_str(), operation))
    }

    /// Compares a task with a record: by the exact digest fields if the record has them, otherwise as
    /// Unfurl (Python) does.
    pub(super) fn compare(
        &self,
        task: &Task,
        last: &LastOperation,
        evaluator: &Evaluator,
    ) -> DetectedChange {
        if !last.is_exact() {
            return self.compare_as_upstream(task, last, evaluator);
        }
        let removed = removed_inputs(task, last.exact_keys.iter().chain(&last.secret_keys));
        if !removed.is_empty() {
            return DetectedChange::Keys(removed);
        }
        let written = format!("{AS_WRITTEN_PREFIX}{ENVIRONMENT_KEY}");
        let has_environment = last.has_digest(ENVIRONMENT_KEY) || last.has_digest(&written);
        if !has_environment && written_value(task, ENVIRONMENT_KEY).is_some() {
            return DetectedChange::Inputs(vec![ENVIRONMENT_KEY.to_owned()]);
        }
        let open = match self.evaluate_keys(task, &last.exact_keys, evaluator) {
            Ok(entries) => entries,
            Err(keys) => return DetectedChange::Keys(keys),
        };
        if exact_digest(&open) != last.exact_value {
            return DetectedChange::Values;
        }
        self.compare_secrets(task, last, evaluator)
    }

    fn compare_secrets(
        &self,
        task: &Task,
        last: &LastOperation,
        evaluator: &Evaluator,
    ) -> DetectedChange {
        if last.secret_keys.is_empty() {
            return DetectedChange::None;
        }
        let Ok(Some(key)) = self.context.keys.key_by_name(&last.secret_key) else {
            return DetectedChange::Unknown;
        };
        match self.evaluate_keys(task, &last.secret_keys, evaluator) {
            Err(keys) => DetectedChange::Keys(keys),
            Ok(entries) if key.digest(key_value_list(&entries)) == last.secret_value => {
                DetectedChange::None
            }
            Ok(_) => DetectedChange::Secrets,
        }
    }

    fn compare_as_upstream(
        &self,
        task: &Task,
        last: &LastOperation,
        evaluator: &Evaluator,
    ) -> DetectedChange {
        let keys = &last.digest_keys;
        if keys.is_empty() {
            return DetectedChange::None;
        }
        let removed = removed_inputs(task, keys.iter());
        if !removed.is_empty() {
            return DetectedChange::Keys(removed);
        }
        let entries = match self.evaluate_keys(task, keys, evaluator) {
            Ok(entries) => entries,
            Err(keys) => return DetectedChange::Keys(keys),
        };
        let values: Vec<&Value> = entries.iter().map(|(_, value)| value).collect();
        if matches_unfurl_digest(&values, &last.digest_value) {
            return DetectedChange::None;
        }
        let entries = self.entries_with_locals(task, keys);
        let values: Vec<&Value> = entries.iter().map(|(_, value)| value).collect();
        let has_locals = values.iter().any(|value| value.has_local());
        if has_locals && matches_unfurl_digest(&values, &last.digest_value) {
            return DetectedChange::None;
        }
        let values: Vec<Value> = entries
            .iter()
            .map(|(_, value)| with_yaml_1_1_booleans(value))
            .collect();
        let values: Vec<&Value> = values.iter().collect();
        if matches_unfurl_digest(&values, &last.digest_value) {
            return DetectedChange::None;
        }
        DetectedChange::Values
    }

    /// Evaluates the current values of record keys.
    ///
    /// A key that can no longer be evaluated counts as a change, because running the operation shows the
    /// reason.
    fn evaluate_keys(
        &self,
        task: &Task,
        keys: &[String],
        evaluator: &Evaluator,
    ) -> Result<DigestEntries, Vec<String>> {
        let mut entries = DigestEntries::with_capacity(keys.len());
        for key in keys {
            match self.current_value(task, key, evaluator) {
                Ok(value) => entries.push((key.clone(), value)),
                Err(_) => return Err(vec![key.clone()]),
            }
        }
        Ok(entries)
    }

    /// Returns a warning with advice about instances for which it is unknown whether secrets have
    /// changed. None if there are none.
    pub(super) fn describe_unknown_secrets(&self, unknown: &BTreeSet<Handle>) -> Option<String> {
        if unknown.is_empty() {
            return None;
        }
        let name = |of: &Handle| format!("`{}`", self.topology.entity(*of).name);
        let mut names: Vec<String> = unknown.iter().take(MAX_NAMES).map(name).collect();
        if unknown.len() > MAX_NAMES {
            names.push(format!("{} more", unknown.len() - MAX_NAMES));
        }
        let why = match self.context.keys.recording_key(false) {
            Err(problem) => format!("{problem}; {}", problem.help()),
            Ok(_) => {
                "the key of their recorded digests is missing; use the same vault password as \
                 before (`UNFURL_VAULT_DEFAULT_PASSWORD`), or restore `local/digest.key`. \
                 `--force` deploys them again and records new digests"
                    .to_owned()
            }
        };
        Some(format!(
            "cannot determine whether secrets that {} read have changed, so they count as \
             unchanged: {why}",
            names.join(", ")
        ))
    }
}

/// Returns the inputs that previously read values now use but did not use before (rule U-i).
fn added_inputs(task: &Task, last: &LastOperation, reads: &Reads) -> DetectedChange {
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
        DetectedChange::None
    } else {
        DetectedChange::Inputs(new)
    }
}

/// Returns the record keys whose inputs no longer exist.
fn removed_inputs<'k>(task: &Task, keys: impl Iterator<Item = &'k String>) -> Vec<String> {
    let is_removed = |key: &&String| {
        let name = key.strip_prefix(AS_WRITTEN_PREFIX).unwrap_or(key);
        let is_input = name == ENVIRONMENT_KEY || !name.contains("::");
        is_input && written_value(task, name).is_none()
    };
    keys.filter(is_removed).cloned().collect()
}
