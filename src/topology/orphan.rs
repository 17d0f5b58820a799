//! Recorded instances whose templates are not in the model: they stay as they were recorded.

use std::sync::Arc;

use super::entity::Creator;
use crate::name::{ChangeId, InstanceName, NodeState, Status, TemplateName};
use crate::value::{Handle, Map, Value};

/// A recorded instance whose template is not in the model.
#[derive(Debug, Clone)]
pub struct Orphan {
    /// Its name.
    pub name: InstanceName,
    /// Its template, which is not there.
    pub template: TemplateName,
    /// What it stands on, or the nearest that is there: an instance or a root.
    pub parent: Handle,
    /// The orphan that it stands on, by its place among all.
    pub(super) host_index: Option<usize>,
    /// Its name within its own topology.
    pub(super) local_name: Arc<str>,
    /// What is recorded of it, without the instances that stand on it.
    pub(super) record: Map,
    /// Why it cannot be removed, where that was tried.
    pub retention_reason: Option<String>,
}

impl Orphan {
    fn ready(&self, key: &str) -> Option<&str> {
        let ready = self.record.get("readyState")?;
        let local = || (key == "local").then(|| ready.as_str()).flatten();
        ready.get(key).and_then(Value::as_str).or_else(local)
    }

    /// What is recorded of it, without the instances that stand on it.
    pub fn record(&self) -> Value {
        Value::from(self.record.clone())
    }

    /// Its own status.
    pub fn status(&self) -> Status {
        let status = self.ready("local").and_then(Status::parse);
        status.unwrap_or(Status::Unknown)
    }

    /// Where it is in its life cycle.
    pub fn state(&self) -> Option<NodeState> {
        self.ready("state").and_then(NodeState::parse)
    }

    /// Who made it.
    pub fn created(&self) -> Option<Creator> {
        self.record.get("created").and_then(Creator::from_value)
    }

    /// The last task that changed it.
    pub fn last_change(&self) -> Option<ChangeId> {
        let changes = ["lastConfigChange", "lastStateChange"].into_iter();
        let changes = changes.filter_map(|key| self.record.get(key)?.as_str());
        changes.filter_map(|id| ChangeId::parse(id).ok()).max()
    }

    /// Whether there is anything to remove: it was not removed already, and something was made.
    pub fn exists(&self) -> bool {
        let made = || self.created().is_some() || self.last_change().is_some();
        match self.status() {
            Status::Absent => false,
            Status::Pending => made() || self.record.contains_key("substitution"),
            _ => true,
        }
    }

    /// Whether it is what keeps that it stands on from being removed.
    pub fn blocks_host_removal(&self) -> bool {
        let required = self.record.get("priority").and_then(Value::as_str);
        self.status().is_operational() && required.is_none_or(|it| it == "required")
    }
}
