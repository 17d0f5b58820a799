//! File roots: access to the files of state trees, and the trees of several environments.

use std::sync::Arc;

use indexmap::IndexMap;

/// The environment of state files that belong to no other one.
pub const BASE_ENV: &str = "base";
/// The environment whose tree stands for all environments without a tree of their own.
pub const DYNAMIC_ENV: &str = "__env__";
/// The part of an address that names the environment of a file, such as `salt://motd?saltenv=dev`.
const ENV_QUERY: &str = "?saltenv=";

/// The state files and the other files that states refer to as `salt://` paths. Paths have no leading slash.
pub trait FileRoots: Send + Sync {
    /// Reads a file. The first root that contains it wins; `None` if no root does.
    fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, FileRootsError>;

    /// Lists the files below a directory at any depth, or every file for an empty path. Paths are relative to
    /// the root, sorted and without duplicates.
    fn list(&self, folder: &str) -> Result<Vec<String>, FileRootsError>;

    /// The permission bits of a file, or `None` if no root contains it.
    fn mode(&self, path: &str) -> Result<Option<u32>, FileRootsError>;

    /// A symbolic link below a directory, at any depth. `None` if there is none.
    fn first_link(&self, _folder: &str) -> Result<Option<String>, FileRootsError> {
        Ok(None)
    }

    /// The tree of an environment that has none of its own, made from this tree of [`DYNAMIC_ENV`]. `None` if all
    /// such environments share this tree.
    fn for_environment(&self, _env: &str) -> Option<Arc<dyn FileRoots>> {
        None
    }
}

/// The state trees of all environments, seen from one of them. Paths are read there, unless they end with
/// `?saltenv=` and another environment.
#[derive(Clone)]
pub struct StateTrees {
    trees: Arc<IndexMap<Arc<str>, Arc<dyn FileRoots>>>,
    env: Arc<str>,
    /// The tree of `env`. `None` if there is no such environment.
    own: Option<Arc<dyn FileRoots>>,
}

impl std::fmt::Debug for StateTrees {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StateTrees")
            .field("environments", &self.trees.keys())
            .field("env", &self.env)
            .finish_non_exhaustive()
    }
}

impl<R: FileRoots + 'static> From<Arc<R>> for StateTrees {
    fn from(tree: Arc<R>) -> Self {
        Self::new(std::iter::once((
            Arc::from(BASE_ENV),
            tree as Arc<dyn FileRoots>,
        )))
    }
}

impl StateTrees {
    /// Makes the trees of these environments, seen from `base`.
    pub fn new(trees: impl IntoIterator<Item = (Arc<str>, Arc<dyn FileRoots>)>) -> Self {
        let trees: IndexMap<_, _> = trees.into_iter().collect();
        Self {
            own: tree_of(&trees, BASE_ENV),
            trees: Arc::new(trees),
            env: BASE_ENV.into(),
        }
    }

    /// The environment from which the trees are seen.
    pub fn env(&self) -> &Arc<str> {
        &self.env
    }

    /// The trees seen from another environment, which need not exist.
    #[must_use]
    pub fn within(&self, env: &str) -> Self {
        Self {
            own: tree_of(&self.trees, env),
            trees: Arc::clone(&self.trees),
            env: env.into(),
        }
    }

    /// The names of the environments: `base` first, then the others as they were declared.
    pub fn environments(&self) -> Vec<Arc<str>> {
        let mut names = vec![Arc::from(BASE_ENV)];
        names.extend(
            self.trees
                .keys()
                .filter(|name| &***name != BASE_ENV)
                .cloned(),
        );
        names
    }

    /// Returns true if an environment has a tree. `base` always counts as one that has.
    pub fn has(&self, env: &str) -> bool {
        env == BASE_ENV || self.trees.contains_key(env) || self.trees.contains_key(DYNAMIC_ENV)
    }

    /// Reads a file; see [`FileRoots::read`].
    pub fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, FileRootsError> {
        let (path, tree) = self.find(path);
        tree.map_or(Ok(None), |tree| tree.read(path))
    }

    /// Lists the files below a directory; see [`FileRoots::list`]. The paths name no environment.
    pub fn list(&self, folder: &str) -> Result<Vec<String>, FileRootsError> {
        let (folder, tree) = self.find(folder);
        tree.map_or(Ok(Vec::new()), |tree| tree.list(folder))
    }

    /// The permission bits of a file; see [`FileRoots::mode`].
    pub fn mode(&self, path: &str) -> Result<Option<u32>, FileRootsError> {
        let (path, tree) = self.find(path);
        tree.map_or(Ok(None), |tree| tree.mode(path))
    }

    /// A symbolic link below a directory; see [`FileRoots::first_link`].
    pub fn first_link(&self, folder: &str) -> Result<Option<String>, FileRootsError> {
        let (folder, tree) = self.find(folder);
        tree.map_or(Ok(None), |tree| tree.first_link(folder))
    }

    fn find<'a>(&self, path: &'a str) -> (&'a str, Option<Arc<dyn FileRoots>>) {
        match split_env(path) {
            (path, Some(env)) => (path, tree_of(&self.trees, env)),
            (path, None) => (path, self.own.clone()),
        }
    }
}

fn tree_of(
    trees: &IndexMap<Arc<str>, Arc<dyn FileRoots>>,
    env: &str,
) -> Option<Arc<dyn FileRoots>> {
    if let Some(own) = trees.get(env) {
        return Some(Arc::clone(own));
    }
    let dynamic = trees.get(DYNAMIC_ENV)?;
    let own = dynamic.for_environment(env);
    Some(own.unwrap_or_else(|| Arc::clone(dynamic)))
}

/// Splits a path such as `motd?saltenv=dev` into the path and the environment.
pub fn split_env(path: &str) -> (&str, Option<&str>) {
    match path.split_once(ENV_QUERY) {
        Some((path, env)) => (path, Some(env)),
        None => (path, None),
    }
}

/// The path below a folder. An environment that the folder names stays at the end.
pub fn path_below(folder: &str, below: &str) -> String {
    let (folder, env) = split_env(folder);
    let path = if folder.is_empty() {
        below.to_owned()
    } else {
        format!("{folder}/{below}")
    };
    match env {
        Some(env) => format!("{path}{ENV_QUERY}{env}"),
        None => path,
    }
}

/// An error of reading a file in a state tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read `{path}`: {reason}")]
pub struct FileRootsError {
    /// The path on the local machine.
    pub path: String,
    pub reason: String,
}
