//! The folders with state files, by environment, from the options and the configuration.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;

use crate::ops::Failure;
use crate::states::BASE_ENV;
use crate::value::Value;

/// The folder of state files unless options or configuration name another.
const DEFAULT_ROOT: &str = "states";

/// Returns the folders of each environment: those of the configuration, except for environments that options name.
///
/// Fails if the configuration does not give lists of folders.
pub(in crate::cli) fn state_roots(
    named: &[PathBuf],
    configured: Option<&Value>,
) -> Result<IndexMap<Arc<str>, Vec<PathBuf>>, Failure> {
    let mut roots: IndexMap<Arc<str>, Vec<PathBuf>> = IndexMap::new();
    for (env, folder) in named.iter().map(|it| split_root(it)) {
        roots.entry(env).or_default().push(folder);
    }
    for (env, folders) in configured.and_then(Value::as_map).into_iter().flatten() {
        let folders = folders.as_list().ok_or_else(|| {
            Failure::usage(format!("`file_roots: {env}` must be a list of folders"))
        })?;
        if !roots.contains_key(env) {
            let folders = folders
                .iter()
                .filter_map(|it| Some(PathBuf::from(it.as_str()?)));
            roots.insert(Arc::clone(env), folders.collect());
        }
    }
    if roots.is_empty() {
        roots.insert(BASE_ENV.into(), vec![PathBuf::from(DEFAULT_ROOT)]);
    }
    Ok(roots)
}

/// Splits `ENV=DIR`. A text with a slash or a dot before the equals sign is a folder of `base`.
pub(in crate::cli) fn split_root(written: &Path) -> (Arc<str>, PathBuf) {
    let is_env = |env: &str| !env.is_empty() && !env.contains(['/', '.']);
    match written.to_str().and_then(|text| text.split_once('=')) {
        Some((env, folder)) if is_env(env) => (env.into(), PathBuf::from(folder)),
        _ => (BASE_ENV.into(), written.to_path_buf()),
    }
}
