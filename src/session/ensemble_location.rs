//! Finds the ensemble that is meant.

use std::path::{Path, PathBuf};

use super::error::{LoadError, LoadErrorKind};
use super::options::SessionOptions;
use crate::diagnostic::Sources;
use crate::project::{self, FileLoader, LocatedEnsemble, Trust};
use crate::system::env::Env;
use crate::system::{env, fs};
use crate::yaml::Limits;

/// An ensemble that was found but not read.
#[derive(Debug, Clone)]
pub(crate) struct EnsembleLocation {
    pub(crate) located: LocatedEnsemble,
    /// The link by which its file was found, if it was.
    pub(crate) link: Option<PathBuf>,
    pub(crate) sources: Sources,
    pub(crate) env: Env,
}

impl EnsembleLocation {
    /// The path by which its file was found.
    pub(crate) fn path(&self) -> &Path {
        self.link.as_deref().unwrap_or(&self.located.manifest)
    }
}

fn link_of(manifest: &Path) -> Option<PathBuf> {
    fs::is_symlink(manifest).then(|| manifest.to_path_buf())
}

/// The record of an ensemble is beside its file, by whatever links that is found.
fn resolve_link(mut located: LocatedEnsemble) -> LocatedEnsemble {
    if fs::is_symlink(&located.manifest)
        && let Ok(manifest) = fs::canonicalize(&located.manifest)
    {
        located.manifest = manifest;
    }
    located
}

/// The folder in which the program was called.
pub(crate) fn current_dir() -> Result<PathBuf, LoadError> {
    env::current_dir().map_err(|error| {
        let message = format!("the current folder cannot be found: {error}");
        LoadError::new(LoadErrorKind::Refused, message, None)
    })
}

/// Finds the ensemble that is meant.
pub(crate) fn find(options: &SessionOptions) -> Result<EnsembleLocation, LoadError> {
    let env = Env::of_this_process();
    let cwd = current_dir()?;
    let mut sources = Sources::default();
    let search_root = env.non_empty("UNFURL_SEARCH_ROOT").map(PathBuf::from);
    let request = project::LocateRequest {
        argument: &options.ensemble,
        cwd: &cwd,
        search_root: search_root.as_deref(),
        home: options.home.as_deref(),
        use_environment: options.environment.as_deref(),
        allowed: &options.allowed,
    };
    let mut loader = FileLoader::new(&mut sources, &env, Limits::default());
    // Whether it is trusted altogether is not known before it is found.
    let allowed = Trust::new(options.allowed.iter().cloned(), false);
    loader.set_trust(&allowed, &cwd);
    let located = project::locate(&request, &mut loader);
    drop(loader);
    match located {
        Ok(located) => Ok(EnsembleLocation {
            link: link_of(&located.manifest),
            located: resolve_link(located),
            sources,
            env,
        }),
        Err(error) => Err(LoadError::of_search(error, sources)),
    }
}
