//! The set of orphans in a topology: adding, listing and recording them.

use std::collections::HashMap;
use std::sync::Arc;

use super::orphan::Orphan;
use super::topology::Topology;
use crate::name::TemplateName;
use crate::value::{Handle, Map, Value};

impl Topology {
    /// Keeps a recorded instance whose template is missing from the model, and returns its index.
    pub(super) fn add_orphan(
        &mut self,
        parent: Handle,
        on: Option<usize>,
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
            host_index: on,
            local_name: Arc::clone(local_name),
            record,
            retention_reason: None,
        });
        self.orphans.len() - 1
    }

    /// Returns the orphans that have not been removed.
    pub fn orphans(&self) -> impl Iterator<Item = &Orphan> {
        self.orphans.iter().filter(|orphan| orphan.exists())
    }

    /// Records why orphans remain, by template.
    pub fn explain_orphans(&mut self, why: &HashMap<TemplateName, String>) {
        for orphan in &mut self.orphans {
            orphan.retention_reason = why.get(&orphan.template).cloned();
        }
    }

    /// Returns the orphans' records by host, each with the orphans hosted on it.
    ///
    /// A removed orphan is left out unless another one is hosted on it.
    pub fn orphan_records(&self) -> HashMap<Handle, Map> {
        let mut within: HashMap<usize, Map> = HashMap::new();
        let mut records: HashMap<Handle, Map> = HashMap::new();
        // Reverse order: orphans come after the orphans they are hosted on.
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
            let siblings = match orphan.host_index {
                Some(on) => within.entry(on).or_default(),
                None => records.entry(orphan.parent).or_default(),
            };
            siblings.insert(Arc::clone(&orphan.local_name), Value::from(record));
        }
        records.values_mut().for_each(Map::reverse);
        records
    }
}
