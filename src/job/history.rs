//! The records of earlier jobs, as far as a job asks for them.

use super::ports::PortError;
use crate::name::ChangeId;
use crate::value::Map;

/// What an earlier job recorded of an operation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LastOperation {
    /// The id of that task.
    pub id: Option<ChangeId>,
    /// Upstream's keys, in order.
    pub digest_keys: Vec<String>,
    /// Upstream's digest.
    pub digest_value: String,
    /// The attributes it set.
    pub digest_put: Vec<String>,
    /// What it read, exactly; empty where only upstream's fields exist.
    pub exact_keys: Vec<String>,
    /// Our digest.
    pub exact_value: String,
    /// What it read of secrets.
    pub secret_keys: Vec<String>,
    /// The keyed digest of that.
    pub secret_value: String,
    /// The id of the key.
    pub secret_key: String,
}

impl LastOperation {
    /// Whether our own digest fields are on record.
    pub fn is_exact(&self) -> bool {
        !self.exact_keys.is_empty() || !self.secret_keys.is_empty()
    }

    pub(super) fn has_digest(&self, key: &str) -> bool {
        let mut keys = self.exact_keys.iter().chain(&self.secret_keys);
        keys.any(|known| known == key)
    }
}

/// What is left of jobs that were cut off on an entity.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnfinishedWork {
    /// The operation of which nobody knows whether it has done its work, with the id of its record.
    pub in_doubt: Option<(String, ChangeId)>,
    /// The operations that have done their work, while others that belong to them have not begun.
    pub half_done: Vec<String>,
}

/// What the record of a task says that it has read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecordedReads {
    /// Its inputs, evaluated.
    pub inputs: Map,
    /// The values of attributes by their keys, such as `::web::port`.
    pub reads: Map,
}

/// Looks up what was recorded last of an operation on an entity, by its key.
pub trait OperationHistory {
    /// The last record of an operation.
    fn last_operation(&self, target: &str, operation: &str) -> Option<LastOperation>;

    /// Whether anything is left of jobs that were cut off.
    fn has_unfinished_work(&self) -> bool;

    /// What is left of jobs that were cut off.
    fn unfinished_work(&self, target: &str) -> Option<&UnfinishedWork>;

    /// What a task has read; none if nothing is on record, and why if that cannot be read. It is
    /// asked for only where something has changed.
    fn recorded_reads(&self, change: ChangeId) -> Result<Option<RecordedReads>, PortError>;
}
