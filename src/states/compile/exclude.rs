//! The `exclude` directive: removes IDs and whole SLS files from high data (S9).

use std::sync::Arc;

use super::high_data::{Exclusion, HighData, IdDeclaration};
use crate::text::Glob;
use crate::value::FoldSet;

/// The IDs that exclusions remove.
struct ExcludedIds {
    ids: FoldSet<Arc<str>>,
    /// Says for each SLS file whether it is excluded.
    files: Vec<bool>,
}

impl ExcludedIds {
    fn of(high: &HighData) -> Self {
        let mut ids: FoldSet<Arc<str>> = FoldSet::default();
        let mut patterns = Vec::new();
        for exclusion in &high.exclusions {
            match exclusion {
                Exclusion::Id(id) => drop(ids.insert(Arc::clone(id))),
                Exclusion::Sls(name) => patterns.push(Glob::new(name)),
            }
        }
        let out = |sls: &str| patterns.iter().any(|pattern| pattern.matches(sls));
        let files = high.files.iter().map(|file| out(&file.sls)).collect();
        Self { ids, files }
    }

    fn contains(&self, id: &Arc<str>, body: &IdDeclaration) -> bool {
        self.ids.contains(id) || self.files.get(body.file).copied().unwrap_or(false)
    }
}

impl HighData {
    /// Removes the excluded IDs and the IDs of excluded SLS files. Patterns may name SLS files.
    pub(super) fn apply_exclusions(&mut self) {
        let excluded = ExcludedIds::of(self);
        self.exclusions.clear();
        self.ids.retain(|id, body| !excluded.contains(id, body));
    }

    /// The declarations that no exclusion removes.
    pub(super) fn included_ids(&self) -> impl Iterator<Item = (&Arc<str>, &IdDeclaration)> {
        let excluded = ExcludedIds::of(self);
        let ids = self.ids.iter();
        ids.filter(move |(id, body)| !excluded.contains(id, body))
    }

    /// Whether an SLS is excluded by its exact name. The extensions of such an SLS are ignored as well.
    pub(super) fn excludes(&self, sls: &str) -> bool {
        let names =
            |exclusion: &Exclusion| matches!(exclusion, Exclusion::Sls(name) if **name == *sls);
        self.exclusions.iter().any(names)
    }
}
