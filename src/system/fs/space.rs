//! The free space of file systems, and the right to write.

use std::path::Path;

use rustix::fs::{Access, access, statvfs};

/// The free space of a file system for users without special rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeSpace {
    pub bytes: u64,
    /// The number of files that can be created; `None` if the file system has no fixed number.
    pub files: Option<u64>,
}

/// Returns the free space of the file system that holds a folder; `None` if it is unknown.
pub fn free_space(folder: &Path) -> Option<FreeSpace> {
    let found = statvfs(folder).ok()?;
    Some(FreeSpace {
        bytes: found.f_bavail.saturating_mul(found.f_frsize),
        files: (found.f_files > 0).then_some(found.f_favail),
    })
}

/// Whether this user may create files in a folder, or change a file.
pub fn is_writable(path: &Path) -> bool {
    access(path, Access::WRITE_OK).is_ok()
}
