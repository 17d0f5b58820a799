//! Digests of the values that a task has read, as its record stores them for change detection.

use super::evaluation::Evaluation;
use super::file_reads::FILE_PREFIX;
use super::task::Task;
use crate::expr::{Error, Evaluator};
use crate::secret::KeyName;
use crate::value::{CanonicalWriter, Map, Value, unfurl_digest};

/// The record key of the variables that an operation sets for its commands. No input or attribute has
/// this key.
pub(super) const ENVIRONMENT_KEY: &str = ".environment";

/// The key prefix of inputs that are recorded as written, because their values depend on the results of
/// tasks.
pub(super) const AS_WRITTEN_PREFIX: &str = ".as-written::";

/// The end of the record key for the name of a task's target. Only records whose other values are secret
/// have this key.
pub(super) const NAME_SUFFIX: &str = "::.name";

/// The digest fields of a task's record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskDigest {
    /// The keys in Unfurl (Python)'s digest, in order.
    pub keys: Vec<String>,
    /// Unfurl (Python)'s digest; empty if there are no keys.
    pub value: String,
    /// The keys of attributes that the task set.
    pub put: Vec<String>,
    /// The keys of all values read, without those that contain secrets.
    pub exact_keys: Vec<String>,
    /// The exact digest of the values under `exact_keys`.
    pub exact_value: String,
    /// The digest of secret values. None if no secret was read or no key is available.
    pub secret: Option<SecretDigest>,
}

/// The keyed digest of the secrets that a task has read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecretDigest {
    pub keys: Vec<String>,
    pub value: String,
    /// The key that made the digest.
    pub key: KeyName,
}

/// Values that a task has read, by their record keys.
pub(super) type DigestEntries = Vec<(String, Value)>;

impl Evaluation<'_> {
    /// Returns the digest fields of a task that has run.
    pub(super) fn digest(&self, task: &Task) -> TaskDigest {
        let mut digest = self.upstream_fields(task);
        let (secret, open): (DigestEntries, DigestEntries) = self
            .entries(task)
            .into_iter()
            .partition(|(_, value)| value.has_sensitive());
        digest.exact_value = exact_digest(&open);
        digest.exact_keys = entry_keys(&open);
        digest.secret = self.secret_digest(&secret);
        digest
    }

    /// Returns the fields of Unfurl (Python), without values that have a secret or a value of `locals` in them.
    ///
    /// Unfurl's digest has no key, so a secret in it could be guessed. Unfurl compares only the keys that a
    /// record lists, so that it does not miss the others.
    fn upstream_fields(&self, task: &Task) -> TaskDigest {
        let mut entries = DigestEntries::new();
        let mut has_secrets = false;
        let mut add = |key: String, value: &Value| {
            if value.has_sensitive() || value.has_local() {
                has_secrets = true;
            } else {
                entries.push((key, value.clone()));
            }
        };
        for (name, value) in &task.reads.resolved {
            if task.counts_in_digest(name) {
                add(name.to_string(), value);
            }
        }
        let mut put = Vec::new();
        for (of, changes) in &task.changes {
            for name in changes.attributes.keys() {
                put.extend(self.attribute_key(*of, name));
            }
        }
        for ((of, name), dependency) in &task.reads.dependencies {
            let Some(key) = self.attribute_key(*of, name) else {
                continue;
            };
            if dependency.write_only {
                if !put.contains(&key) {
                    put.push(key);
                }
            } else if dependency.in_digest {
                add(key, &dependency.value);
            }
        }
        if entries.is_empty() && has_secrets {
            // Unfurl 1.2 repeats a task with inputs whose record lists no keys.
            let target = self.topology.entity(task.spec.target);
            let name = Value::from(target.local_name());
            entries.push((format!("{}{NAME_SUFFIX}", target.key), name));
        }
        let value = if entries.is_empty() {
            String::new()
        } else {
            unfurl_digest(entries.iter().map(|(_, value)| value))
        };
        TaskDigest {
            keys: entry_keys(&entries),
            value,
            put,
            ..TaskDigest::default()
        }
    }

    fn entries(&self, task: &Task) -> DigestEntries {
        let mut entries = self.value_entries(task);
        entries.extend(self.file_entries(task));
        entries
    }

    fn value_entries(&self, task: &Task) -> DigestEntries {
        if self.compares_model_only(task) {
            return self.model_entries(task);
        }
        let read = task.reads.exact.iter();
        let mut entries: DigestEntries = read
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let evaluator = self.evaluator_for(task);
        if let Ok(environment @ Value::Map(_)) =
            self.current_value(task, ENVIRONMENT_KEY, &evaluator)
        {
            entries.push((ENVIRONMENT_KEY.to_owned(), environment));
        }
        entries
    }

    fn secret_digest(&self, entries: &DigestEntries) -> Option<SecretDigest> {
        let key = self
            .context
            .digest_key
            .as_ref()
            .filter(|_| !entries.is_empty())?;
        Some(SecretDigest {
            keys: entry_keys(entries),
            value: key.digest(key_value_list(entries)),
            key: key.name().clone(),
        })
    }

    /// Whether a task has read any secret.
    pub(super) fn has_read_secrets(&self, task: &Task) -> bool {
        let is_secret = |value: &Value| value.has_sensitive();
        let implementation = task.spec.operation.implementation.as_ref();
        task.reads.exact.values().any(is_secret)
            || implementation.is_some_and(|it| !it.environment.is_empty())
                && self.entries(task).iter().any(|(_, value)| is_secret(value))
    }

    /// Evaluates the current value of a record key.
    pub(super) fn current_value(
        &self,
        task: &Task,
        key: &str,
        evaluator: &Evaluator,
    ) -> Result<Value, Error> {
        if key == ENVIRONMENT_KEY {
            return operation_environment(task, evaluator);
        }
        if key.starts_with(FILE_PREFIX) {
            return Ok(self.file_digest(key));
        }
        if let Some(name) = key.strip_prefix(AS_WRITTEN_PREFIX) {
            return Ok(written_value(task, name).unwrap_or_default());
        }
        if !key.contains("::") {
            return Ok(evaluator
                .input(key, &task.inputs.context)?
                .unwrap_or_default());
        }
        if let Some(entity) = key.strip_suffix(NAME_SUFFIX)
            && entity == self.topology.entity(task.spec.target).key.as_str()
        {
            let target = self.topology.entity(task.spec.target);
            return Ok(Value::from(target.local_name()));
        }
        if key == "::root::inputs" {
            return Ok(Value::from(self.inputs()));
        }
        if let Some(name) = key.strip_prefix("::root::inputs::") {
            let root = self.topology.root_of(task.spec.target);
            let inputs = self.topology.inputs_of(root);
            return Ok(evaluator.attribute(inputs, name)?.unwrap_or_default());
        }
        let (entity, name) = key.rsplit_once("::").unwrap_or(("", key));
        if let Some(handle) = entity
            .strip_prefix("::")
            .and_then(|name| self.topology.find_from(task.spec.target, name))
        {
            return Ok(evaluator.attribute(handle, name)?.unwrap_or_default());
        }
        let artifact = entity.strip_prefix("::").and_then(|entity| {
            let (node, artifact) = entity.split_once("::.artifacts::")?;
            let node = self.topology.find_from(task.spec.target, node)?;
            self.topology.artifact_of(node, artifact)
        });
        if let Some(artifact) = artifact {
            return Ok(evaluator.attribute(artifact, name)?.unwrap_or_default());
        }
        let mut results = evaluator.query(&Value::from(key), &task.inputs.context)?;
        Ok(if results.len() == 1 {
            results.remove(0)
        } else {
            Value::from(results)
        })
    }
}

/// Evaluates the variables that an operation sets for its commands. Null if it sets none.
fn operation_environment(task: &Task, evaluator: &Evaluator) -> Result<Value, Error> {
    let rules = task.spec.operation.implementation.as_ref();
    let Some(rules) = rules.map(|it| &it.environment).filter(|it| !it.is_empty()) else {
        return Ok(Value::Null);
    };
    let evaluate = |(name, raw): (&std::sync::Arc<str>, &Value)| {
        Ok((name.clone(), evaluator.evaluate(raw, &task.inputs.context)?))
    };
    let variables: Map = rules.iter().map(evaluate).collect::<Result<_, Error>>()?;
    Ok(Value::from(variables))
}

/// Returns an input, or the environment, as written.
pub(super) fn written_value(task: &Task, name: &str) -> Option<Value> {
    if name == ENVIRONMENT_KEY {
        let rules = &task.spec.operation.implementation.as_ref()?.environment;
        return (!rules.is_empty()).then(|| Value::from(rules.clone()));
    }
    task.inputs.raw.get(name).cloned()
}

fn entry_keys(entries: &DigestEntries) -> Vec<String> {
    entries.iter().map(|(key, _)| key.clone()).collect()
}

pub(super) fn key_value_list(entries: &DigestEntries) -> impl Iterator<Item = (&str, &Value)> {
    entries.iter().map(|(key, value)| (key.as_str(), value))
}

/// Returns the exact digest: SHA-256 over keys and values, typed and delimited. The order of entries does
/// not matter.
pub(super) fn exact_digest(entries: &DigestEntries) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let mut canonical = CanonicalWriter::default();
    canonical.pairs(key_value_list(entries));
    canonical.finish()
}
