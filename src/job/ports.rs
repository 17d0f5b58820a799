//! Ports of the job engine: traits for task folders, digest keys and host lookup, which callers
//! implement.

use std::error::Error;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use crate::host::services::HostResolver;
use crate::host::{Location, LocationError};
use crate::secret::{self, DigestKey, KeyName};
use crate::task::RenderedFile;
use crate::topology::Endpoint;

/// Locates the machines of endpoints and host strings.
pub trait HostLocator {
    /// Returns the location of an endpoint's machine, with everything needed to connect.
    fn locate(&self, endpoint: &Endpoint) -> Result<Location, LocationError>;

    /// Returns a resolver for host strings.
    fn host_directory(&self) -> Result<Rc<dyn HostResolver>, LocationError>;
}

/// Provides the keys for digests of secrets.
pub trait DigestKeyProvider {
    /// Returns the key for new records. If there is none, `make` permits creating it.
    ///
    /// # Errors
    ///
    /// The key should exist but is not available.
    fn recording_key(&self, make: bool) -> Result<Option<Arc<DigestKey>>, secret::Error>;

    /// Returns the key that a record names, if it is available.
    fn key_by_name(&self, name: &KeyName) -> Result<Option<Arc<DigestKey>>, secret::Error>;
}

/// The key of a task's folders: its target's directory name and its operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderKey {
    pub instance: String,
    pub operation: String,
}

/// The reason why a task's files or earlier jobs' records are not available.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct PortError(Box<dyn Error + Send + Sync>);

impl PortError {
    /// Wraps the error of an implementation.
    pub fn of(error: impl Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }
}

/// Storage of task files, which move from `planned` to `active` or `failed`.
pub trait TaskFolders {
    /// Writes rendered files and returns the folders that contain them.
    fn write(
        &mut self,
        key: &FolderKey,
        files: &[RenderedFile],
    ) -> Result<Vec<(String, PathBuf)>, PortError>;

    /// Whether any task has planned files.
    fn has_any(&self) -> bool;

    /// Moves the folders of a successful task to `active`.
    fn activate(&mut self, key: &FolderKey) -> Result<(), PortError>;

    /// Moves the folders of a failed task to `failed/<task id>`.
    fn fail(&mut self, key: &FolderKey, task: &str) -> Result<(), PortError>;

    /// Makes all moves of folders durable.
    fn sync(&mut self) -> Result<(), PortError>;
}
