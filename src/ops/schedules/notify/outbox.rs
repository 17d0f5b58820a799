//! The folder of waiting notices: one file per notice and target.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::entry::QueuedNotice;
use crate::system::fs::{self, EntryKind};
use crate::system::lockfile::{self, LockFile};

/// The mode of files with notices, which only their owner may read.
const MODE: u32 = 0o600;

/// The maximum size of a notice on disk, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// The age after which the temporary file of an interrupted write is removed.
const STALE_AGE: Duration = Duration::from_hours(1);

/// The folder of waiting notices.
#[derive(Debug, Clone)]
pub(super) struct Outbox {
    folder: PathBuf,
}

impl Outbox {
    /// Opens the folder of a project's schedules.
    pub(super) fn of(schedules: &Path) -> Self {
        Self {
            folder: schedules.join("outbox"),
        }
    }

    fn path_of(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    /// Queues a notice durably, unless it waits already.
    pub(super) fn put(&self, notice: &QueuedNotice) -> Result<(), fs::Error> {
        fs::create_dir_all(&self.folder)?;
        let path = self.path_of(&notice.id);
        lockfile::create_complete(&path, &content(notice))?;
        fs::sync_parent(&path)
    }

    /// Replaces the file of a notice.
    pub(super) fn update(&self, notice: &QueuedNotice) -> Result<(), fs::Error> {
        fs::write_atomic(&self.path_of(&notice.id), &content(notice), Some(MODE))
    }

    pub(super) fn remove(&self, notice: &QueuedNotice) -> Result<(), fs::Error> {
        let path = self.path_of(&notice.id);
        if fs::remove_file_if_exists(&path)? {
            fs::sync_parent(&path)?;
        }
        Ok(())
    }

    /// Takes the right to deliver. None if another process has it.
    pub(super) fn lock(&self) -> Result<Option<LockFile>, fs::Error> {
        fs::create_dir_all(&self.folder)?;
        LockFile::wait(&self.folder.join(".lock"), b"", Duration::ZERO)
    }

    /// Returns the waiting notices, the oldest first. A damaged file is set aside.
    pub(super) fn all(&self) -> Result<Vec<QueuedNotice>, fs::Error> {
        if !fs::is_dir(&self.folder) {
            return Ok(Vec::new());
        }
        let mut notices = Vec::new();
        for entry in fs::list(&self.folder)? {
            let path = self.folder.join(&entry.name);
            let name = &entry.name;
            if entry.kind != EntryKind::File {
                continue;
            }
            if name.contains(".tmp.") && is_stale(&path) {
                fs::remove_file_if_exists(&path)?;
            }
            let Some(id) = name.strip_suffix(".json") else {
                continue;
            };
            let bytes = match fs::read_within(&path, MAX_BYTES) {
                Err(error) if error.is_not_found() => continue,
                bytes => bytes?,
            };
            match serde_json::from_slice::<QueuedNotice>(&bytes) {
                Ok(notice) if notice.id == id => notices.push(notice),
                _ => fs::rename(&path, &path.with_extension("damaged"))?,
            }
        }
        notices.sort_by_cached_key(|notice| (notice.created(), notice.id.clone()));
        Ok(notices)
    }
}

fn content(notice: &QueuedNotice) -> Vec<u8> {
    // A notice is text and numbers, which JSON always expresses.
    serde_json::to_vec_pretty(notice).unwrap_or_default()
}

fn is_stale(path: &Path) -> bool {
    let modified = fs::modified_time(path);
    let age = modified.and_then(|time| {
        SystemTime::from(crate::system::clock::now())
            .duration_since(time)
            .ok()
    });
    age.is_some_and(|age| age > STALE_AGE)
}
