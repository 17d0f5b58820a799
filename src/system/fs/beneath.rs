//! A folder that is opened once. All operations stay beneath it and follow no symbolic link.

use std::fs::{File, Permissions};
use std::io::{self, ErrorKind, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use super::entries::{
    Entry, exchange, is_exchange_unsupported, remove_entry, rename_entry, replace, sync, unlink,
};
use super::modes::{FILE_MODE, FOLDER_MODE};
use super::regular::{check_regular, read_regular};
use super::resolve::{AS_FOLDER, RefusedLink, link_on_the_way, names_of, open_beneath, open_root};
use super::tree::{copy_entries, entries_of};
use super::writing::{Appender, temporary_name};
use super::{DirEntry, EntryKind, Error, FileAction};
use crate::system::fault::{self, SystemCall};

/// A folder that is opened once. All operations stay beneath it and follow no symbolic link.
///
/// A path is relative to the folder and has names only, or is absolute and begins with the path of the folder.
/// A link on the way, or as the last name where an operation would follow it, is an error that names the link
/// and its target ([`RefusedLink`]). Clones share the open folder.
#[derive(Debug, Clone)]
pub struct Beneath {
    folder: Arc<OwnedFd>,
    /// The absolute path of the folder when it was opened, for messages.
    path: PathBuf,
    /// Whether `openat2` may be used.
    by_kernel: bool,
}

/// The metadata of an entry; a symbolic link is not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryInfo {
    pub kind: EntryKind,
    /// The permission bits.
    pub mode: u32,
    /// The length in bytes.
    pub length: u64,
    /// The id of the user that owns the entry.
    pub owner: u32,
}

impl Beneath {
    /// Opens a folder. Links in its own path are followed.
    pub fn open(root: &Path) -> Result<Self, Error> {
        let failed = |source| Error::new(FileAction::Inspect, root, source);
        Ok(Self {
            folder: Arc::new(open_root(root).map_err(failed)?),
            path: std::path::absolute(root).map_err(failed)?,
            by_kernel: true,
        })
    }

    /// Opens a folder beneath this one.
    pub fn open_dir(&self, path: &Path) -> Result<Self, Error> {
        let opened = self.open_entry(path, AS_FOLDER, 0);
        Ok(Self {
            folder: Arc::new(opened.map_err(self.failed(FileAction::Inspect, path))?),
            path: self.path.join(path),
            by_kernel: self.by_kernel,
        })
    }

    /// The absolute path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the metadata of an entry; `None` if it does not exist.
    pub fn info(&self, path: &Path) -> Result<Option<EntryInfo>, Error> {
        let found = self.entry(path).and_then(|place| {
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            Ok(rustix::fs::statat(&place.folder, place.name, flags)?)
        });
        match found {
            Ok(found) => Ok(Some(EntryInfo {
                kind: kind_of(FileType::from_raw_mode(found.st_mode)),
                mode: found.st_mode & 0o7777,
                length: u64::try_from(found.st_size).unwrap_or_default(),
                owner: found.st_uid,
            })),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed(FileAction::Inspect, path)(error)),
        }
    }

    /// Lists a folder, sorted by name.
    pub fn list(&self, path: &Path) -> Result<Vec<DirEntry>, Error> {
        let listed = self.open_entry(path, AS_FOLDER, 0).and_then(|folder| {
            let whole = self.path.join(path);
            let entries = entries_of(&folder)?.into_iter();
            let entries = entries.map(|(name, kind)| DirEntry {
                path: whole.join(&name),
                name: name.to_string_lossy().into_owned(),
                kind: kind_of(kind),
            });
            Ok(entries.collect())
        });
        listed.map_err(self.failed(FileAction::List, path))
    }

    /// Reads a whole regular file, up to `max_bytes`.
    pub fn read(&self, path: &Path, max_bytes: u64) -> Result<Vec<u8>, Error> {
        // Opening a named pipe must not block.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let read = self
            .open_entry(path, flags, 0)
            .and_then(|file| read_regular(&File::from(file), max_bytes));
        read.map_err(self.failed(FileAction::Read, path))
    }

    /// Reads at most the first `max_bytes` of a regular file.
    pub fn read_start(&self, path: &Path, max_bytes: u64) -> Result<Vec<u8>, Error> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let read = self.open_entry(path, flags, 0).and_then(|file| {
            let file = File::from(file);
            check_regular(&file)?;
            let mut bytes = Vec::new();
            file.take(max_bytes).read_to_end(&mut bytes)?;
            Ok(bytes)
        });
        read.map_err(self.failed(FileAction::Read, path))
    }

    /// Creates a folder and its missing parents.
    pub fn create_dir_all(&self, path: &Path) -> Result<(), Error> {
        self.create_folders(path).map(|_| ())
    }

    /// Replaces a file atomically: writes a temporary file beside it, syncs and renames it. The folder must
    /// exist. A file that exists keeps its permission bits unless `mode` is given; a new one has
    /// [`FILE_MODE`].
    pub fn write_atomic(&self, path: &Path, bytes: &[u8], mode: Option<u32>) -> Result<(), Error> {
        let written = self.entry(path).and_then(|place| {
            place.refuse_link()?;
            let old = rustix::fs::statat(&place.folder, place.name, AtFlags::SYMLINK_NOFOLLOW).ok();
            let mode = mode.or(old.map(|old| old.st_mode & 0o7777));
            replace(&place, bytes, mode)
        });
        written.map_err(self.failed(FileAction::Write, path))
    }

    /// Replaces an entry that is no folder by a symbolic link, atomically.
    pub fn replace_with_link(&self, path: &Path, target: &Path) -> Result<(), Error> {
        let replaced = self.entry(path).and_then(|place| {
            let beside = temporary_name(path);
            let beside = self.entry(&beside)?;
            let link = || Ok(rustix::fs::symlinkat(target, &beside.folder, beside.name)?);
            fault::call(SystemCall::Link(&beside.path), link)?;
            rename_entry(&beside, &place)?;
            sync(place.folder.as_fd(), place.folder_path())
        });
        replaced.map_err(self.failed(FileAction::Write, path))
    }

    /// Writes a file that may be lost in a crash. Parent folders are created. A new file has [`FILE_MODE`]
    /// unless `mode` is given.
    pub fn write_plain(&self, path: &Path, bytes: &[u8], mode: Option<u32>) -> Result<(), Error> {
        self.create_parents(path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
        let whole = self.path.join(path);
        let written = self.open_for_writing(path, flags, mode).and_then(|file| {
            if let Some(mode) = mode {
                file.set_permissions(Permissions::from_mode(mode))?;
            }
            fault::write_all(&file, &whole, bytes)
        });
        written.map_err(self.failed(FileAction::Write, path))
    }

    /// Appends bytes to a file, creating it and its folders if needed, and makes them durable.
    pub fn append_durable(&self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        let mut appender = self.appender(path, None)?;
        appender.append(bytes)?;
        appender.sync()
    }

    /// Opens a file for appending; creates it and its folders if needed.
    pub fn appender(&self, path: &Path, mode: Option<u32>) -> Result<Appender, Error> {
        let mut unsynced = self.create_parents(path)?;
        let opened = self.entry(path).and_then(|place| {
            place.refuse_link()?;
            let is_new =
                rustix::fs::statat(&place.folder, place.name, AtFlags::SYMLINK_NOFOLLOW).is_err();
            let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
            let file = self.open_for_writing(path, flags, mode)?;
            let length = file.metadata()?.len();
            if is_new {
                let folder = place.folder_path().to_owned();
                unsynced.push((folder, File::from(place.folder)));
            }
            Ok((file, place.path, length))
        });
        let (file, whole, length) = opened.map_err(self.failed(FileAction::Write, path))?;
        Ok(Appender::over(file, whole, length, unsynced))
    }

    /// Renames an entry, replacing a file at the target. Parent folders are created.
    pub fn rename(&self, from: &Path, to: &Path) -> Result<(), Error> {
        self.create_parents(to)?;
        let renamed = self
            .entry(from)
            .and_then(|from| rename_entry(&from, &self.entry(to)?));
        renamed.map_err(self.failed(FileAction::Move, from))
    }

    /// Moves a folder, replacing an existing one at the target. Between file systems, the folder is copied.
    pub fn move_dir(&self, from: &Path, to: &Path) -> Result<(), Error> {
        self.create_parents(to)?;
        let moved = self.entry(from).and_then(|from| {
            from.refuse_link()?;
            self.move_entry(&from, &self.entry(to)?)
        });
        moved.map_err(self.failed(FileAction::Move, from))
    }

    fn move_entry(&self, from: &Entry<'_>, to: &Entry<'_>) -> io::Result<()> {
        to.refuse_link()?;
        if rustix::fs::statat(&to.folder, to.name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            match exchange(from, to) {
                // The exchange is atomic: at every moment one of the two folders is at `to`.
                Ok(()) => return remove_entry(from),
                Err(error) if is_exchange_unsupported(&error) => {}
                Err(error) => return Err(error),
            }
        }
        self.move_in_steps(from, to)
    }

    /// Replaces a folder without an atomic exchange: renames the old one aside first, so that no mixture of
    /// both is ever visible.
    fn move_in_steps(&self, from: &Entry<'_>, to: &Entry<'_>) -> io::Result<()> {
        let aside = temporary_name(&to.path);
        let aside = self.entry(&aside)?;
        let replaced = match rename_entry(to, &aside) {
            Ok(()) => true,
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        let moved = match rename_entry(from, to) {
            Err(error) if error.kind() == ErrorKind::CrossesDevices => {
                self.copy_entry(from, to).and_then(|()| remove_entry(from))
            }
            other => other,
        };
        match moved {
            Ok(()) if replaced => remove_entry(&aside),
            Err(_) if replaced => {
                rename_entry(&aside, to).ok();
                moved
            }
            other => other,
        }
    }

    /// Copies a folder with its contents to `to` in the folder `target`, which may be this one. Symbolic links
    /// are copied as links; sockets, devices and pipes are skipped.
    pub fn copy_dir(&self, from: &Path, target: &Self, to: &Path) -> Result<(), Error> {
        target.create_parents(to)?;
        let copied = self
            .entry(from)
            .and_then(|from| target.copy_entry(&from, &target.entry(to)?));
        copied.map_err(self.failed(FileAction::Copy, from))
    }

    /// Copies a folder of any place to a place in this folder.
    fn copy_entry(&self, from: &Entry<'_>, to: &Entry<'_>) -> io::Result<()> {
        match self.create_dir_all(&to.path) {
            Ok(()) => {}
            Err(error) => return Err(error.source),
        }
        from.refuse_link()?;
        let flags = AS_FOLDER | OFlags::NOFOLLOW;
        let source = rustix::fs::openat(&from.folder, from.name, flags, Mode::empty())?;
        let target = rustix::fs::openat(&to.folder, to.name, flags, Mode::empty())?;
        copy_entries(source, target, &to.path)
    }

    /// Removes a file, or a symbolic link itself.
    pub fn remove_file(&self, path: &Path) -> Result<(), Error> {
        let removed = self.entry(path).and_then(|place| unlink(&place));
        removed.map_err(self.failed(FileAction::Remove, path))
    }

    /// Removes a file if it exists. Returns whether it existed.
    pub fn remove_file_if_exists(&self, path: &Path) -> Result<bool, Error> {
        existed(self.remove_file(path))
    }

    /// Removes a folder with its contents. Links in it are removed, never what they point to.
    pub fn remove_dir_all(&self, path: &Path) -> Result<(), Error> {
        let removed = self.entry(path).and_then(|place| remove_entry(&place));
        removed.map_err(self.failed(FileAction::Remove, path))
    }

    /// Removes a folder with its contents if it exists. Returns whether it existed.
    pub fn remove_dir_if_exists(&self, path: &Path) -> Result<bool, Error> {
        existed(self.remove_dir_all(path))
    }

    /// Fails with [`RefusedLink`] if the entry, or a folder on the way to it, is a symbolic link.
    pub fn refuse_link(&self, path: &Path) -> Result<(), Error> {
        let found = self
            .relative(path)
            .map(|relative| link_on_the_way(self.folder.as_fd(), &self.path, relative));
        match found {
            Ok(None) => Ok(()),
            Ok(Some(link)) => Err(self.failed(FileAction::Inspect, path)(link.into())),
            Err(error) => Err(self.failed(FileAction::Inspect, path)(error)),
        }
    }

    pub(super) fn failed(
        &self,
        action: FileAction,
        path: &Path,
    ) -> impl FnOnce(io::Error) -> Error {
        let whole = self.path.join(path);
        move |source| Error::new(action, &whole, source)
    }

    /// Returns a path relative to the folder.
    fn relative<'a>(&self, path: &'a Path) -> io::Result<&'a Path> {
        let relative = if path.is_absolute() {
            path.strip_prefix(&self.path).ok()
        } else {
            Some(path)
        };
        let is_name =
            |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        relative
            .filter(|relative| relative.components().all(is_name))
            .ok_or_else(|| {
                let message = format!("the path leads out of `{}`", self.path.display());
                io::Error::new(ErrorKind::InvalidInput, message)
            })
    }

    /// Opens an entry; an error names a link that is on the way.
    fn open_entry(&self, path: &Path, flags: OFlags, mode: u32) -> io::Result<OwnedFd> {
        let relative = self.relative(path)?;
        let mode = Mode::from_raw_mode(mode);
        open_beneath(self.folder.as_fd(), relative, flags, mode, self.by_kernel)
            .map_err(|error| self.explained(error, relative))
    }

    fn explained(&self, error: io::Error, relative: &Path) -> io::Error {
        let link = link_on_the_way(self.folder.as_fd(), &self.path, relative);
        link.map_or(error, RefusedLink::into)
    }

    /// Opens the folder of an entry.
    pub(super) fn entry<'a>(&self, path: &'a Path) -> io::Result<Entry<'a>> {
        let relative = self.relative(path)?;
        let Some(name) = relative.file_name() else {
            let message = "the path names no file in the folder";
            return Err(io::Error::new(ErrorKind::InvalidInput, message));
        };
        let parent = relative.parent().unwrap_or(Path::new(""));
        Ok(Entry {
            folder: self.open_entry(parent, AS_FOLDER, 0)?,
            name,
            path: self.path.join(relative),
        })
    }

    /// Opens a regular file for writing.
    fn open_for_writing(&self, path: &Path, flags: OFlags, mode: Option<u32>) -> io::Result<File> {
        let whole = self.path.join(path);
        // Opening a named pipe must not block.
        let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY;
        let open = || self.open_entry(path, flags, mode.unwrap_or(FILE_MODE));
        let file = File::from(fault::call(SystemCall::Open(&whole), open)?);
        check_regular(&file)?;
        Ok(file)
    }

    fn create_parents(&self, path: &Path) -> Result<Vec<(PathBuf, File)>, Error> {
        let relative = self
            .relative(path)
            .map_err(self.failed(FileAction::CreateFolder, path))?;
        self.create_folders(relative.parent().unwrap_or(Path::new("")))
    }

    /// Creates a folder and its missing parents. Returns the folders that got a new entry, outermost first.
    fn create_folders(&self, path: &Path) -> Result<Vec<(PathBuf, File)>, Error> {
        let created = self.relative(path).and_then(|relative| {
            match open_beneath(
                self.folder.as_fd(),
                relative,
                AS_FOLDER,
                Mode::empty(),
                self.by_kernel,
            ) {
                Ok(_) => Ok(Vec::new()),
                Err(error) if error.kind() == ErrorKind::NotFound => self
                    .create_missing(relative)
                    .map_err(|error| self.explained(error, relative)),
                Err(error) => Err(self.explained(error, relative)),
            }
        });
        created.map_err(self.failed(FileAction::CreateFolder, path))
    }

    fn create_missing(&self, relative: &Path) -> io::Result<Vec<(PathBuf, File)>> {
        let flags = AS_FOLDER | OFlags::NOFOLLOW;
        let mut changed = Vec::new();
        let mut folder = self.folder.try_clone()?;
        let mut path = self.path.clone();
        for name in names_of(relative) {
            let inner = path.join(name);
            let create = || {
                let mode = Mode::from_raw_mode(FOLDER_MODE);
                Ok(rustix::fs::mkdirat(&folder, name, mode)?)
            };
            let opened = match rustix::fs::openat(&folder, name, flags, Mode::empty()) {
                Ok(opened) => opened,
                Err(rustix::io::Errno::NOENT) => {
                    match fault::call(SystemCall::MakeFolder(&inner), create) {
                        Ok(()) => changed.push((path, File::from(folder.try_clone()?))),
                        // Another process may create the folder at the same time.
                        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                        Err(error) => return Err(error),
                    }
                    rustix::fs::openat(&folder, name, flags, Mode::empty())?
                }
                Err(error) => return Err(error.into()),
            };
            folder = opened;
            path = inner;
        }
        Ok(changed)
    }
}

fn kind_of(kind: FileType) -> EntryKind {
    match kind {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Folder,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Other,
    }
}

fn existed(result: Result<(), Error>) -> Result<bool, Error> {
    match result {
        Ok(()) => Ok(true),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test sets its stage by itself")]
#[path = "beneath_tests.rs"]
mod tests;
