//! Access to the records of earlier jobs.

use super::ports::PortError;
use crate::name::ChangeId;
use crate::secret::KeyName;
use crate::value::Map;

/// The last record of an operation, with its digest fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LastOperation {
    /// The id of the recorded task.
    pub id: Option<ChangeId>,
    /// The keys in Unfurl (Python)'s digest, in order.
    pub digest_keys: Vec<String>,
    /// The digest in the form of Unfurl (Python).
    pub digest_value: String,
    /// The keys of attributes that the task set.
    pub digest_put: Vec<String>,
    /// The keys of the exact digest; empty if the record has only Unfurl (Python)'s fields.
    pub exact_keys: Vec<String>,
    pub exact_value: String,
    /// The keys of secrets that the task read.
    pub secret_keys: Vec<String>,
    /// The keyed digest of the secrets.
    pub secret_value: String,
    /// The key that made the digest of the secrets.
    pub secret_key: KeyName,
}

impl LastOperation {
    /// Whether the record has the exact digest fields, which Unfurl (Python) does not write.
    pub fn is_exact(&self) -> bool {
        !self.exact_keys.is_empty() || !self.secret_keys.is_empty()
    }

    pub(super) fn has_digest(&self, key: &str) -> bool {
        let mut keys = self.exact_keys.iter().chain(&self.secret_keys);
        keys.any(|known| known == key)
    }
}

/// The unfinished work on an entity that interrupted jobs have left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnfinishedWork {
    /// The operation whose effect is unknown, with the id of its record.
    pub in_doubt: Option<(String, ChangeId)>,
    /// Operations that were completed although others of the same group did not begin.
    pub half_done: Vec<String>,
}

/// The values that a task's record shows as read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecordedReads {
    /// The evaluated inputs of the task.
    pub inputs: Map,
    /// The values of attributes by record key, such as `::web::port`.
    pub reads: Map,
}

/// Lookup of recorded operations by the key of their entity.
pub trait OperationHistory {
    /// Returns the last record of an operation.
    fn last_operation(&self, target: &str, operation: &str) -> Option<LastOperation>;

    /// Whether interrupted jobs have left unfinished work on any entity.
    fn has_unfinished_work(&self) -> bool;

    /// Returns the unfinished work of an entity.
    fn unfinished_work(&self, target: &str) -> Option<&UnfinishedWork>;

    /// Returns the values that a task has read. None if they are not recorded.
    ///
    /// Called only to explain a detected change.
    fn recorded_reads(&self, change: ChangeId) -> Result<Option<RecordedReads>, PortError>;
}
