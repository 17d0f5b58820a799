//! The state tree of an operation: the files that the States configurator reads, with their digests.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::expr::LocalContext;
use crate::states::{FileRoots, FileRootsError};
use crate::value::{Map, Value};

/// The default folder of state files, next to the ensemble.
const DEFAULT_ROOT: &str = "states";
/// The maximum total size of a state tree in bytes.
const MAX_BYTES: usize = 256 << 20;
/// The maximum number of files in a state tree.
const MAX_FILES: usize = 100_000;
/// The permission bits of files for which states set none.
const DEFAULT_MODE: u32 = 0o644;

/// The files of a state tree, in memory.
#[derive(Debug, Default)]
pub(super) struct StateTree {
    files: BTreeMap<String, Arc<[u8]>>,
    /// The digest of each file by its path in the tree.
    pub(super) digests: Map,
}

impl StateTree {
    /// Reads the tree of the input `file_root`, or of the folder `states` next to the ensemble.
    pub(super) fn read(
        stated: Option<&Value>,
        local_context: &dyn LocalContext,
        base: &Path,
    ) -> Result<Self, String> {
        let plain = |text: &&str| !text.is_empty() && !text.contains("{{") && !text.contains("{%");
        let root = match stated {
            None => DEFAULT_ROOT,
            Some(stated) => stated.as_str().filter(plain).ok_or(
                "`file_root` must be a plain path; expressions and templates are not allowed",
            )?,
        };
        let root = base.join(root);
        if !local_context.is_dir(&root) {
            return Err(format!(
                "there is no folder `{}` with state files",
                root.display()
            ));
        }
        let mut tree = Self::default();
        let mut bytes = 0;
        let mut waiting = vec![root.clone()];
        while let Some(folder) = waiting.pop() {
            for path in local_context
                .list(&folder)
                .map_err(|error| error.to_string())?
            {
                if local_context.is_dir(&path) {
                    if !local_context.is_link(&path) {
                        waiting.push(path);
                    }
                    continue;
                }
                bytes += tree.add(&root, &path, local_context)?;
                if bytes > MAX_BYTES || tree.files.len() > MAX_FILES {
                    return Err(format!(
                        "`{}` is too large for a state tree",
                        root.display()
                    ));
                }
            }
        }
        tree.digests.sort_keys();
        Ok(tree)
    }

    fn add(
        &mut self,
        root: &Path,
        path: &Path,
        local_context: &dyn LocalContext,
    ) -> Result<usize, String> {
        let below = path.strip_prefix(root).unwrap_or(path);
        let name = below.to_string_lossy().into_owned();
        let bytes = local_context
            .read(path)
            .map_err(|error| error.to_string())?;
        let digest = local_context.content_digest(path).unwrap_or_default();
        self.digests.insert(name.as_str().into(), digest.into());
        let length = bytes.len();
        self.files.insert(name, bytes.into());
        Ok(length)
    }
}

impl FileRoots for StateTree {
    fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, FileRootsError> {
        Ok(self.files.get(path.trim_start_matches('/')).cloned())
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, FileRootsError> {
        let folder = folder.trim_matches('/');
        let below = |path: &&String| {
            folder.is_empty()
                || path
                    .strip_prefix(folder)
                    .is_some_and(|rest| rest.starts_with('/'))
        };
        Ok(self.files.keys().filter(below).cloned().collect())
    }

    fn mode(&self, path: &str) -> Result<Option<u32>, FileRootsError> {
        let has = self.files.contains_key(path.trim_start_matches('/'));
        Ok(has.then_some(DEFAULT_MODE))
    }
}
