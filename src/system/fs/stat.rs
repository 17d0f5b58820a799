//! The metadata of files that git's index records.

use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::error::error_context;
use super::{Error, FileAction};
use crate::system::fault::{self, SystemCall};

/// A time of the file system: seconds since 1970 and nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileTime {
    pub seconds: i64,
    pub nanoseconds: i64,
}

impl From<FileTime> for SystemTime {
    /// Converts the time. A time before 1970 becomes the start of 1970.
    fn from(time: FileTime) -> Self {
        let part = |number: i64| u64::try_from(number).unwrap_or_default();
        let whole = Duration::from_secs(part(time.seconds));
        Self::UNIX_EPOCH + whole + Duration::from_nanos(part(time.nanoseconds))
    }
}

/// The metadata of a file. Any change of the file changes it, unless both happen within one tick of the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStat {
    /// The kind of the file and its permission bits (`st_mode`).
    pub mode: u32,
    pub size: u64,
    pub device: u64,
    pub inode: u64,
    pub user: u32,
    pub group: u32,
    /// The time of the last change of the content.
    pub modified: FileTime,
    /// The time of the last change of content or metadata.
    pub changed: FileTime,
}

/// Returns the metadata of a file. A symbolic link is not followed.
pub fn stat_of(path: &Path) -> Result<FileStat, Error> {
    let found =
        std::fs::symlink_metadata(path).map_err(error_context(FileAction::Inspect, path))?;
    Ok(FileStat {
        mode: found.mode(),
        size: found.size(),
        device: found.dev(),
        inode: found.ino(),
        user: found.uid(),
        group: found.gid(),
        modified: FileTime {
            seconds: found.mtime(),
            nanoseconds: found.mtime_nsec(),
        },
        changed: FileTime {
            seconds: found.ctime(),
            nanoseconds: found.ctime_nsec(),
        },
    })
}

/// Creates a folder and its missing parents. Each gets the permission bits of the folder around it.
pub fn create_dirs_like_parent(folder: &Path) -> Result<(), Error> {
    if folder.is_dir() {
        return Ok(());
    }
    let parent = super::parent_of(folder);
    create_dirs_like_parent(parent)?;
    super::create_dir_all(folder)?;
    let copied = std::fs::metadata(parent)
        .and_then(|parent| std::fs::set_permissions(folder, parent.permissions()));
    copied.map_err(error_context(FileAction::CreateFolder, folder))
}

/// Sets the time of the last change of a file.
pub fn set_modified_time(path: &Path, time: SystemTime) -> Result<(), Error> {
    let set = File::open(path).and_then(|file| file.set_modified(time));
    set.map_err(error_context(FileAction::Write, path))
}

/// Makes the bytes of a file durable.
pub fn sync_file(path: &Path) -> Result<(), Error> {
    let synced =
        File::open(path).and_then(|file| fault::call(SystemCall::Sync(path), || file.sync_all()));
    synced.map_err(error_context(FileAction::Sync, path))
}
