//! Finds the ensemble that the user means, from the command-line options and the current folder.

use std::path::{Path, PathBuf};

use super::error::{LoadError, LoadErrorKind};
use super::options::SessionOptions;
use crate::diagnostic::Sources;
use crate::project::{self, FileLoader, LocatedEnsemble, Trust};
use crate::system::env::Env;
use crate::system::{env, fs};
use crate::yaml::Limits;

/// An ensemble that was found but not read yet.
#[derive(Debug, Clone)]
pub(crate) struct EnsembleLocation {
    pub(crate) located: LocatedEnsemble,
    /// The symbolic link through which the manifest was found, if it was one.
    pub(crate) link: Option<PathBuf>,
    pub(crate) sources: Sources,
    pub(crate) env: Env,
}

impl EnsembleLocation {
    /// Returns the path through which the manifest was found.
    pub(crate) fn path(&self) -> &Path {
        self.link.as_deref().unwrap_or(&self.located.manifest)
    }
}

fn link_of(manifest: &Path) -> Option<PathBuf> {
    fs::is_symlink(manifest).then(|| manifest.to_path_buf())
}

/// Replaces a symbolic link by its target, because the record is stored beside the real manifest.
fn resolve_link(mut located: LocatedEnsemble) -> LocatedEnsemble {
    if fs::is_symlink(&located.manifest)
        && let Ok(manifest) = fs::canonicalize(&located.manifest)
    {
        located.manifest = manifest;
    }
    located
}

/// Returns the folder in which the program was started.
pub(crate) fn current_dir() -> Result<PathBuf, LoadError> {
    env::current_dir().map_err(|error| {
        let message = format!("the current folder cannot be found: {error}");
        LoadError::new(LoadErrorKind::Refused, message, None)
    })
}

/// Finds the ensemble that the options select.
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
    // Whether the whole project is trusted is known only after it is found, so only explicit permissions
    // count here.
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
