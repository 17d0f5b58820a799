//! The interface of backends.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::error::Problem;
use super::name::SecretName;
use crate::system::env::Env;
use crate::value::Map;

/// A place that holds secrets.
pub trait Backend: Debug + Send + Sync {
    /// Returns true if the backend runs a program or uses the network, which only the user can permit.
    fn needs_permission(&self) -> bool;

    /// Gets the secret with a name. A backend is asked once for each name.
    fn fetch(&self, name: &SecretName, context: &BackendContext<'_>) -> Result<Secret, Problem>;

    /// Returns a file with a credential of the backend that this process would read. None if it reads none.
    fn credential_file(&self, _env: &Env) -> Option<PathBuf> {
        None
    }
}

/// The result of a backend. It has no debug form, because it is secret.
#[derive(Clone)]
pub enum Secret {
    Text(Zeroizing<String>),
    /// The fields of a secret that consists of several values.
    Fields(Map),
}

/// Returns the path to open for a file that a backend names, or the reason why it must not be read.
pub type FileAccess<'a> = &'a dyn Fn(&Path) -> Result<PathBuf, String>;

/// The things of this machine that backends use.
#[derive(Clone, Copy)]
pub struct BackendContext<'a> {
    /// The variables of this process, without the rules of the environment.
    pub env: &'a Env,
    /// The folder in which programs run and that relative paths begin in.
    pub folder: &'a Path,
    pub files: FileAccess<'a>,
}

impl Debug for BackendContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BackendContext")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}
