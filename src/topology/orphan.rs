//! Recorded instances whose templates are not in the model: they stay as they were recorded.

use std::collections::HashMap;
use std::sync::Arc;

use super::entity::Created;
use super::topology::Topology;
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
    pub(super) on: Option<usize>,
    /// Its name within its own topology.
    pub(super) local_name: Arc<str>,
    /// What is recorded of it, without the instances that stand on it.
    pub(super) record: Map,
    /// Why it cannot be removed, where that was tried.
    pub stays: Option<String>,
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
    pub fn created(&self) -> Option<Created> {
        self.record.get("created").and_then(Created::from_value)
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
    pub fn holds_its_host(&self) -> bool {
        let required = self.record.get("priority").and_then(Value::as_str);
        self.status().is_operational() && required.is_none_or(|it| it == "required")
    }
}

impl Topology {
    /// Keeps a recorded instance whose template is not in the model; gives its place.
    pub(super) fn keep_orphan(
        &mut self,
        (parent, on): (Handle, Option<usize>),
        local_name: &Arc<str>,
        record: &Map,
    ) -> usize {
        let stated = record.get("template").and_then(Value::as_str);
        let template = self.name_within(parent, stated.unwrap_or(local_name));
        let mut record = record.clone();
        record.shift_remove("instances");
        self.orphans.push(Orphan {
            name: self.name_within(parent, local_name).into(),
            template: TemplateName::new(template),
            parent,
            on,
            local_name: Arc::clone(local_name),
            record,
            stays: None,
        });
        self.orphans.len() - 1
    }

    /// Recorded instances whose templates are not in the model and that were not removed.
    pub fn orphans(&self) -> impl Iterator<Item = &Orphan> {
        self.orphans.iter().filter(|orphan| orphan.exists())
    }

    /// Notes why orphans stay, by their templates.
    pub fn explain_orphans(&mut self, why: &HashMap<TemplateName, String>) {
        for orphan in &mut self.orphans {
            orphan.stays = why.get(&orphan.template).cloned();
        }
    }

    /// The records of the orphans by what they stand on, each with those that stand on it. One that
    /// was removed is no more, unless something stands on it.
    pub fn orphan_records(&self) -> HashMap<Handle, Map> {
        let mut within: HashMap<usize, Map> = HashMap::new();
        let mut records: HashMap<Handle, Map> = HashMap::new();
        // Those that stand on others come after them.
        for (place, orphan) in self.orphans.iter().enumerate().rev() {
            let inner = within.remove(&place);
            if !orphan.exists() && inner.is_none() {
                continue;
            }
            let mut record = orphan.record.clone();
            if let Some(mut inner) = inner {
                inner.reverse();
                record.insert("instances".into(), Value::from(inner));
            }
            let siblings = match orphan.on {
                Some(on) => within.entry(on).or_default(),
                None => records.entry(orphan.parent).or_default(),
            };
            siblings.insert(Arc::clone(&orphan.local_name), Value::from(record));
        }
        records.values_mut().for_each(Map::reverse);
        records
    }
}
