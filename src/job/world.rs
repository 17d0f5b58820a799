//! The hands of a job: who keeps its files and keys, who knows where machines are.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use crate::host::Place;
use crate::host::helpers::Book;
use crate::secret::DigestKey;
use crate::task::{RenderedFile, WorkFolder};
use crate::topology::Endpoint;

/// Knows how machines are reached.
pub trait Places {
    /// Where the machine of an endpoint is, with all that is needed to get there; an error says
    /// what is wrong about it.
    fn place(&self, endpoint: &Endpoint) -> Result<Place, String>;

    /// Where host strings lead; an error says why that is not known.
    fn book(&self) -> Result<Rc<dyn Book>, String>;
}

/// Has the keys for digests of secrets.
pub trait Keys {
    /// The key for new records; where there is none it is made if it may be. An error says why
    /// there is none although there should be, and what to do.
    fn for_records(&self, make: bool) -> Result<Option<Arc<DigestKey>>, String>;

    /// The key with the id that a record carries, if it is there.
    fn of_id(&self, id: &str) -> Result<Option<Arc<DigestKey>>, String>;
}

/// Names the folders of a task: the directory name of its target, and its operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderKey {
    /// The directory name of the instance.
    pub instance: String,
    /// The operation.
    pub operation: String,
}

/// Keeps the files of tasks: `planned`, then `active` or `failed`.
pub trait Folders {
    /// Writes rendered files; gives the folders they are in.
    fn write(
        &mut self,
        key: &FolderKey,
        files: &[RenderedFile],
    ) -> Result<Vec<(String, PathBuf)>, String>;

    /// Whether anything is planned at all.
    fn has_any(&self) -> bool;

    /// Drops what was written for a task that is to be rendered again.
    fn discard(&mut self, key: &FolderKey) -> Result<(), String>;

    /// Moves the folders of a task that succeeded to `active`.
    fn activate(&mut self, key: &FolderKey) -> Result<(), String>;

    /// Moves the folders of a task that failed to `failed/<task id>`.
    fn fail(&mut self, key: &FolderKey, task: &str) -> Result<(), String>;

    /// Makes durable where the files of tasks are.
    fn sync(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// The folder a task writes to now.
    fn path(&self, key: &FolderKey, folder: WorkFolder) -> PathBuf;
}
