//! The system calls on one entry of an open folder: write, rename, exchange, unlink, sync.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::retry_on_intr;

use super::modes::FILE_MODE;
use super::resolve::link_at;
use super::tree::remove_tree;
use super::writing::temporary_name;
use crate::system::fault::{self, SystemCall};

/// An entry of an open folder.
pub(super) struct Entry<'a> {
    pub(super) folder: OwnedFd,
    pub(super) name: &'a OsStr,
    /// The whole path, for messages and the fault layer.
    pub(super) path: PathBuf,
}

impl Entry<'_> {
    pub(super) fn folder_path(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// Fails if the entry is a symbolic link.
    pub(super) fn refuse_link(&self) -> io::Result<()> {
        match link_at(self.folder.as_fd(), self.name, &self.path) {
            Some(link) => Err(link.into()),
            None => Ok(()),
        }
    }
}

/// Writes a temporary file beside the entry, syncs it, renames it to the entry and syncs the folder.
pub(super) fn replace(place: &Entry<'_>, bytes: &[u8], mode: Option<u32>) -> io::Result<()> {
    write_and_rename(place, bytes, mode, place)?;
    sync(place.folder.as_fd(), place.folder_path())
}

/// Writes a temporary file beside the entry, syncs it, and renames it to `target` in the same folder.
pub(super) fn write_and_rename(
    place: &Entry<'_>,
    bytes: &[u8],
    mode: Option<u32>,
    target: &Entry<'_>,
) -> io::Result<()> {
    let beside = temporary_name(&place.path);
    let name: OsString = beside.file_name().unwrap_or_default().to_owned();
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let write = || {
        let new_mode = Mode::from_raw_mode(mode.unwrap_or(FILE_MODE));
        let open = || {
            let open = || rustix::fs::openat(&place.folder, &*name, flags, new_mode);
            Ok(retry_on_intr(open)?)
        };
        let file = File::from(fault::call(SystemCall::Open(&beside), open)?);
        if let Some(mode) = mode {
            // The umask must not remove bits that the old file had.
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        fault::write_all(&file, &beside, bytes)?;
        fault::call(SystemCall::Sync(&beside), || file.sync_all())?;
        let rename = || {
            let folder = &place.folder;
            Ok(rustix::fs::renameat(folder, &*name, folder, target.name)?)
        };
        fault::call(SystemCall::Rename(&beside, &target.path), rename)
    };
    if let Err(error) = write() {
        // Remove the temporary file; report the first error, not one of the removal.
        let remove = || {
            Ok(rustix::fs::unlinkat(
                &place.folder,
                &*name,
                AtFlags::empty(),
            )?)
        };
        fault::call(SystemCall::Unlink(&beside), remove).ok();
        return Err(error);
    }
    Ok(())
}

/// Makes the names in a folder durable.
pub(super) fn sync(folder: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    match fault::call(SystemCall::SyncFolder(path), || {
        Ok(retry_on_intr(|| rustix::fs::fsync(folder))?)
    }) {
        // Some file systems cannot sync folders and do not need it.
        Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(()),
        other => other,
    }
}

pub(super) fn rename_entry(from: &Entry<'_>, to: &Entry<'_>) -> io::Result<()> {
    let rename = || {
        Ok(rustix::fs::renameat(
            &from.folder,
            from.name,
            &to.folder,
            to.name,
        )?)
    };
    fault::call(SystemCall::Rename(&from.path, &to.path), rename)
}

/// Removes a file, or a symbolic link itself.
pub(super) fn unlink(place: &Entry<'_>) -> io::Result<()> {
    let unlink = || {
        let flags = AtFlags::empty();
        Ok(rustix::fs::unlinkat(&place.folder, place.name, flags)?)
    };
    fault::call(SystemCall::Unlink(&place.path), unlink)
}

pub(super) fn remove_entry(place: &Entry<'_>) -> io::Result<()> {
    fault::call(SystemCall::RemoveTree(&place.path), || {
        remove_tree(place.folder.as_fd(), place.name)
    })
}

/// Whether the error means that the file systems do not support the exchange.
pub(super) fn is_exchange_unsupported(error: &io::Error) -> bool {
    let kind = error.kind();
    kind == ErrorKind::CrossesDevices
        || kind == ErrorKind::InvalidInput
        || kind == ErrorKind::Unsupported
        || error.raw_os_error() == Some(nix::libc::ENOSYS)
}

/// Swaps two entries atomically; fails on systems that cannot.
pub(super) fn exchange(one: &Entry<'_>, other: &Entry<'_>) -> io::Result<()> {
    let call = SystemCall::Exchange(&one.path, &other.path);
    fault::call(call, || rename_with(one, other, RenameMode::Exchange))
}

/// Renames an entry; fails if the new name exists, on systems that can tell.
pub(super) fn rename_without_replacing(from: &Entry<'_>, to: &Entry<'_>) -> io::Result<()> {
    let call = SystemCall::Rename(&from.path, &to.path);
    fault::call(call, || rename_with(from, to, RenameMode::NoReplace))
}

/// The variants of `renameat2`.
#[derive(Debug, Clone, Copy)]
enum RenameMode {
    Exchange,
    NoReplace,
}

#[cfg(target_os = "linux")]
fn rename_with(from: &Entry<'_>, to: &Entry<'_>, mode: RenameMode) -> io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    let flags = match mode {
        RenameMode::Exchange => RenameFlags::EXCHANGE,
        RenameMode::NoReplace => RenameFlags::NOREPLACE,
    };
    let (old, new) = (&from.folder, &to.folder);
    Ok(renameat_with(old, from.name, new, to.name, flags)?)
}

#[cfg(not(target_os = "linux"))]
fn rename_with(from: &Entry<'_>, to: &Entry<'_>, mode: RenameMode) -> io::Result<()> {
    match mode {
        RenameMode::Exchange => Err(ErrorKind::Unsupported.into()),
        RenameMode::NoReplace => Ok(rustix::fs::renameat(
            &from.folder,
            from.name,
            &to.folder,
            to.name,
        )?),
    }
}
