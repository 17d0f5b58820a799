//! The changes of files that evaluations request. No evaluation performs them: the value is computed as if
//! they were done, and the engine performs them when the task that needs the value runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;

use super::effect::Effect;

/// Changes of files in the order of the first request. The last request for a path counts.
#[derive(Debug, Clone, Default)]
pub struct RequestedWrites(Option<Box<IndexMap<PathBuf, Arc<Effect>>>>);

impl RequestedWrites {
    /// Adds a change of a file or folder. Other effects are ignored.
    pub(super) fn add(&mut self, effect: Arc<Effect>) {
        if let Some(path) = effect.written_path() {
            let path = path.to_owned();
            self.0.get_or_insert_default().insert(path, effect);
        }
    }

    /// Adds the changes of another collection.
    pub fn append(&mut self, other: &Self) {
        for effect in other.iter() {
            self.add(Arc::clone(effect));
        }
    }

    /// Returns the changes that `done` does not contain.
    #[must_use]
    pub fn without(&self, done: &Self) -> Self {
        let mut open = Self::default();
        for effect in self.iter() {
            let path = effect.written_path();
            if path.is_none_or(|path| done.get(path) != Some(&**effect)) {
                open.add(Arc::clone(effect));
            }
        }
        open
    }

    /// Returns the changes below a folder.
    #[must_use]
    pub fn below(&self, folder: &Path) -> Self {
        let mut inside = Self::default();
        for effect in self.iter() {
            if effect
                .written_path()
                .is_some_and(|path| path.starts_with(folder))
            {
                inside.add(Arc::clone(effect));
            }
        }
        inside
    }

    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|effects| effects.is_empty())
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Effect>> {
        self.0.iter().flat_map(|effects| effects.values())
    }

    fn get(&self, path: &Path) -> Option<&Effect> {
        self.0.as_ref()?.get(path).map(|effect| &**effect)
    }
}
