//! Removes the lock files that a killed git program leaves: those of a fetch or a push, here and in a remote
//! repository on this computer.

use std::path::Path;
use std::time::{Duration, Instant};

use super::Error;
use super::isolation::local_folder;
use super::lock_file::lock_of;
use super::operation::TransferRecord;
use super::repository::Repository;
use crate::system::fs::{self, FileStat};
use crate::system::survivors;

/// The time for which a lock file must stay the same. A running git removes its locks within milliseconds.
const QUIET_TIME: Duration = Duration::from_secs(1);

/// The interval for looking at a lock file.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

impl Repository {
    /// Removes the lock files of a fetch or a push that has ended, with the id of its operation.
    ///
    /// Lock files that are older, or that may belong to a running process, stay.
    pub(super) fn remove_locks_of_transfer(
        &self,
        transfer: &TransferRecord,
        id: &str,
    ) -> Result<(), Error> {
        let shallow = self.inner.commondir().join("shallow.lock");
        remove_if_abandoned(&shallow, transfer, id)?;
        if !transfer.is_push {
            return Ok(());
        }
        // Without git, nothing was pushed.
        let Ok(addresses) = self.check_addresses(&transfer.remote, true) else {
            return Ok(());
        };
        for address in addresses {
            let folder = local_folder(&address, self.root());
            let Some(folder) = folder.filter(|folder| fs::is_dir(folder)) else {
                continue;
            };
            let Ok(remote) = git2::Repository::open(&folder) else {
                continue;
            };
            let branch = Path::new(&transfer.branch);
            if !fs::is_within(branch) || !branch.starts_with("refs/heads") {
                continue;
            }
            for name in [branch, Path::new("HEAD")] {
                let lock = lock_of(&remote.commondir().join(name));
                remove_if_abandoned(&lock, transfer, id)?;
            }
        }
        Ok(())
    }
}

fn remove_if_abandoned(lock: &Path, transfer: &TransferRecord, id: &str) -> Result<(), Error> {
    let belongs = |found: &FileStat| {
        found.changed.seconds >= transfer.started && fs::is_own(lock) && !fs::is_symlink(lock)
    };
    let Some(first) = fs::stat_of(lock).ok().filter(belongs) else {
        return Ok(());
    };
    let end = Instant::now() + QUIET_TIME;
    while Instant::now() < end {
        std::thread::sleep(POLL_INTERVAL);
        if fs::stat_of(lock).ok() != Some(first) {
            return Ok(());
        }
    }
    if survivors::find(id, &|_| false).is_empty() {
        fs::remove_file_if_exists(lock)?;
        fs::sync_parent(lock)?;
    }
    Ok(())
}
