//! Makes one change on the local machine.
//!
//! A file is written under a temporary name and then renamed. Like other tools of this kind, it is
//! not synced to disk: after a crash of the machine, states are applied again.
#![expect(
    clippy::disallowed_methods,
    reason = "this module applies the changes of states, including their owners"
)]

use std::fs::{DirBuilder, FileTimes, Metadata, OpenOptions, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt, OpenOptionsExt as _, PermissionsExt as _, chown, fchown,
    lchown, symlink,
};
use std::path::Path;
use std::time::{Duration, SystemTime};

use nix::errno::Errno;

use super::accounts::{AccountNames, OwnerIds};
use super::copy::{self, temporary_sibling};
use crate::host::change::{Change, FileWrite, ModeAndOwner, describe_change, may_begin_with};
use crate::system::clock;
use crate::system::fault::{self, SystemCall};
use crate::system::fs;

/// The default permission bits of a new file.
pub(crate) const FILE_MODE: u32 = 0o644;
/// The default permission bits of a new folder.
pub(crate) const FOLDER_MODE: u32 = 0o755;
/// The permission bits of a file that is not complete yet.
const PARTIAL_FILE_MODE: u32 = 0o600;

/// Makes a change other than a command.
///
/// # Errors
///
/// Returns the attempted change, its path and the message of the system.
pub(crate) fn apply(change: &Change, names: &mut AccountNames) -> Result<(), String> {
    let (what, path) = describe_change(change);
    apply_file_change(change, names)
        .map_err(|error| format!("could not {what} `{path}`: {}", fs::os_message(&error)))
}

fn apply_file_change(change: &Change, names: &mut AccountNames) -> std::io::Result<()> {
    match change {
        Change::Write(it) => write(it, owner(names, &it.like)?),
        Change::Folder {
            path,
            parents,
            like,
        } => make_folder(Path::new(path), *parents, like, owner(names, like)?),
        Change::Link {
            path,
            target,
            hard,
            like,
        } => link(Path::new(path), target, *hard, owner(names, like)?),
        Change::Remove { path } => remove(Path::new(path)),
        Change::Set { path, like, follow } => {
            set_attributes(Path::new(path), like, *follow, owner(names, like)?)
        }
        Change::Move { from, to } => rename(Path::new(from), Path::new(to)),
        Change::Copy { from, to, preserve } => copy::copy(from.as_ref(), to.as_ref(), *preserve),
        Change::Touch {
            path,
            read,
            written,
        } => touch(Path::new(path), *read, *written),
        Change::Run(_) => Err(Errno::ENOTSUP.into()),
    }
}

fn owner(names: &mut AccountNames, like: &ModeAndOwner) -> std::io::Result<OwnerIds> {
    names.owner(like).map_err(std::io::Error::other)
}

fn is_folder(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

fn write(file: &FileWrite, owner: OwnerIds) -> std::io::Result<()> {
    let path = Path::new(&file.path);
    let old = std::fs::symlink_metadata(path).ok();
    if old.as_ref().is_some_and(Metadata::is_dir) {
        return Err(Errno::EISDIR.into());
    }
    let old = old.filter(Metadata::is_file);
    let new = temporary_sibling(path);
    let result = write_new(&new, file, owner, old.as_ref()).and_then(|()| rename_over(&new, path));
    if result.is_err() {
        // A failed removal is ignored: the first error is the one to report.
        std::fs::remove_file(&new).ok();
    }
    result
}

fn rename_over(new: &Path, path: &Path) -> std::io::Result<()> {
    fault::call(SystemCall::Rename(new, path), || std::fs::rename(new, path))
}

fn write_new(
    new: &Path,
    it: &FileWrite,
    owner: OwnerIds,
    old: Option<&Metadata>,
) -> std::io::Result<()> {
    let old_mode = old.map(|old| old.mode() & 0o7777);
    let mode = it.like.mode.or(old_mode).unwrap_or(FILE_MODE);
    let first_mode = if may_begin_with(mode) {
        mode
    } else {
        PARTIAL_FILE_MODE
    };
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(first_mode);
    let file = fault::call(SystemCall::Open(new), || options.open(new))?;
    fault::write_all(&file, new, &it.bytes)?;
    let is = file.metadata()?;
    let owner_ids = OwnerIds {
        user: owner.user.or(old.map(MetadataExt::uid)),
        group: owner.group.or(old.map(MetadataExt::gid)),
    };
    let differs = |desired: Option<u32>, is: u32| desired.filter(|desired| *desired != is);
    let (user, group) = (
        differs(owner_ids.user, is.uid()),
        differs(owner_ids.group, is.gid()),
    );
    if user.is_some() || group.is_some() {
        let chown_result = fchown(&file, user, group);
        // A user who may not change the owner can still replace the file, if no owner was
        // requested.
        if owner.user.is_some() || owner.group.is_some() {
            chown_result?;
        }
    }
    if mode != is.mode() & 0o7777 || user.is_some() || group.is_some() {
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    Ok(())
}

fn make_folder(
    path: &Path,
    parents: bool,
    like: &ModeAndOwner,
    owner: OwnerIds,
) -> std::io::Result<()> {
    if path.is_dir() {
        return set_attributes(path, like, true, owner);
    }
    if parents && let Some(above) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
        make_parents(above)?;
    }
    let create = || DirBuilder::new().mode(0o700).create(path);
    match fault::call(SystemCall::MakeFolder(path), create) {
        Ok(()) => {}
        // Another process has made it in the meantime.
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => {
            return set_attributes(path, like, true, owner);
        }
        Err(error) => return Err(error),
    }
    let like = ModeAndOwner {
        mode: like.mode.or(Some(FOLDER_MODE)),
        ..ModeAndOwner::default()
    };
    let result = set_attributes(path, &like, true, owner);
    if result.is_err() {
        std::fs::remove_dir(path).ok();
    }
    result
}

fn make_parents(folder: &Path) -> std::io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(above) = folder.parent().filter(|it| !it.as_os_str().is_empty()) {
        make_parents(above)?;
    }
    match DirBuilder::new().mode(FOLDER_MODE).create(folder) {
        // The umask of this process must not reduce the permissions of parent folders.
        Ok(()) => std::fs::set_permissions(folder, Permissions::from_mode(FOLDER_MODE)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

fn link(path: &Path, target: &str, hard: bool, owner: OwnerIds) -> std::io::Result<()> {
    if is_folder(path) {
        return Err(Errno::EISDIR.into());
    }
    let new = temporary_sibling(path);
    if hard {
        fault::call(SystemCall::Link(&new), || std::fs::hard_link(target, &new))?;
    } else {
        fault::call(SystemCall::Link(&new), || symlink(target, &new))?;
    }
    let owned = if owner == OwnerIds::default() {
        Ok(())
    } else {
        lchown(&new, owner.user, owner.group)
    };
    let result = owned.and_then(|()| rename_over(&new, path));
    // The temporary name still exists if the rename failed, or if both names were already hard
    // links to the same file.
    std::fs::remove_file(&new).ok();
    result
}

fn remove(path: &Path) -> std::io::Result<()> {
    let result = if is_folder(path) {
        fault::call(SystemCall::RemoveTree(path), || {
            std::fs::remove_dir_all(path)
        })
    } else {
        fault::call(SystemCall::Unlink(path), || std::fs::remove_file(path))
    };
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn set_attributes(
    path: &Path,
    like: &ModeAndOwner,
    follow: bool,
    owner: OwnerIds,
) -> std::io::Result<()> {
    if owner != OwnerIds::default() {
        if follow {
            chown(path, owner.user, owner.group)?;
        } else {
            lchown(path, owner.user, owner.group)?;
        }
    }
    match like.mode {
        // A symbolic link has no permission bits of its own.
        Some(mode) if follow || !path.is_symlink() => {
            std::fs::set_permissions(path, Permissions::from_mode(mode))
        }
        _ => Ok(()),
    }
}

fn rename(from: &Path, to: &Path) -> std::io::Result<()> {
    if is_folder(to) {
        return Err(Errno::EISDIR.into());
    }
    match rename_over(from, to) {
        Err(error) if error.kind() == ErrorKind::CrossesDevices => {
            copy::copy(from, to, true)?;
            remove(from)
        }
        other => other,
    }
}

fn touch(path: &Path, read: Option<i64>, written: Option<i64>) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(PARTIAL_FILE_MODE);
    let file = match options.open(path) {
        Ok(file) => {
            file.set_permissions(Permissions::from_mode(FILE_MODE))?;
            file
        }
        // Opening a named pipe must not block.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => OpenOptions::new()
            .read(true)
            .custom_flags(nix::libc::O_NONBLOCK)
            .open(path)?,
        Err(error) => return Err(error),
    };
    let times = FileTimes::new()
        .set_accessed(time(read))
        .set_modified(time(written));
    file.set_times(times)
}

/// Returns a time given in seconds since 1970, or the current time if none.
fn time(seconds: Option<i64>) -> SystemTime {
    let Some(seconds) = seconds else {
        return clock::now().into();
    };
    let distance = Duration::from_secs(seconds.unsigned_abs());
    let time = if seconds < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(distance)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(distance)
    };
    time.unwrap_or(SystemTime::UNIX_EPOCH)
}
