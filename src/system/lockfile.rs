//! Files that are there while their maker runs: created with their content at once, and locked in
//! the kernel for as long as they are open.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::fs::{Action, Error};

/// How many bytes of a lock file are read; a process id needs a dozen.
const MOST_BYTES: u64 = 4096;

/// A lock file that is open. The kernel's lock on it ends when this value, or this process, goes.
#[derive(Debug)]
pub struct LockFile {
    file: File,
    path: PathBuf,
    /// Whether the kernel's lock was got; some file systems have none.
    locked: bool,
}

impl LockFile {
    /// Creates the file with this content, locked; gives `None` if there is a file already.
    pub fn create(path: &Path, content: &[u8]) -> Result<Option<Self>, Error> {
        let failed = |source| Error::new(Action::Lock, path, source);
        let beside = super::fs::temporary_name(path);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&beside)
            .map_err(failed)?;
        let locked = try_flock(&file) == Flock::Got;
        // A link makes the file appear whole and locked; plain creation would show it empty.
        let linked = file
            .write_all(content)
            .and_then(|()| std::fs::hard_link(&beside, path));
        super::fs::remove_file_if_exists(&beside)?;
        match linked {
            Ok(()) => Ok(Some(Self::new(file, path, locked))),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
            Err(error) if error.kind() == ErrorKind::StorageFull => Err(failed(error)),
            Err(_) => Self::create_without_links(path, content),
        }
    }

    /// For file systems that have no hard links.
    fn create_without_links(path: &Path, content: &[u8]) -> Result<Option<Self>, Error> {
        let failed = |source| Error::new(Action::Lock, path, source);
        let options = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path);
        let mut file = match options {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let locked = try_flock(&file) == Flock::Got;
        if let Err(error) = file.write_all(content) {
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
        }
    }

    /// Opens the file that is there, and locks it in the kernel if nobody else has; gives `None`
    /// if there is no file.
    pub fn open(path: &Path) -> Result<Option<Self>, Error> {
        let file = match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::new(Action::Lock, path, error)),
        };
        match try_flock(&file) {
            Flock::Got => Ok(Some(Self::new(file, path, true))),
            Flock::Held | Flock::Unsupported => Ok(Some(Self::new(file, path, false))),
        }
    }

    /// Whether the kernel's lock is ours.
    pub fn is_locked(&self) -> bool {
        self.locked
    }

    /// Whether another open file holds the kernel's lock, which proves a living holder.
    pub fn is_held_by_another(&self) -> bool {
        !self.locked && try_flock(&self.file) == Flock::Held
    }

    /// Whether the path still names this very file.
    pub fn is_current(&self) -> bool {
        match (self.file.metadata(), std::fs::metadata(&self.path)) {
            (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
            _ => false,
        }
    }

    /// Reads what is in it, up to a bound.
    pub fn content(&mut self) -> Result<Vec<u8>, Error> {
        let failed = |source| Error::new(Action::Read, &self.path, source);
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(0)).map_err(failed)?;
        (&self.file)
            .take(MOST_BYTES)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        Ok(bytes)
    }

    /// Replaces what is in it; the path names this file throughout.
    pub fn rewrite(&mut self, content: &[u8]) -> Result<(), Error> {
        let mut write = || {
            self.file.seek(SeekFrom::Start(0))?;
            self.file.set_len(0)?;
            self.file.write_all(content)
        };
        write().map_err(|source| Error::new(Action::Write, &self.path, source))
    }

    /// Removes the file if the path still names it, then lets go of the kernel's lock.
    pub fn remove(self) -> Result<bool, Error> {
        if !self.is_current() {
            return Ok(false);
        }
        super::fs::remove_file_if_exists(&self.path)
    }
}

#[derive(PartialEq, Eq)]
enum Flock {
    Got,
    Held,
    Unsupported,
}

fn try_flock(file: &File) -> Flock {
    match fs2::FileExt::try_lock(file) {
        Ok(()) => Flock::Got,
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
