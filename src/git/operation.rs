//! Operations that change a repository: a record of each in `.git/unfurl/`, and the repair of those whose process
//! was killed.
//!
//! The record names the lock files before they exist. The folder beside it holds private files of the operation.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Error;
use super::lock_file::remove_abandoned_lock;
use super::repository::Repository;
use crate::system::fs::{self, Beneath, EntryKind};
use crate::system::lockfile;
use crate::system::process_identity::{ProcessIdentity, ProcessState};

/// The folder for records and private files, in the folder that all working trees of a repository share.
pub(super) const FOLDER: &str = "unfurl";

/// The references into which an operation fetches.
pub(super) const FETCHED_REFS: &str = "refs/unfurl";

/// The maximum size of a record.
const MAX_RECORD_BYTES: u64 = 1 << 20;

/// The age after which a temporary file of an unfinished write is removed.
const STALE_AGE: std::time::Duration = std::time::Duration::from_mins(1);

/// The record of an operation that is running, or whose process was killed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct OperationRecord {
    pub(super) owner: ProcessIdentity,
    /// The lock files that the process creates, relative to the shared folder of the repository.
    pub(super) locks: Vec<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) checkout: Option<CheckoutRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) transfer: Option<TransferRecord>,
}

/// A checkout that changes the working tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CheckoutRecord {
    /// The id of the commit that is checked out before; none before the first commit.
    pub(super) from: Option<String>,
    pub(super) to: String,
    /// The message for the reflog.
    pub(super) log: String,
}

/// A fetch or a push, which a git program does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TransferRecord {
    pub(super) is_push: bool,
    pub(super) remote: String,
    /// The full name of the branch on the remote.
    pub(super) branch: String,
    /// The start, in seconds since 1970.
    pub(super) started: i64,
}

impl OperationRecord {
    pub(super) fn new() -> Self {
        Self {
            owner: ProcessIdentity::of_this_process(),
            locks: Vec::new(),
            checkout: None,
            transfer: None,
        }
    }
}

/// An operation of this process. Dropping the value removes its record and its private files.
#[derive(Debug)]
pub(super) struct Operation {
    /// The folder that all working trees of the repository share.
    shared: Beneath,
    pub(super) id: String,
    /// Whether a later process must repair the operation.
    is_unfinished: bool,
}

impl Operation {
    /// Leaves the record, so that the next process repairs the operation once this process has ended.
    pub(super) fn leave_unfinished(&mut self) {
        self.is_unfinished = true;
    }

    /// Undoes [`Self::leave_unfinished`].
    pub(super) fn finish(&mut self) {
        self.is_unfinished = false;
    }

    /// Returns the path of a private file of the operation.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.shared.path().join(folder_of(&self.id)).join(name)
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        if !self.is_unfinished {
            // A later operation removes what stays here.
            remove_traces(&self.shared, &self.id).ok();
        }
    }
}

fn folder_of(id: &str) -> PathBuf {
    Path::new(FOLDER).join(id)
}

fn record_of(id: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("{id}.json"))
}

/// Removes the private files of an operation, then its record.
fn remove_traces(shared: &Beneath, id: &str) -> Result<(), fs::Error> {
    shared.remove_dir_if_exists(&folder_of(id))?;
    for fetched in [
        format!("{FETCHED_REFS}/{id}"),
        format!("{FETCHED_REFS}/{id}.lock"),
    ] {
        shared.remove_file_if_exists(Path::new(&fetched))?;
    }
    shared.remove_file_if_exists(&record_of(id))?;
    Ok(())
}

impl Repository {
    /// Begins an operation: its record is durable when this returns.
    pub(super) fn begin_operation(
        &self,
        mut record: OperationRecord,
        locks: &[&Path],
    ) -> Result<Operation, Error> {
        let shared = Beneath::open(self.inner.commondir())?;
        let relative = locks
            .iter()
            .filter_map(|lock| lock.strip_prefix(self.inner.commondir()).ok());
        // JSON holds text only. An abandoned lock with another name is found by its path.
        let relative = relative.filter(|path| path.to_str().is_some());
        record.locks = relative.map(Path::to_owned).collect();
        let id = ulid::Ulid::generate().to_string();
        shared.create_dir_all(Path::new(FOLDER))?;
        let text = serde_json::to_string(&record).map_err(std::io::Error::other);
        let path = shared.path().join(record_of(&id));
        let text = text.map_err(|source| fs::Error::new(fs::FileAction::Write, &path, source))?;
        let operation = Operation {
            shared,
            id,
            is_unfinished: false,
        };
        let shared = &operation.shared;
        lockfile::create_complete(&path, text.as_bytes())?;
        fs::sync_dir(&shared.path().join(FOLDER))?;
        shared.create_dir_all(&folder_of(&operation.id))?;
        Ok(operation)
    }

    /// Repairs what killed processes of this program left in the repository: removes their lock files and private
    /// files. Lock files of others stay, and so do checkouts that were cut off.
    pub fn repair(&self) -> Result<(), Error> {
        self.repair_operations(false)
    }

    /// Does the same, and completes checkouts that were cut off: these change files of the working tree.
    pub fn repair_checkouts(&self) -> Result<(), Error> {
        self.repair_operations(true)
    }

    fn repair_operations(&self, with_checkouts: bool) -> Result<(), Error> {
        let shared = Beneath::open(self.inner.commondir())?;
        let entries = match shared.list(Path::new(FOLDER)) {
            Ok(entries) => entries,
            Err(error) if error.is_not_found() => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        for entry in &entries {
            if let Some(id) = entry.name.strip_suffix(".json") {
                self.repair_operation(&shared, id, with_checkouts)?;
            } else if entry.kind == EntryKind::Folder {
                // A folder without a record is left over: the record exists for longer than the folder.
                if shared.info(&record_of(&entry.name))?.is_none() {
                    shared.remove_dir_if_exists(&folder_of(&entry.name))?;
                }
            } else if entry.name.contains(".tmp.") && is_stale(&entry.path) {
                shared.remove_file_if_exists(&Path::new(FOLDER).join(&entry.name))?;
            }
        }
        remove_fetched_references(&shared)?;
        for lock in self.own_locks() {
            remove_abandoned_lock(&lock)?;
        }
        Ok(())
    }

    fn repair_operation(
        &self,
        shared: &Beneath,
        id: &str,
        with_checkouts: bool,
    ) -> Result<(), Error> {
        let path = record_of(id);
        let Ok(bytes) = shared.read(&path, MAX_RECORD_BYTES) else {
            return Ok(());
        };
        let Ok(record) = serde_json::from_slice::<OperationRecord>(&bytes) else {
            return Ok(());
        };
        let whole = shared.path().join(&path);
        if !fs::is_own(&whole) || record.owner.state(&whole) != ProcessState::Ended {
            return Ok(());
        }
        for lock in record.locks.iter().filter(|lock| fs::is_within(lock)) {
            remove_abandoned_lock(&shared.path().join(lock))?;
        }
        if let Some(transfer) = &record.transfer {
            self.remove_locks_of_transfer(transfer, id)?;
        }
        if let Some(checkout) = &record.checkout {
            if !with_checkouts {
                return Ok(());
            }
            self.complete_checkout(checkout)?;
        }
        remove_traces(shared, id)?;
        Ok(())
    }

    /// Returns the lock files that this program creates, as far as they are known without a record.
    fn own_locks(&self) -> Vec<PathBuf> {
        let [own, shared] = [self.inner.path(), self.inner.commondir()];
        let mut locks = vec![own.join("index.lock"), own.join("HEAD.lock")];
        let names = ["config", "info/exclude", "info/attributes"].map(str::to_owned);
        let branch = self.branch().map(|name| format!("refs/heads/{name}"));
        let tracking = self.push_target().and_then(|target| target.tracking);
        for name in names.into_iter().chain(branch).chain(tracking) {
            locks.push(shared.join(format!("{name}.lock")));
        }
        locks
    }
}

/// Removes references of fetches, and their locks, whose record is gone: a power failure can bring them back.
fn remove_fetched_references(shared: &Beneath) -> Result<(), fs::Error> {
    let folder = Path::new(FETCHED_REFS);
    let entries = match shared.list(folder) {
        Ok(entries) => entries,
        Err(error) if error.is_not_found() => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let id = entry.name.strip_suffix(".lock").unwrap_or(&entry.name);
        if entry.kind == EntryKind::File && shared.info(&record_of(id))?.is_none() {
            shared.remove_file_if_exists(&folder.join(&entry.name))?;
        }
    }
    Ok(())
}

fn is_stale(path: &Path) -> bool {
    let time = fs::modified_time(path);
    let age = time.and_then(|time| time.elapsed().ok());
    age.is_some_and(|age| age > STALE_AGE)
}
