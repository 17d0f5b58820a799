//! The `exclude` directive: removes IDs and whole SLS files from high data (S9).

use std::sync::Arc;

use super::high_data::{Exclusion, HighData};
use crate::text::Glob;
use crate::value::FoldSet;

impl HighData {
    /// Removes the excluded IDs and the IDs of excluded SLS files. Patterns may name SLS files.
    pub(super) fn apply_exclusions(&mut self) {
        let exclusions = std::mem::take(&mut self.exclusions);
        if exclusions.is_empty() {
            return;
        }
        let mut ids: FoldSet<Arc<str>> = FoldSet::default();
        let mut patterns = Vec::new();
        for exclusion in exclusions {
            match exclusion {
                Exclusion::Id(id) => drop(ids.insert(id)),
                Exclusion::Sls(name) => patterns.push(Glob::new(&name)),
            }
        }
        let out = |sls: &str| patterns.iter().any(|pattern| pattern.matches(sls));
        let files: Vec<bool> = self.files.iter().map(|file| out(&file.sls)).collect();
        self.ids.retain(|id, body| {
            !ids.contains(id) && !files.get(body.file).copied().unwrap_or(false)
        });
    }

    /// Whether an SLS is excluded by its exact name. The extensions of such an SLS are ignored as well.
    pub(super) fn excludes(&self, sls: &str) -> bool {
        let names =
            |exclusion: &Exclusion| matches!(exclusion, Exclusion::Sls(name) if **name == *sls);
        self.exclusions.iter().any(names)
    }
}
