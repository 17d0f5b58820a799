//! Whether what an operation read has changed since it ran last.

use super::engine::{Engine, LastOperation};
use super::task::{Task, TaskIndex};
use crate::expr::{Evaluator, Reads};
use crate::value::{Canonical, Handle, Value, upstream_digest};

/// The digest fields of a task's record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Digest {
    /// Upstream's keys, in order.
    pub keys: Vec<String>,
    /// Upstream's digest; empty where there are no keys.
    pub value: String,
    /// The attributes that were set.
    pub put: Vec<String>,
    /// What was read, exactly.
    pub exact_keys: Vec<String>,
    /// Our digest of it.
    pub exact_value: String,
}

impl Engine {
    /// The digest fields of a task that has run.
    pub fn digest(&self, task: &Task) -> Digest {
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for (name, value) in &task.resolved {
            if task.counts_in_digest(name) && !matches!(value, Value::Sensitive(_)) {
                keys.push(name.to_string());
                values.push(value.clone());
            }
        }
        let mut put = Vec::new();
        for (of, changes) in &task.changes {
            for name in changes.attributes.keys() {
                put.extend(self.attribute_key(*of, name));
            }
        }
        for ((of, name), dependency) in &task.dependencies {
            let Some(key) = self.attribute_key(*of, name) else {
                continue;
            };
            if dependency.write_only {
                if !put.contains(&key) {
                    put.push(key);
                }
            } else if !matches!(dependency.value, Value::Sensitive(_)) {
                keys.push(key);
                values.push(dependency.value.clone());
            }
        }
        let value = if keys.is_empty() {
            String::new()
        } else {
            upstream_digest(&values)
        };
        let exact = task
            .exact
            .iter()
            .filter(|(_, value)| !value.has_sensitive());
        let exact_keys: Vec<String> = exact.clone().map(|(key, _)| key.clone()).collect();
        let exact_value = exact_digest(exact.map(|(key, value)| (key.as_str(), value)));
        Digest {
            keys,
            value,
            put,
            exact_keys,
            exact_value,
        }
    }

    /// Whether what the operation of a task read last time has changed, and what was read to find
    /// out. An operation without a record, or one that read nothing, has not changed.
    pub(super) fn has_changed(&self, index: TaskIndex) -> (bool, Reads) {
        let task = &self.tasks[index];
        let operation = task.reference.operation.as_str();
        let Some(last) = self.last_operation(task.target, operation) else {
            return (false, Reads::default());
        };
        let evaluator = self.evaluator_for(index);
        let changed = self.compare(task, &last, &evaluator);
        (changed, evaluator.take_reads())
    }

    /// The last record of an operation on an entity. In records of Unfurl the entities of nested
    /// topologies are not told apart.
    pub(super) fn last_operation(&self, of: Handle, operation: &str) -> Option<LastOperation> {
        let key = &self.topology.entity(of).key;
        let whole = self.topology.whole_key(of);
        let found = self.history.last(&whole, operation);
        found.or_else(|| self.history.last(key.as_str(), operation))
    }

    fn compare(&self, task: &Task, last: &LastOperation, evaluator: &Evaluator) -> bool {
        let exact = !last.exact_keys.is_empty();
        let keys = if exact {
            &last.exact_keys
        } else {
            &last.digest_keys
        };
        if keys.is_empty() {
            return false;
        }
        let removed = |key: &String| !key.contains("::") && !task.inputs.contains_key(key.as_str());
        if keys.iter().any(removed) {
            return true;
        }
        let mut values = Vec::with_capacity(keys.len());
        for key in keys {
            // What cannot be evaluated any more is a change: running it shows why.
            match self.current(task, key, evaluator) {
                Ok(value) => values.push(value),
                Err(_) => return true,
            }
        }
        if exact {
            let pairs = keys.iter().map(String::as_str).zip(&values);
            exact_digest(pairs) != last.exact_value
        } else {
            upstream_digest(&values) != last.digest_value
        }
    }

    /// What a key of a record stands for now.
    pub(super) fn current(
        &self,
        task: &Task,
        key: &str,
        evaluator: &Evaluator,
    ) -> Result<Value, crate::expr::Error> {
        if !key.contains("::") {
            return Ok(evaluator.input(key, &task.context)?.unwrap_or_default());
        }
        if key == "::root::inputs" {
            return Ok(Value::from(self.inputs()));
        }
        if let Some(name) = key.strip_prefix("::root::inputs::") {
            let root = self.topology.root_of(task.target);
            let inputs = self.topology.inputs_of(root);
            return Ok(evaluator.attribute(inputs, name)?.unwrap_or_default());
        }
        let (entity, name) = key.rsplit_once("::").unwrap_or(("", key));
        if let Some(handle) = entity
            .strip_prefix("::")
            .and_then(|name| self.topology.find_from(task.target, name))
        {
            return Ok(evaluator.attribute(handle, name)?.unwrap_or_default());
        }
        let artifact = entity.strip_prefix("::").and_then(|entity| {
            let (node, artifact) = entity.split_once("::.artifacts::")?;
            let node = self.topology.find_from(task.target, node)?;
            self.topology.artifact_of(node, artifact)
        });
        if let Some(artifact) = artifact {
            return Ok(evaluator.attribute(artifact, name)?.unwrap_or_default());
        }
        let mut results = evaluator.query(&Value::from(key), &task.context)?;
        Ok(if results.len() == 1 {
            results.remove(0)
        } else {
            Value::from(results)
        })
    }
}

/// Our digest: SHA-256 over keys and values, typed and delimited. Order does not count.
fn exact_digest<'a>(pairs: impl Iterator<Item = (&'a str, &'a Value)>) -> String {
    let mut pairs: Vec<_> = pairs.collect();
    if pairs.is_empty() {
        return String::new();
    }
    pairs.sort_by_key(|(key, _)| *key);
    let mut canonical = Canonical::default();
    for (key, value) in pairs {
        canonical.text(key);
        canonical.value(value, &|_| [0; 32]);
    }
    canonical.finish()
}
