//! Writes, moves and removes files and folders.
#![expect(
    clippy::disallowed_methods,
    reason = "only this module may call these methods"
)]

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::error::error_context;
use super::modes::{FILE_MODE, FOLDER_MODE};
use super::regular::open_output;
use super::{Error, FileAction};
use crate::system::fault::{self, SystemCall};

/// Replaces a file atomically: writes a temporary file beside it, syncs and renames it. At every moment
/// either the old or the new content is there.
///
/// An existing file keeps its permission bits unless `mode` is given. If the path is a symbolic link, its
/// target is replaced.
pub fn write_atomic(path: &Path, bytes: &[u8], mode: Option<u32>) -> Result<(), Error> {
    let target = if path.is_symlink() {
        path.canonicalize()
            .map_err(error_context(FileAction::Write, path))?
    } else {
        path.to_owned()
    };
    let old_mode = std::fs::metadata(&target)
        .ok()
        .map(|m| m.permissions().mode() & 0o7777);
    let beside = temporary_name(&target);
    let result = write_and_sync(&beside, bytes, mode.or(old_mode))
        .and_then(|()| rename_and_sync(&beside, &target));
    if let Err(source) = result {
        // Remove the temporary file; report the first error, not one of the removal.
        remove_file(&beside).ok();
        return Err(Error::new(FileAction::Write, path, source));
    }
    sync_dir(parent_of(&target))
}

fn write_and_sync(path: &Path, bytes: &[u8], mode: Option<u32>) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    options.mode(mode.unwrap_or(FILE_MODE));
    let file = fault::call(SystemCall::Open(path), || options.open(path))?;
    if let Some(mode) = mode {
        // The umask must not remove bits that the old file had.
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    fault::write_all(&file, path, bytes)?;
    fault::call(SystemCall::Sync(path), || file.sync_all())
}

fn rename_and_sync(from: &Path, to: &Path) -> std::io::Result<()> {
    fault::call(SystemCall::Rename(from, to), || std::fs::rename(from, to))
}

/// Returns a unique name beside `path` that matches `*.tmp.*`, which the usual `.gitignore` excludes.
pub(crate) fn temporary_name(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".tmp.{}", ulid::Ulid::generate()));
    path.with_file_name(name)
}

/// Returns the folder that contains `path`: `.` for a bare name.
pub fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Makes the names in the folder of a file durable.
pub fn sync_parent(path: &Path) -> Result<(), Error> {
    sync_dir(parent_of(path))
}

/// Makes the names in a folder durable.
pub fn sync_dir(folder: &Path) -> Result<(), Error> {
    let file = File::open(folder).map_err(error_context(FileAction::Sync, folder))?;
    sync_folder(folder, &file)
}

fn sync_folder(path: &Path, folder: &File) -> Result<(), Error> {
    match fault::call(SystemCall::SyncFolder(path), || folder.sync_all()) {
        // Some file systems cannot sync folders and do not need it.
        Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(()),
        other => other.map_err(error_context(FileAction::Sync, path)),
    }
}

/// Writes a file that may be lost in a crash, such as a rendered file or a log. Parent folders are created.
pub fn write_plain(path: &Path, bytes: &[u8], mode: Option<u32>) -> Result<(), Error> {
    create_dir_all(parent_of(path))?;
    let failed = || error_context(FileAction::Write, path);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    options.mode(mode.unwrap_or(FILE_MODE));
    let file =
        fault::call(SystemCall::Open(path), || open_output(&mut options, path)).map_err(failed())?;
    if let Some(mode) = mode {
        file.set_permissions(Permissions::from_mode(mode))
            .map_err(failed())?;
    }
    fault::write_all(&file, path, bytes).map_err(failed())
}

/// A file open for appending. A partial write is undone.
#[derive(Debug)]
pub struct Appender {
    file: File,
    path: PathBuf,
    length: u64,
    /// Folders with new entries, outermost first, which must be synced together with the file.
    unsynced: Vec<(PathBuf, File)>,
}

impl Appender {
    /// Opens a file for appending; creates it with these permission bits, and its folders, if needed.
    pub fn open(path: &Path, mode: u32) -> Result<Self, Error> {
        let mut folders = create_folders(parent_of(path))?;
        let failed = || error_context(FileAction::Write, path);
        if !path.exists() {
            folders.push(parent_of(path).to_owned());
        }
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(mode);
        let file = fault::call(SystemCall::Open(path), || open_output(&mut options, path))
            .map_err(failed())?;
        let length = file.metadata().map_err(failed())?.len();
        let mut unsynced = Vec::new();
        for folder in folders {
            let opened = File::open(&folder).map_err(error_context(FileAction::Sync, &folder))?;
            unsynced.push((folder, opened));
        }
        Ok(Self::over(file, path.to_owned(), length, unsynced))
    }

    /// Appends to an open file of this length. `unsynced` are folders with new entries, outermost first.
    pub(super) fn over(
        file: File,
        path: PathBuf,
        length: u64,
        unsynced: Vec<(PathBuf, File)>,
    ) -> Self {
        Self {
            file,
            path,
            length,
            unsynced,
        }
    }

    /// Appends bytes. They survive a crash of this process at once, but a crash of the system only after
    /// [`Self::sync`].
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match fault::write_all(&self.file, &self.path, bytes) {
            Ok(()) => {
                self.length += bytes.len() as u64;
                Ok(())
            }
            Err(source) => {
                // A partial entry would corrupt the entries after it.
                let take_back = || self.file.set_len(self.length);
                fault::call(SystemCall::Truncate(&self.path), take_back).ok();
                Err(Error::new(FileAction::Write, &self.path, source))
            }
        }
    }

    /// Makes all appended bytes and the names of new folders durable.
    pub fn sync(&mut self) -> Result<(), Error> {
        fault::call(SystemCall::Sync(&self.path), || self.file.sync_data())
            .map_err(error_context(FileAction::Sync, &self.path))?;
        // Sync the innermost folder first: a folder's name is useless before its content is durable.
        while let Some((path, folder)) = self.unsynced.last() {
            sync_folder(path, folder)?;
            self.unsynced.pop();
        }
        Ok(())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Locks the file for as long as it is open, so that others see that it is in use. Some file systems do not
    /// support locks.
    pub fn lock(&self) {
        fs2::FileExt::try_lock(&self.file).ok();
    }
}

/// Creates a folder and its missing parent folders.
pub fn create_dir_all(folder: &Path) -> Result<(), Error> {
    create_folders(folder).map(|_| ())
}

/// Creates a folder and its missing parents. Returns the folders that got a new entry, outermost first.
fn create_folders(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    if folder.is_dir() || folder.as_os_str().is_empty() {
        return Ok(Vec::new());
    }
    let parent = parent_of(folder);
    let mut changed = create_folders(parent)?;
    match fault::call(SystemCall::MakeFolder(folder), || {
        DirBuilder::new().mode(FOLDER_MODE).create(folder)
    }) {
        Ok(()) => changed.push(parent.to_owned()),
        // Another process may create the folder at the same time.
        Err(error) if error.kind() == ErrorKind::AlreadyExists && folder.is_dir() => {}
        Err(error) => return Err(Error::new(FileAction::CreateFolder, folder, error)),
    }
    Ok(changed)
}

pub fn remove_file(path: &Path) -> Result<(), Error> {
    fault::call(SystemCall::Unlink(path), || std::fs::remove_file(path))
        .map_err(error_context(FileAction::Remove, path))
}

/// Removes a file if it exists. Returns whether it existed.
pub fn remove_file_if_exists(path: &Path) -> Result<bool, Error> {
    removed_if_found(remove_file(path))
}

/// Removes a folder with its contents.
pub fn remove_dir_all(folder: &Path) -> Result<(), Error> {
    fault::call(SystemCall::RemoveTree(folder), || {
        std::fs::remove_dir_all(folder)
    })
    .map_err(error_context(FileAction::Remove, folder))
}

/// Removes a folder with its contents if it exists. Returns whether it existed.
fn remove_dir_if_exists(folder: &Path) -> Result<bool, Error> {
    removed_if_found(remove_dir_all(folder))
}

fn removed_if_found(result: Result<(), Error>) -> Result<bool, Error> {
    match result {
        Ok(()) => Ok(true),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(error),
    }
}

pub fn rename(from: &Path, to: &Path) -> Result<(), Error> {
    rename_and_sync(from, to).map_err(error_context(FileAction::Move, from))
}

/// A temporary folder that is removed when dropped.
#[derive(Debug)]
pub struct TemporaryDir(PathBuf);

/// Creates a folder that only this user can access, in an existing one.
///
/// # Errors
///
/// The path exists already, or cannot be created.
pub fn create_private_dir(path: &Path) -> Result<(), Error> {
    use std::os::unix::fs::DirBuilderExt as _;
    let create = || DirBuilder::new().mode(0o700).create(path);
    fault::call(SystemCall::MakeFolder(path), create)
        .map_err(error_context(FileAction::CreateFolder, path))
}

impl TemporaryDir {
    /// Creates a folder in `parent` that only this user can access.
    pub fn create_in(parent: &Path, prefix: &str) -> Result<Self, Error> {
        create_dir_all(parent)?;
        Self::create(parent.join(format!("{prefix}{}", ulid::Ulid::generate())))
    }

    /// Creates a folder that only this user can access, in an existing one.
    ///
    /// # Errors
    ///
    /// The path exists already, or cannot be created.
    pub fn create(path: PathBuf) -> Result<Self, Error> {
        create_private_dir(&path)?;
        Ok(Self(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryDir {
    fn drop(&mut self) {
        // An error cannot be reported while dropping, and the system cleans its temporary folder anyway.
        remove_dir_if_exists(&self.0).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = super::super::list(folder).unwrap();
        entries.into_iter().map(|entry| entry.name).collect()
    }

    #[test]
    fn an_atomic_write_keeps_the_mode_and_leaves_nothing_beside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ensemble.yaml");
        write_atomic(&path, b"one", Some(0o640)).unwrap();
        write_atomic(&path, b"two", None).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(super::super::mode_of(&path).unwrap(), 0o640);
        assert_eq!(names(folder.path()), ["ensemble.yaml"]);
    }

    #[test]
    fn an_atomic_write_through_a_link_keeps_the_link() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("a"), folder.path().join("b"));
        std::fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        write_atomic(&link, b"new", None).unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "new");
    }

    #[test]
    fn a_write_that_fails_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("taken");
        std::fs::create_dir_all(path.join("inner")).unwrap();
        assert!(write_atomic(&path, b"x", None).is_err());
        assert_eq!(names(folder.path()), ["taken"]);
    }

    #[test]
    fn a_secret_file_is_private_even_when_it_was_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        write_plain(&path, b"x", Some(0o644)).unwrap();
        write_plain(&path, b"y", Some(0o600)).unwrap();
        assert_eq!(super::super::mode_of(&path).unwrap(), 0o600);
    }

    #[test]
    fn appending_grows_a_file() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("jobs/x");
        for line in [b"a\n", b"b\n"] {
            let mut appender = Appender::open(&path, FILE_MODE).unwrap();
            appender.append(line).unwrap();
            appender.sync().unwrap();
        }
        assert_eq!(std::fs::read(&path).unwrap(), b"a\nb\n");
    }

    #[test]
    fn a_temporary_folder_is_private_and_goes_with_its_value() {
        let root = tempfile::tempdir().unwrap();
        let temporary = TemporaryDir::create_in(root.path(), "unfurl-").unwrap();
        assert_eq!(super::super::mode_of(temporary.path()).unwrap(), 0o700);
        write_plain(&temporary.path().join("a/b"), b"", None).unwrap();
        drop(temporary);
        assert!(names(root.path()).is_empty());
    }
}
