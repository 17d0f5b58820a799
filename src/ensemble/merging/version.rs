//! One version of an ensemble's file, its records told from the rest.

use crate::value::Value;
use crate::yaml::{self, Node, Patch, Route, Schema};

/// One version of an ensemble's file.
pub(super) struct Version<'t> {
    text: &'t str,
    root: Node,
}

impl<'t> Version<'t> {
    pub(super) fn read(text: &'t str) -> Option<Self> {
        let root = yaml::parse_text(Schema::Core, text).ok()?;
        root.as_map()?;
        Some(Self { text, root })
    }

    pub(super) fn section(&self, name: &str) -> Option<Value> {
        let found = Route::keys(name.split('/')).find(&self.root)?;
        Some(found.to_value())
    }

    pub(super) fn last_job(&self) -> Option<String> {
        let id = self.section("lastJob")?;
        id.get("changeId")?.as_str().map(str::to_owned)
    }

    /// Whether this side's last job, or a record in its text, has this job before it.
    pub(super) fn comes_after(&self, job: &str) -> bool {
        let previous = self.section("lastJob");
        let previous = previous
            .as_ref()
            .and_then(|last| last.get("previousId")?.as_str());
        let changes = self.section("changes").unwrap_or_default();
        let records = changes.as_list().into_iter().flatten();
        let mut ids = records.filter_map(|record| record.get("changeId")?.as_str());
        previous == Some(job) || ids.any(|id| id.get(..8) == job.get(..8))
    }

    /// The text with these sections.
    pub(super) fn with(&self, sections: &[(&str, Option<Value>)]) -> Option<String> {
        let differing = sections
            .iter()
            .filter(|(name, value)| self.section(name) != *value);
        let patches = differing.map(|(name, value)| {
            let route = Route::keys(name.split('/'));
            match value {
                Some(value) => Patch::set(route, value.clone()),
                None => Patch::remove(route),
            }
        });
        yaml::apply(self.text, &self.root, &patches.collect::<Vec<_>>()).ok()
    }
}
