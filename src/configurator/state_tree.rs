//! The state trees of an operation: the files that the States configurator reads, with their digests.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::expr::LocalContext;
use crate::states::{BASE_ENV, FileRoots, FileRootsError, StateTrees};
use crate::value::{Map, Value};

/// The default folder of state files, next to the ensemble.
const DEFAULT_ROOT: &str = "states";
/// The maximum total size of a state tree in bytes.
const MAX_BYTES: usize = 256 << 20;
/// The maximum number of files in a state tree.
const MAX_FILES: usize = 100_000;
/// The message about an input `file_roots` of another shape.
const ROOTS_SHAPE: &str =
    "`file_roots` must be a map from environments to lists of folders, such as {base: [states]}";
/// The permission bits of files for which states set none.
const DEFAULT_MODE: u32 = 0o644;

/// The state trees of an operation, with the digests of their files.
#[derive(Debug)]
pub(super) struct OperationTrees {
    pub(super) trees: StateTrees,
    /// The digest of each file by its path in its tree, with the environment if that is not `base`.
    pub(super) digests: Map,
}

/// The files of a state tree, in memory.
#[derive(Debug, Default)]
struct StateTree {
    files: BTreeMap<String, Arc<[u8]>>,
    /// The digests of the files by their paths.
    digests: BTreeMap<String, String>,
    /// The paths of files that are symbolic links.
    links: Vec<String>,
    /// The size of all files.
    bytes: usize,
}

impl OperationTrees {
    /// Reads the trees of the input `file_roots`, or that of `file_root` or of the folder `states` next to the ensemble.
    pub(super) fn read(
        inputs: &Map,
        local_context: &dyn LocalContext,
        base: &Path,
    ) -> Result<Self, String> {
        let mut digests = Map::new();
        let mut trees: Vec<(Arc<str>, Arc<dyn FileRoots>)> = Vec::new();
        for (env, folders) in declared_roots(inputs)? {
            let mut tree = StateTree::default();
            for folder in &folders {
                tree.add_folder(&base.join(folder), local_context)?;
            }
            for (name, digest) in &tree.digests {
                digests.insert(tree_path(&env, name).into(), digest.as_str().into());
            }
            trees.push((env, Arc::new(tree)));
        }
        digests.sort_keys();
        Ok(Self {
            trees: StateTrees::new(trees),
            digests,
        })
    }
}

/// The path of a file, with its environment if that is not `base`.
pub(super) fn tree_path(env: &str, path: &str) -> String {
    match env {
        BASE_ENV => path.to_owned(),
        env => format!("{path}?saltenv={env}"),
    }
}

/// An environment with its folders, as the inputs name them.
type DeclaredRoots = (Arc<str>, Vec<String>);

/// The folders of each environment that the inputs name.
fn declared_roots(inputs: &Map) -> Result<Vec<DeclaredRoots>, String> {
    let given = |key: &str| inputs.get(key).filter(|value| !value.is_null());
    let (root, roots) = (given("file_root"), given("file_roots"));
    let folder = |value: &Value, key: &str| {
        let text = value
            .as_str()
            .filter(|text| !text.is_empty() && !text.contains("{{") && !text.contains("{%"));
        text.map(str::to_owned).ok_or_else(|| {
            format!("`{key}` must be a plain path; expressions and templates are not allowed")
        })
    };
    let Some(roots) = roots else {
        let folder = root.map_or(Ok(DEFAULT_ROOT.to_owned()), |root| {
            folder(root, "file_root")
        })?;
        return Ok(vec![(BASE_ENV.into(), vec![folder])]);
    };
    if root.is_some() {
        return Err("`file_root` and `file_roots` cannot be used together".to_owned());
    }
    let Some(roots) = roots.as_map() else {
        return Err(ROOTS_SHAPE.to_owned());
    };
    let mut declared = Vec::new();
    for (env, folders) in roots {
        let folders = folders.as_list().ok_or(ROOTS_SHAPE)?;
        let key = format!("file_roots.{env}");
        let folders = folders.iter().map(|it| folder(it, &key));
        declared.push((Arc::clone(env), folders.collect::<Result<_, _>>()?));
    }
    Ok(declared)
}

impl StateTree {
    /// Adds the files of a folder. Those of an earlier folder stay.
    fn add_folder(&mut self, root: &Path, local_context: &dyn LocalContext) -> Result<(), String> {
        if !local_context.is_dir(root) {
            return Err(format!(
                "there is no folder `{}` with state files",
                root.display()
            ));
        }
        let mut waiting = vec![root.to_owned()];
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
                self.add(root, &path, local_context)?;
                if self.bytes > MAX_BYTES || self.files.len() > MAX_FILES {
                    return Err(format!(
                        "`{}` is too large for a state tree",
                        root.display()
                    ));
                }
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        root: &Path,
        path: &Path,
        local_context: &dyn LocalContext,
    ) -> Result<(), String> {
        let below = path.strip_prefix(root).unwrap_or(path);
        let name = below.to_string_lossy().into_owned();
        if self.files.contains_key(&name) {
            return Ok(());
        }
        let bytes = local_context
            .read(path)
            .map_err(|error| error.to_string())?;
        let digest = local_context.content_digest(path).unwrap_or_default();
        if local_context.is_link(path) {
            self.links.push(name.clone());
        }
        self.bytes += bytes.len();
        self.digests.insert(name.clone(), digest);
        self.files.insert(name, bytes.into());
        Ok(())
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

    fn first_link(&self, folder: &str) -> Result<Option<String>, FileRootsError> {
        let folder = Path::new(folder.trim_matches('/'));
        let link = self
            .links
            .iter()
            .find(|link| Path::new(link).starts_with(folder));
        Ok(link.cloned())
    }

    fn mode(&self, path: &str) -> Result<Option<u32>, FileRootsError> {
        let has = self.files.contains_key(path.trim_start_matches('/'));
        Ok(has.then_some(DEFAULT_MODE))
    }
}
