//! The hands of a job: who keeps its files and keys, who knows where machines are.

use std::error::Error;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use crate::host::services::HostResolver;
use crate::host::{Location, LocationError};
use crate::secret::{self, DigestKey};
use crate::task::RenderedFile;
use crate::topology::Endpoint;

/// Knows how machines are reached.
pub trait HostLocator {
    /// Where the machine of an endpoint is, with all that is needed to get there.
    fn locate(&self, endpoint: &Endpoint) -> Result<Location, LocationError>;

    /// Where host strings lead.
    fn host_directory(&self) -> Result<Rc<dyn HostResolver>, LocationError>;
}

/// Has the keys for digests of secrets.
pub trait DigestKeyProvider {
    /// The key for new records; where there is none it is made if it may be. An error says why
    /// there is none although there should be.
    fn recording_key(&self, make: bool) -> Result<Option<Arc<DigestKey>>, secret::Error>;

    /// The key with the id that a record carries, if it is there.
    fn key_by_id(&self, id: &str) -> Result<Option<Arc<DigestKey>>, secret::Error>;
}

/// Names the folders of a task: the directory name of its target, and its operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderKey {
    /// The directory name of the instance.
    pub instance: String,
    /// The operation.
    pub operation: String,
}

/// The reason why files of a task or records of earlier jobs cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct PortError(Box<dyn Error + Send + Sync>);

impl PortError {
    /// The error of those who keep them.
    pub fn of(error: impl Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }
}

/// Keeps the files of tasks: `planned`, then `active` or `failed`.
pub trait TaskFolders {
    /// Writes rendered files; gives the folders they are in.
    fn write(
        &mut self,
        key: &FolderKey,
        files: &[RenderedFile],
    ) -> Result<Vec<(String, PathBuf)>, PortError>;

    /// Whether anything is planned at all.
    fn has_any(&self) -> bool;

    /// Moves the folders of a task that succeeded to `active`.
    fn activate(&mut self, key: &FolderKey) -> Result<(), PortError>;

    /// Moves the folders of a task that failed to `failed/<task id>`.
    fn fail(&mut self, key: &FolderKey, task: &str) -> Result<(), PortError>;

    /// Makes durable where the files of tasks are.
    fn sync(&mut self) -> Result<(), PortError>;
}
