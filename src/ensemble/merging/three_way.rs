//! Three-way comparison: a value in the common base version and on both sides.

use std::sync::Arc;

use crate::diagnostic::Sources;
use crate::value::Value;
use crate::yaml::{self, Limits, Node, Patch, Route};

/// The number of values of a version, with each alias as a copy. A version with more aliases is merged as
/// text: records have none, and the merge copies each section several times.
const MAX_NODES: u32 = 200_000;

/// The result of a three-way comparison.
#[derive(Debug, Clone, Copy)]
pub(super) enum MergeResolution<'v> {
    /// The value to use; `None` if the value is removed.
    Resolved(Option<&'v Value>),
    /// Both sides changed the value in different ways.
    Conflict,
}

/// A value in the base version and in the versions of both sides.
#[derive(Clone, Copy)]
pub(super) struct ThreeWay<'v> {
    pub(super) base: Option<&'v Value>,
    pub(super) first: Option<&'v Value>,
    pub(super) second: Option<&'v Value>,
}

impl<'v> ThreeWay<'v> {
    pub(super) fn child(self, key: &str) -> Self {
        let part = |whole: Option<&'v Value>| whole.and_then(|whole| whole.get(key));
        Self {
            base: part(self.base),
            first: part(self.first),
            second: part(self.second),
        }
    }

    /// Returns the value if only one side changed it or both made the same change.
    pub(super) fn resolve(self) -> MergeResolution<'v> {
        if self.first == self.second || self.second == self.base {
            MergeResolution::Resolved(self.first)
        } else if self.first == self.base {
            MergeResolution::Resolved(self.second)
        } else {
            MergeResolution::Conflict
        }
    }

    /// Returns the keys of all three maps, without duplicates, in the order first side, second side, base.
    pub(super) fn keys(self) -> Vec<Arc<str>> {
        let mut keys: Vec<Arc<str>> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for value in [self.first, self.second, self.base].into_iter().flatten() {
            for key in value
                .as_map()
                .into_iter()
                .flat_map(indexmap::IndexMap::keys)
            {
                if seen.insert(Arc::clone(key)) {
                    keys.push(Arc::clone(key));
                }
            }
        }
        keys
    }

    pub(super) fn are_maps(self) -> bool {
        let all = [self.first, self.second];
        all.iter()
            .all(|value| value.is_some_and(|value| value.as_map().is_some()))
    }
}

/// A version of a manifest's text, with its parsed tree.
pub(super) struct EnsembleVersion<'t> {
    text: &'t str,
    root: Node,
}

impl<'t> EnsembleVersion<'t> {
    pub(super) fn read(text: &'t str) -> Option<Self> {
        let mut sources = Sources::default();
        let source = sources.add("", text, None);
        let limits = Limits {
            max_nodes: MAX_NODES,
            ..Limits::default()
        };
        let root = yaml::parse(&sources, source, &limits).ok()?;
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

    /// Whether this version was made with knowledge of `job`: the last job's predecessor or a change record
    /// is that job.
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

    /// Returns the text with the given section values; `None` removes a section.
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
