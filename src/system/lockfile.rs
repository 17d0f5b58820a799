//! Lock files: created atomically with their content, and locked with `flock` for as long as they are open.
//!
//! The kernel releases its lock when the process ends, so that a crashed holder can be recognized. Some file
//! systems do not support kernel locks; callers must then rely on the content.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::fcntl::OFlag;

use super::fault::{self, SystemCall};
use super::fs::{Beneath, Error, FILE_MODE, FileAction, IrregularFile, parent_of};

/// The maximum number of bytes read from a lock file; a process id needs about ten.
const MAX_BYTES: u64 = 4096;

/// The age after which a temporary file of an unfinished creation is removed.
const STALE_AGE: Duration = Duration::from_mins(1);

/// The pause between two attempts to take a lock that another process holds.
const WAIT_PAUSE: Duration = Duration::from_millis(20);

/// An open lock file. The kernel lock ends when this value is dropped or the process ends.
#[derive(Debug)]
pub struct LockFile {
    file: File,
    path: PathBuf,
    /// Whether this process holds the kernel lock. Some file systems do not support it.
    locked: bool,
    /// Whether the file may be written; a lock file of another user may not.
    writable: bool,
}

impl LockFile {
    /// Creates the lock file with this content and locks it; returns `None` if the file exists.
    pub fn create(path: &Path, content: &[u8]) -> Result<Option<Self>, Error> {
        let failed = |source| Error::new(FileAction::Lock, path, source);
        let nameless = match nameless_beside(path) {
            Ok(Some(file)) => file,
            Ok(None) => return Self::create_beside(path, content),
            Err(error) => return Err(failed(error)),
        };
        let file = Self::new(nameless, path, true);
        match file.publish(content) {
            Ok(()) => Ok(Some(file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
            Err(error) if error.kind() == ErrorKind::StorageFull => Err(failed(error)),
            Err(_) => Self::create_beside(path, content),
        }
    }

    /// Writes the content, then links the unnamed file to its path.
    ///
    /// The lock file appears complete and locked. A process killed earlier leaves no file behind.
    fn publish(&self, content: &[u8]) -> std::io::Result<()> {
        fault::write_all(&self.file, &self.path, content)?;
        // Without the sync, a loss of power could leave the name without its content.
        fault::call(SystemCall::Sync(&self.path), || self.file.sync_all())?;
        fault::call(SystemCall::Link(&self.path), || {
            link_unnamed(&self.file, &self.path)
        })
    }

    /// Creates the file under a temporary name, for file systems without unnamed files.
    fn create_beside(path: &Path, content: &[u8]) -> Result<Option<Self>, Error> {
        remove_stale_files(path);
        let failed = |source| Error::new(FileAction::Lock, path, source);
        let beside = super::fs::temporary_name(path);
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .create_new(true)
            .mode(FILE_MODE);
        let file =
            fault::call(SystemCall::Open(&beside), || options.open(&beside)).map_err(failed)?;
        let locked = try_flock(&file) == Flock::Acquired;
        let link = || std::fs::hard_link(&beside, path);
        let linked = fault::write_all(&file, &beside, content)
            .and_then(|()| fault::call(SystemCall::Sync(&beside), || file.sync_all()))
            .and_then(|()| fault::call(SystemCall::Link(path), link));
        super::fs::remove_file_if_exists(&beside)?;
        match linked {
            Ok(()) => Ok(Some(Self::new(file, path, locked))),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
            Err(error) if error.kind() == ErrorKind::StorageFull => Err(failed(error)),
            Err(_) => Self::create_without_links(path, content),
        }
    }

    /// Creates the file directly, for file systems without hard links.
    fn create_without_links(path: &Path, content: &[u8]) -> Result<Option<Self>, Error> {
        let failed = |source| Error::new(FileAction::Lock, path, source);
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .create_new(true)
            .mode(FILE_MODE);
        let file = match fault::call(SystemCall::Open(path), || options.open(path)) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let locked = try_flock(&file) == Flock::Acquired;
        if let Err(error) = fault::write_all(&file, path, content) {
            super::fs::remove_file_if_exists(path)?;
            return Err(failed(error));
        }
        Ok(Some(Self::new(file, path, locked)))
    }

    fn new(file: File, path: &Path, locked: bool) -> Self {
        Self {
            file,
            path: path.to_owned(),
            locked,
            writable: true,
        }
    }

    /// Opens an existing lock file and takes the kernel lock if it is free; returns `None` if there is no
    /// file. A symbolic link is not followed.
    ///
    /// # Errors
    ///
    /// The path is no regular file, or cannot be opened.
    pub fn open(path: &Path) -> Result<Option<Self>, Error> {
        // Opening some devices has effects, so the path is checked first; the open file counts.
        if let Some(found) = IrregularFile::at(path) {
            let source = std::io::Error::new(ErrorKind::InvalidInput, found.to_string());
            return Err(Error::new(FileAction::Lock, path, source));
        }
        // Opening a named pipe must not block.
        let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(flags);
        let (opened, writable) = match options.clone().write(true).open(path) {
            Err(error) if is_write_refused(&error) => (options.open(path), false),
            opened => (opened, true),
        };
        let file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::new(FileAction::Lock, path, error)),
        };
        super::fs::check_regular(&file)
            .map_err(|error| Error::new(FileAction::Lock, path, error))?;
        let locked = try_flock(&file) == Flock::Acquired;
        Ok(Some(Self {
            writable,
            ..Self::new(file, path, locked)
        }))
    }

    /// Creates the lock file, or takes over that of a process that has ended. Waits up to a time limit for a process
    /// that is alive; returns `None` if it keeps the lock.
    pub fn wait(path: &Path, content: &[u8], limit: Duration) -> Result<Option<Self>, Error> {
        let deadline = std::time::Instant::now() + limit;
        loop {
            if let Some(lock) = Self::create(path, content)? {
                return Ok(Some(lock));
            }
            if let Some(old) = Self::open(path)?
                && old.is_locked()
                && old.is_current()
            {
                return Ok(Some(old));
            }
            if std::time::Instant::now() >= deadline {
                return Ok(None);
            }
            std::thread::sleep(WAIT_PAUSE);
        }
    }

    /// Whether this process holds the kernel lock.
    pub fn is_locked(&self) -> bool {
        self.locked
    }

    /// Whether another open file holds the kernel lock, which proves that the holder is alive.
    pub fn is_held_by_another(&self) -> bool {
        !self.locked && try_flock(&self.file) == Flock::Held
    }

    /// Whether the path still names this very file (same inode).
    pub fn is_current(&self) -> bool {
        match (self.file.metadata(), std::fs::symlink_metadata(&self.path)) {
            (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
            _ => false,
        }
    }

    /// Reads the content, up to [`MAX_BYTES`].
    pub fn content(&mut self) -> Result<Vec<u8>, Error> {
        let failed = |source| Error::new(FileAction::Read, &self.path, source);
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(0)).map_err(failed)?;
        (&self.file)
            .take(MAX_BYTES)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        Ok(bytes)
    }

    /// Replaces the content in place, so that the path always names this file.
    ///
    /// If the process is killed meanwhile, the file has the old or the new content, the latter possibly with
    /// trailing empty lines.
    pub fn rewrite(&mut self, content: &[u8]) -> Result<(), Error> {
        let write = || {
            if !self.writable {
                return Err(ErrorKind::PermissionDenied.into());
            }
            let old = self.file.metadata()?.len().min(MAX_BYTES);
            let mut padded = content.to_vec();
            padded.resize(padded.len().max(usize::try_from(old).unwrap_or(0)), b'\n');
            let write = || self.file.write_all_at(&padded, 0);
            fault::call(SystemCall::Write(&self.path), write)?;
            let truncate = || self.file.set_len(content.len() as u64);
            fault::call(SystemCall::Truncate(&self.path), truncate)?;
            // After a loss of power, the id of the former holder could name any process.
            fault::call(SystemCall::Sync(&self.path), || self.file.sync_all())
        };
        write().map_err(|source| Error::new(FileAction::Lock, &self.path, source))
    }

    /// Removes the file if the path still names it, then releases the kernel lock. Returns whether the file
    /// was removed.
    pub fn remove(self) -> Result<bool, Error> {
        if !self.is_current() {
            return Ok(false);
        }
        super::fs::remove_file_if_exists(&self.path)
    }
}

/// Creates a file that has its complete content, durably, before it has its name. Returns whether the file is new. The
/// name is durable once its folder is synced.
pub fn create_complete(path: &Path, content: &[u8]) -> Result<bool, Error> {
    Ok(LockFile::create(path, content)?.is_some())
}

/// Writes a small file that needs no more durability than its lock. The old file is removed, then the new one
/// appears complete.
pub fn write_beside_lock(path: &Path, content: &[u8]) -> Result<(), Error> {
    let replace = || {
        let name = Path::new(path.file_name().unwrap_or_default());
        Beneath::open(parent_of(path))?.write_atomic(name, content, None)
    };
    let Ok(Some(file)) = nameless_beside(path) else {
        return replace();
    };
    super::fs::remove_file_if_exists(path)?;
    match LockFile::new(file, path, true).publish(content) {
        Ok(()) => Ok(()),
        Err(_) => replace(),
    }
}

/// Whether the file may be readable although writing is refused.
fn is_write_refused(error: &std::io::Error) -> bool {
    let kinds = [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem];
    kinds.contains(&error.kind())
}

/// Creates an unnamed, locked file (`O_TMPFILE`) in the folder of `path`; returns `None` if the system does
/// not support it.
#[cfg(target_os = "linux")]
fn nameless_beside(path: &Path) -> std::io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(FILE_MODE);
    options.custom_flags(OFlag::O_TMPFILE.bits());
    match options.open(parent_of(path)) {
        Ok(file) => Ok((try_flock(&file) == Flock::Acquired).then_some(file)),
        Err(error) if is_write_refused(&error) => Err(error),
        Err(_) => Ok(None),
    }
}

#[cfg(not(target_os = "linux"))]
fn nameless_beside(_path: &Path) -> std::io::Result<Option<File>> {
    Ok(None)
}

/// Links an unnamed file to a path.
fn link_unnamed(file: &File, path: &Path) -> std::io::Result<()> {
    use std::os::fd::AsRawFd as _;

    use nix::fcntl::{AT_FDCWD, AtFlags};
    let here = format!("/proc/self/fd/{}", file.as_raw_fd());
    let follow = AtFlags::AT_SYMLINK_FOLLOW;
    nix::unistd::linkat(AT_FDCWD, here.as_str(), AT_FDCWD, path, follow)?;
    Ok(())
}

/// Removes old temporary files of processes that were killed during creation.
fn remove_stale_files(path: &Path) {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return;
    };
    let start = format!("{}.tmp.", name.to_string_lossy());
    // Cleaning up is optional, so errors are ignored.
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_one = entry.file_name().to_string_lossy().starts_with(&start);
        let age = entry.metadata().and_then(|known| known.modified());
        let age = age.ok().and_then(|time| time.elapsed().ok());
        if is_one && age.is_some_and(|age| age > STALE_AGE) {
            super::fs::remove_file_if_exists(&entry.path()).ok();
        }
    }
}

/// The result of trying to take the kernel lock.
#[derive(PartialEq, Eq)]
enum Flock {
    Acquired,
    Held,
    Unsupported,
}

fn try_flock(file: &File) -> Flock {
    match fs2::FileExt::try_lock(file) {
        Ok(()) => Flock::Acquired,
        Err(fs2::TryLockError::WouldBlock) => Flock::Held,
        Err(fs2::TryLockError::Error(_)) => Flock::Unsupported,
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test sets its stage by itself")]
mod tests {
    use super::*;

    #[test]
    fn one_of_two_creates_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let first = LockFile::create(&path, b"1").unwrap().unwrap();
        assert!(LockFile::create(&path, b"2").unwrap().is_none());
        let mut other = LockFile::open(&path).unwrap().unwrap();
        assert!(!other.is_locked() && other.is_held_by_another());
        assert_eq!(other.content().unwrap(), b"1");
        assert!(first.remove().unwrap());
        assert!(!other.is_current());
        assert!(LockFile::open(&path).unwrap().is_none());
    }

    #[test]
    fn a_file_whose_maker_is_gone_can_be_locked_and_rewritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        std::fs::write(&path, "12345").unwrap();
        let mut file = LockFile::open(&path).unwrap().unwrap();
        assert!(file.is_locked());
        file.rewrite(b"6").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"6");
        file.rewrite(b"1234567").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"1234567");
    }

    #[test]
    fn both_ways_to_create_it_leave_one_file_that_is_locked() {
        type Create = fn(&Path, &[u8]) -> Result<Option<LockFile>, Error>;
        let ways: [Create; 3] = [
            LockFile::create,
            LockFile::create_beside,
            LockFile::create_without_links,
        ];
        for create in ways {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x.lock");
            let file = create(&path, b"1").unwrap().unwrap();
            assert!(file.is_locked() && file.is_current());
            assert!(create(&path, b"2").unwrap().is_none());
            assert_eq!(std::fs::read(&path).unwrap(), b"1");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }

    #[test]
    fn what_others_left_behind_is_removed_once_it_is_old() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let [old, new] = ["x.lock.tmp.1", "x.lock.tmp.2"].map(|name| folder.path().join(name));
        std::fs::write(&new, "").unwrap();
        let file = File::create(&old).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
        LockFile::create_beside(&path, b"1").unwrap().unwrap();
        assert!(!old.exists() && new.exists());
    }

    #[test]
    fn a_link_or_a_pipe_is_no_lock_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let other = folder.path().join("other");
        std::fs::write(&other, "12345").unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        assert!(LockFile::open(&path).is_err());
        assert!(LockFile::create(&path, b"1").unwrap().is_none());
        std::fs::remove_file(&path).unwrap();
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let error = LockFile::open(&path).unwrap_err().to_string();
        assert!(error.contains("is a named pipe"), "{error}");
        assert_eq!(std::fs::read(&other).unwrap(), b"12345");
    }

    #[test]
    fn a_file_beside_the_lock_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.owner.lock");
        for content in [b"long content".as_slice(), b"short"] {
            write_beside_lock(&path, content).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), content);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_lock_that_was_replaced_is_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let ours = LockFile::create(&path, b"1").unwrap().unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "2").unwrap();
        assert!(!ours.remove().unwrap());
        assert!(path.exists());
    }
}
