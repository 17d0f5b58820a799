//! Recorded instances whose templates are missing from the model. Their records are kept unchanged.

use std::sync::Arc;

use super::entity::Creator;
use crate::name::{ChangeId, InstanceName, NodeState, Status, TemplateName};
use crate::value::{Handle, Map, Value};

/// A recorded instance whose template is missing from the model.
#[derive(Debug, Clone)]
pub struct Orphan {
    pub name: InstanceName,
    /// The name of the missing template.
    pub template: TemplateName,
    /// The nearest existing host: an instance or a root.
    pub parent: Handle,
    /// The index of the orphan that this one is hosted on.
    pub(super) host_index: Option<usize>,
    /// The name within the instance's own topology.
    pub(super) local_name: Arc<str>,
    /// The record without the instances hosted on this one.
    pub(super) record: Map,
    /// The reason why the last attempt to remove the instance failed.
    pub retention_reason: Option<String>,
}

impl Orphan {
    fn ready(&self, key: &str) -> Option<&str> {
        let ready = self.record.get("readyState")?;
        let local = || (key == "local").then(|| ready.as_str()).flatten();
        ready.get(key).and_then(Value::as_str).or_else(local)
    }

    /// Returns the record without the instances hosted on this one.
    pub fn record(&self) -> Value {
        Value::from(self.record.clone())
    }

    /// Returns the recorded status of the instance itself; unknown if none is recorded.
    pub fn status(&self) -> Status {
        let status = self.ready("local").and_then(Status::parse);
        status.unwrap_or(Status::Unknown)
    }

    pub fn state(&self) -> Option<NodeState> {
        self.ready("state").and_then(NodeState::parse)
    }

    pub fn created(&self) -> Option<Creator> {
        self.record.get("created").and_then(Creator::from_value)
    }

    /// Returns the id of the last task that changed the instance.
    pub fn last_change(&self) -> Option<ChangeId> {
        let changes = ["lastConfigChange", "lastStateChange"].into_iter();
        let changes = changes.filter_map(|key| self.record.get(key)?.as_str());
        changes.filter_map(|id| ChangeId::parse(id).ok()).max()
    }

    /// Whether there may be anything to remove: the instance was created and has not been removed.
    pub fn exists(&self) -> bool {
        let made = || self.created().is_some() || self.last_change().is_some();
        match self.status() {
            Status::Absent => false,
            Status::Pending => made() || self.record.contains_key("substitution"),
            _ => true,
        }
    }

    /// Whether the instance prevents the removal of its host.
    pub fn blocks_host_removal(&self) -> bool {
        let required = self.record.get("priority").and_then(Value::as_str);
        self.status().is_operational() && required.is_none_or(|it| it == "required")
    }
}
